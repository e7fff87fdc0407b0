// The wake-up at the next due time, what each target takes, the claim; and the deadlines of runs in
// progress.
#pragma once

#include "station_state.h"

int due_start (struct station *self, struct reason *reason);
void due_stop (struct station *self);

// Arm the timer again, after what it waits for has changed.
void due_arm (struct station *self);

// The lease until the first heartbeat: a station that lives writes that, or that none came, before
// its end.
int64_t due_first_lease_s (const struct station_settings *settings);

// Whether this process may have been stopped since these plans were claimed: the lease of their
// runs is nearly over. What was not sent is then left alone, which is logged and counted; it is due
// again when the lease ends.
bool due_is_stale (struct station *self, int64_t lease_end_us, size_t plans);

// Whether a connected target takes no more now.
bool due_is_full (struct station *self, const struct target *target);

// Something is due at this moment of Redis' clock, in microseconds: the station (`owner`) wakes up
// then.
void due_wake_at (void *owner, int64_t redis_us);

// Claim at once: Redis came back, a target connected, or a limit was raised.
void due_wake (struct station *self);

// A turn of messages of this target is over: if it takes plans again, they are claimed.
void due_turned (void *owner, struct target *target);
