// The states of the callbacks of outcomes: whether they were delivered. Source: task module
// (Completed, Success); protocol, chapter 19.
#pragma once

#include "station_state.h"

typedef void callback_states_fn (void *owner);

// Replace `callback` (a plan id) of each of these outcomes by {"id", "state"}: queued, retrying,
// dead, given_up or delivered. `call` is called once, immediately if there are no callbacks; `runs`
// must live until then. If Redis does not answer, "state" is missing.
void callback_states (struct station *self, json_t *runs, callback_states_fn *call, void *owner);

// Record, in the batch of this turn, that an operator resolved this callback and it is not sent any
// more.
void callback_record_resolved (struct station *self, uint64_t id);
