// The rules between a plan's type and its fields. Source: proto/plans.md.
#pragma once

#include <jansson.h>

#include "plan_frame.h"

// What was read so far; "absent" and "0" differ where the rules distinguish them.
struct plan_frame_reading {
    struct plan_fields *fields;
    const struct plan_limits *limits;
    bool has_type, has_value, has_repeat;
    int64_t value;
    int64_t repeat;
    bool keep_seen, hold_seen;
    json_t *policy; // its fields as read so far
    struct reason *reason;
};

// Check and complete the fields when all are read. False: they are not valid together; the reason
// names the field.
bool plan_frame_check (struct plan_frame_reading *reading);
