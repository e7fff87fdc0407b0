// The rules for the fields of a PLAN frame together: what each plan type needs and allows. Source:
// proto/plans.md.
#pragma once

#include <jansson.h>

#include "plan_frame.h"

// The reader of a frame, with the fields read so far. The flags distinguish an absent field from
// one with the value 0 or false.
struct plan_frame_reader {
    struct plan_fields *fields;
    const struct plan_limits *limits;
    bool has_type, has_value, has_repeat;
    int64_t value;
    int64_t repeat;
    bool keep_seen, hold_seen;
    json_t *policy; // the fields of the policy; owned; NULL = none
    struct reason *reason;
};

// Check and complete the fields when all are read. False: they are not valid together; the reason
// names the field.
bool plan_frame_check (struct plan_frame_reader *reader);
