// Callbacks: an outcome that is to be sent over HTTP is a plan of the target `callbacks`, placed in
// the batch of that outcome. Its workers (zplan-callback) send it; lease, retries, dead letters,
// `why` and history are those of plans. Source: task module (callback); protocol, chapter 19.
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
    bool manual; // a run outside the schedule, which is tried once
    struct span worker, reason;
    const json_t *value; // its result; NULL = none
};

// Whether its plan wants it to be sent.
bool callback_wanted (const struct callback_outcome *outcome);

// The same for a plan that was never run: an event of the type `test`, to `success` or, without
// that, to `error`.
struct plan *callback_test_plan (struct station *self, const struct plan *plan);

// The plan to place; NULL: none can be made. The caller owns it.
struct plan *callback_plan (struct station *self, uint64_t id,
                            const struct callback_outcome *outcome);
