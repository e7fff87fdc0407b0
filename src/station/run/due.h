// Wakes up at the next due time and claims as many plans as each target takes; watches the
// deadlines of runs in progress.
#pragma once

#include "station_state.h"

int due_start (struct station *self, struct reason *reason);
void due_stop (struct station *self);

// Whether a connected target has no free slots now.
bool due_is_full (struct station *self, const struct target *target);

// Wake up `owner`, the station, for a plan that is due at this time of Redis' clock, in
// microseconds.
void due_wake_at (void *owner, int64_t redis_us);

// Wake up and claim at once: Redis came back, a target connected, or a limit was raised.
void due_wake (struct station *self);

// Claim plans at the end of a turn of messages if the target has free slots again.
void due_resume_target (void *owner, struct target *target);
