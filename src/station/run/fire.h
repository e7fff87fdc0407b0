// A claimed plan is sent to its target, or what became of it instead is written.
#pragma once

#include "station_state.h"

// The run is in flight afterwards, or over.
void fire_run (struct station *self, const struct store_claimed *claimed);

// Whether workers fetch the plans of this target, or it is a flow. `owner` is the station.
bool fire_is_pull (void *owner, struct span target);
