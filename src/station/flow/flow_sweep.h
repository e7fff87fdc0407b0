// Removes ended runs of flows from Redis, with all their keys, when they are too many or too old.
#pragma once

#include "station_state.h"

// Call about once a second. Settings: flow_count, flow_age.
void flow_sweep_tick (struct station *self);
