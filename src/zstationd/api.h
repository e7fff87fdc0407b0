// An api station: every request becomes a job, and every job goes to one worker.
#pragma once

#include "station.h"

extern const struct station_kind api_station;
