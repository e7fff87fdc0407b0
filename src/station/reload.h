// SIGHUP: the settings are read again. All that may change while the station runs changes at once;
// with one wrong setting none does.
#pragma once

#include "station_state.h"

void reload (struct station *self);
