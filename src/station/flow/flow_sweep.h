// Removes ended runs of flows from Redis, with all their keys, when they are too many or too old.
#pragma once

#include "station_state.h"

// Delete some of the runs that exceed the settings flow_count and flow_age. Call this about once a
// second.
void flow_sweep_tick (struct station *self);
