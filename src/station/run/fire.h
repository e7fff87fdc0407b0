// Sends a claimed plan to its target, or writes why it was not sent.
#pragma once

#include "station_state.h"

// Send the claimed plan. Afterwards its run is in flight, or it has ended.
void fire_run (struct station *self, const struct store_claimed *claimed);

// Whether nothing is sent to `target`, as it is a pull target or a flow. `owner` is the station.
bool fire_is_pull (void *owner, struct span target);
