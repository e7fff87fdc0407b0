// The plan that is called when an occurrence failed permanently: an ordinary plan that runs once,
// placed in the same step as the outcome. Its id is made of the run, so no outcome calls twice.
#pragma once

#include "station_state.h"
#include "engine.h"

// Whether the `on_failure` of a policy, which may be NULL, can be called: its target is known, and
// this user may touch it; NULL asks for nobody. 0, or a negative error with a reason.
int on_failure_check (struct station *self, const char *user, const struct policy *policy,
                      struct reason *reason);

// A run whose occurrence is exhausted; `plan` is as it was decided.
struct failed_run {
    const struct plan *plan;
    const struct decision *decision;
    uint64_t exec_id;
    int64_t nominal; // Unix seconds
    struct span worker, reason;
    struct span output; // what the run wrote, empty = nothing that may be passed on
};

// The plan to place; NULL: none is called. The caller owns it.
struct plan *on_failure_plan (struct station *self, const struct failed_run *failure);

// What the history says when there is no room for it. Free it; NULL: the plan keeps no history.
char *on_failure_unplaced (const struct failed_run *failure, size_t *ret_size);
