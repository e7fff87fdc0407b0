// The station's heartbeat to Redis. Each one also checks whether the data are still the same, how
// many stations share them, and whether another station has added a target.
#pragma once

#include "station_state.h"

// Send a heartbeat now; `done`, unless NULL, is called with the answer (`known`), or when Redis
// could not be asked.
void presence_send_then (struct station *self, void (*done) (void *owner, bool known), void *owner);

// Send a heartbeat if it is due. Called with each tick of the reactor.
void presence_tick (struct station *self);
