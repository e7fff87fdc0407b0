// The update of a stored plan: some of a PLAN frame's fields, merged over those of the plan and
// checked by the rules of the PLAN frame. Source: proto 9.5.
#pragma once

#include "plan.h"

struct plan_update {
    struct plan_fields fields; // all fields of the PLAN frame after the update
    json_t *messages;          // the new frames to send, an array; NULL = unchanged
};

// Parse the update {"revision": n, FIELD: value, ...}, and merge it with the plan. 0, or
// ZPLAN_EARGUMENT with a reason that names the field: it is unknown or wrong, or the revision is
// not the plan's. Clear `ret` in any case.
int plan_update_parse (const struct plan *plan, struct span text, const struct plan_limits *limits,
                       struct plan_update *ret, struct reason *reason);

// Free what the update owns.
void plan_update_clear (struct plan_update *self);
