// Drops callbacks that failed permanently, the oldest first: those of a source with too many stored
// callbacks until it is below its limit, and those that stopped a month ago. Each drop is recorded
// in the history of callbacks. Source: proto 7.12.
#pragma once

#include "station_state.h"

// Drop some callbacks of this source in the background, if it has too many.
void callback_drop_full (struct station *self, struct span source);

// Drop the callbacks that are too old; called by the periodic upkeep of all plans.
void callback_drop_old (struct station *self);
