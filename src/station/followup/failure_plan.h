// The plan that is called when an occurrence failed permanently: an ordinary plan that runs once,
// written in the same step as the outcome. Its id is derived from the run, so an outcome cannot
// call it twice.
#pragma once

#include "station_state.h"
#include "engine.h"

// Check the `on_failure` of a policy (may be NULL): its target must be known, and this user must be
// allowed to touch it. `user` NULL: no permission check. 0, or a negative error with a reason.
int check_on_failure (struct station *self, const char *user, const struct policy *policy,
                      struct reason *reason);

// A run whose occurrence is exhausted; `plan` is its state after the decision.
struct failed_run {
    const struct plan *plan;
    const struct decision *decision;
    uint64_t exec_id;
    int64_t nominal; // Unix seconds
    struct span worker, reason;
    struct span output; // output of the run that may be passed on, empty = none
};

// The plan to write; NULL: none is called. The caller owns it.
struct plan *on_failure_plan (struct station *self, const struct failed_run *failure);

// The history entry for an on_failure plan that exceeds a limit and is not stored. The caller frees
// it; NULL: the plan keeps no history.
char *on_failure_dropped_record (const struct failed_run *failure, size_t *ret_size);
