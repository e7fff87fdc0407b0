// The station reports itself to Redis periodically, and checks that the data are still those it
// knew, how many stations share them, and whether another one has added a target.
#pragma once

#include "station_state.h"

// Redis is up, for the first time or again.
void attend_now (struct station *self);

// The same, and say when it is known, or could not be asked.
void attend_ask (struct station *self, void (*then) (void *owner, bool known), void *owner);

// Each tick of the reactor.
void attend_tick (struct station *self);
