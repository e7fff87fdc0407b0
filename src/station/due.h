// FIRE: the wake-up at the next due time, the claim, the dispatch; and the deadlines of runs in
// hand.
#pragma once

#include "core.h"

int due_start (struct station *self, struct reason *reason);
void due_stop (struct station *self);

// Something is due at this moment of Redis' clock, in microseconds: wake up then.
void due_wake_at (struct station *self, int64_t redis_us);

// Look at once: Redis came back, or a target connected.
void due_wake_now (struct station *self);
