// Wakes up at the next due time and claims as many plans as each target takes; watches the
// deadlines of runs in progress.
#pragma once

#include "station_state.h"

int due_start (struct station *self, struct reason *reason);
void due_stop (struct station *self);

// Set the timer again after one of its times has changed.
void due_arm (struct station *self);

// The lease until the first heartbeat, in seconds. Before it expires a live station writes the
// heartbeat, or that none came.
int64_t due_first_lease_s (const struct station_settings *settings);

// Whether the lease of these claimed plans has nearly expired, as when this process was suspended.
// True: that was logged and counted; the plans must not be sent, and are due again when the lease
// ends.
bool due_is_stale (struct station *self, int64_t lease_end_us, size_t plans);

// Whether a connected target has no free slots now.
bool due_is_full (struct station *self, const struct target *target);

// Wake up `owner`, the station, for a plan that is due at this time of Redis' clock, in
// microseconds.
void due_wake_at (void *owner, int64_t redis_us);

// Wake up and claim at once: Redis came back, a target connected, or a limit was raised.
void due_wake (struct station *self);

// Claim plans at the end of a turn of messages if the target has free slots again.
void due_resume_target (void *owner, struct target *target);
