// The states of the callbacks of outcomes: whether the receiver has got them. Source: task module
// (Completed, Success); protocol, chapter 19.
#pragma once

#include "station_state.h"

typedef void callback_states_fn (void *owner);

// Replace `callback` (a plan id) of each of these outcomes by {"id", "state"}: queued, retrying,
// dead, given_up or delivered. `call` is called once, and at once when there are none; `runs` lives
// until then. Without an answer of Redis a state is missing.
void callback_states (struct station *self, json_t *runs, callback_states_fn *call, void *owner);

// An operator resolved this callback, which is not sent any more; in the batch of this turn.
void callback_give_up (struct station *self, uint64_t id);
