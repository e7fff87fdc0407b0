// What a plan type and the fields of a plan demand of each other. Source: proto/plans.md.
#pragma once

#include <jansson.h>

#include "plan_frame.h"

// What was seen, so that "absent" and "0" differ where the rules distinguish them.
struct plan_frame_reading {
    struct plan_fields *fields;
    const struct plan_limits *limits;
    bool has_type, has_value, has_repeat;
    int64_t value;
    int64_t repeat;
    bool keep_seen, hold_seen;
    json_t *policy; // its fields as they were met
    struct reason *reason;
};

// When all fields are read: complete them. False, with the reason, which names the field: they are
// not valid together.
bool plan_frame_check (struct plan_frame_reading *reading);
