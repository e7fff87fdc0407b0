// The wake-up at the next due time, the claim; and the deadlines of runs in hand.
#pragma once

#include "core.h"

int due_start (struct station *self, struct reason *reason);
void due_stop (struct station *self);

// Whether this process may have been stopped since these plans were claimed: the lease of their
// runs is nearly over. What was not sent is then left alone, which is logged and counted; it is due
// again when the lease ends.
bool due_is_stale (struct station *self, int64_t lease_end_us, size_t plans);

// A turn of messages of this target is over: if it takes plans again, they are claimed.
void due_answered (struct station *self, const struct target *target);
