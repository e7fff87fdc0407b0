// A vote station: every request goes to all workers, and all their answers go to the requester.
#pragma once

#include "station.h"

extern const struct station_kind vote_station;
