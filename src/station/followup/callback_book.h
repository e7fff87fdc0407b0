// Counts the stored callbacks of each source, the target of the plans that want them: receivers
// that are away must not fill Redis. While a source has too many, its plans that want a callback
// wait: nothing is lost, and other sources are not affected. Also drops callbacks, and reports
// their states. Source: proto 7.12.
#pragma once

#include "station_state.h"

struct callback_book;

// Read the counts from Redis, unless they are known; call it when this station owns the plans.
void callback_book_load (struct station *self);
// Forget all counts.
void callback_book_stop (struct station *self);

// Count a callback that is added in the batch of this turn.
void callback_book_add (struct station *self, const struct plan *callback);
// Subtract a callback that is removed in the batch of this turn.
void callback_book_remove (struct station *self, const struct plan *callback);

// Whether plans of this source that want a callback have to wait, as too many of its callbacks are
// stored.
bool callback_book_full (const struct station *self, struct span source);

// Find a source that is full, and the number of its callbacks. False: there is none.
bool callback_book_full_source (const struct station *self, char ret_name[STATION_NAME_MAX + 1],
                                int64_t *ret_count);

// -- drops: callbacks that failed permanently, the oldest first: those of a source with too many
// stored callbacks until it is below its limit, and those that stopped a month ago. Each drop is
// recorded in the history of callbacks

// Drop some callbacks of this source in the background, if it has too many.
void callback_drop_full (struct station *self, struct span source);

// Drop the callbacks that are too old; called by the periodic upkeep of all plans.
void callback_drop_old (struct station *self);

// -- states: whether the callbacks of outcomes were delivered

typedef void callback_states_fn (void *owner);

// Replace `callback` (a plan id) of each of these outcomes by {"id", "state"}: queued, retrying,
// dead, given_up or delivered. `call` is called once, immediately if there are no callbacks; `runs`
// must live until then. If Redis does not answer, "state" is missing.
void callback_states (struct station *self, json_t *runs, callback_states_fn *call, void *owner);

// Record, in the batch of this turn, that an operator resolved this callback and it is not sent any
// more.
void callback_record_resolved (struct station *self, uint64_t id);
