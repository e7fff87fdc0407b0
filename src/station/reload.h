// SIGHUP: reload the settings. Those that may change at run time take effect at once; if one
// setting is wrong, none is changed.
#pragma once

#include "station_state.h"

void reload (struct station *self);
