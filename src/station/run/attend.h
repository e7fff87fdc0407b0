// The station's heartbeat to Redis. Each one also checks whether the data are still the same, how
// many stations share them, and whether another station has added a target.
#pragma once

#include "station_state.h"

// Send a heartbeat now: Redis is up, for the first time or again.
void attend_now (struct station *self);

// The same; `then` is called with the answer (`known`), or when Redis could not be asked.
void attend_ask (struct station *self, void (*then) (void *owner, bool known), void *owner);

// Each tick of the reactor.
void attend_tick (struct station *self);
