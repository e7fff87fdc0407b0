// The wake-up at the next due time, the claim; and the deadlines of runs in hand.
#pragma once

#include "core.h"

int due_start (struct station *self, struct reason *reason);
void due_stop (struct station *self);

// Something is due at this moment of Redis' clock, in microseconds: wake up then.
void due_wake_at (struct station *self, int64_t redis_us);

// Look at once: Redis came back, or a target connected.
void due_wake_now (struct station *self);

// Redis came back: where several stations use it nothing is claimed for a moment. A run whose first
// lease has ended meanwhile belongs to a station that lives, which is to write what it knows of it.
void due_hold (struct station *self);

// Whether the lease of these plans is nearly over, as this process may have been stopped since they
// were claimed: another station may have them. What was not sent is then left alone, which is told
// and counted; it is due again when the lease ends.
bool due_is_stale (struct station *self, int64_t lease_end_us, size_t plans);

// A turn of messages of this target is over: if it takes plans again, they are claimed.
void due_answered (struct station *self, const struct target *target);
