// A pub station: every request is published to the subscribers of its title.
#pragma once

#include "station.h"

extern const struct station_kind pub_station;
