// Callbacks. An outcome to be sent over HTTP becomes a plan of the target `callbacks`, which is
// written in the same batch as the outcome. The workers of that target (zplan-callback) send it.
// Lease, retries, dead letters, `why` and history work as for any plan. Source: task module
// (callback); protocol, chapter 19.
#pragma once

#include "station_state.h"

// The end of a run, after the decision.
struct callback_outcome {
    const struct plan *plan;
    const struct decision *decision;
    uint64_t exec_id;
    int64_t nominal; // Unix seconds
    uint8_t status;
    bool cancelled;
    bool manual; // a run outside the schedule, which is not retried
    struct span worker, reason;
    const json_t *value; // the result of the run; NULL = none
};

// Whether the plan wants a callback for this outcome.
bool callback_wanted (const struct callback_outcome *outcome);

// A test callback without a run: an event of the type `test`, sent to `success` or, without that,
// to `error`.
struct plan *callback_test_plan (struct station *self, const struct plan *plan);

// The callback plan to write; NULL: it cannot be made. The caller owns it.
struct plan *callback_plan (struct station *self, uint64_t id,
                            const struct callback_outcome *outcome);
