// When the station looks for due plans next.
#pragma once

#include "core.h"

// Arm the timer anew, after what it waits for has changed.
void wake_arm (struct station *self);

// Claim at this time at the latest, monotonic.
void wake_claim_at (struct station *self, int64_t mono_us);

// Something is due at this moment of Redis' clock, in microseconds: wake up then.
void wake_due_at (struct station *self, int64_t redis_us);

// Look at once: Redis came back, or a target connected.
void wake_now (struct station *self);
