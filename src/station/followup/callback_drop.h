// Callbacks that failed permanently are dropped, the oldest first: those of a source of which too
// many are kept, until there is room, and those that nobody has looked at for a month. The history
// of callbacks records it. Source: proto 7.12.
#pragma once

#include "station_state.h"

// If too many of this source are kept, some are dropped, in the background.
void callback_drop_full (struct station *self, struct span source);

// The upkeep looks at all plans: drop what is too old.
void callback_drop_old (struct station *self);
