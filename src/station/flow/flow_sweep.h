// Ended runs of flows that are too many or too old are taken out of Redis whole.
#pragma once

#include "station_state.h"

// Call about each second. Settings: flow_count, flow_age.
void flow_sweep_tick (struct station *self);
