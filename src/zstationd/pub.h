// A pub station: every request is published to whoever subscribes to its title.
#pragma once

#include "station.h"

extern const struct station_kind pub_station;
