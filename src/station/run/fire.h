// A claimed plan is sent to its target, or what became of it instead is written.
#pragma once

#include "station_state.h"

// The run is in flight afterwards, or over.
void fire (struct station *self, const struct store_claimed *claimed);
