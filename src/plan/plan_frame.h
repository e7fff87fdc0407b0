// The PLAN frame: what a client says about when. Every rule about its fields stands here.
// Source: plan document 3.1; contract 3.1.
#pragma once

#include "reason.h"
#include "schedule.h"
#include "span.h"
#include "vote_rule.h"

enum { PLAN_FRAME_MAX = 4096, DESCRIPTION_MAX = 1024 };

struct plan_fields {
    uint8_t description[DESCRIPTION_MAX];
    size_t description_size;
    struct schedule schedule; // `received` is left 0
    int64_t skip_set;
    struct vote_rule vote;
};

// Whether this is a field that a PLAN frame may have: an update of a plan takes the same.
bool plan_frame_field (const char *name);

// Parse and check the fields of an object, as plan_frame_parse.
int plan_frame_read (json_t *object, struct plan_fields *ret, struct reason *reason);

// Parse and check a PLAN frame (a JSON object, or the same as a msgpack map). 0, or ZPLAN_EPLAN
// with a reason that names the field and the rule; `ret` is then undefined.
int plan_frame_parse (struct span frame, struct plan_fields *ret, struct reason *reason);
