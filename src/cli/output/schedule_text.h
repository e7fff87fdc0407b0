// A plan's schedule as people say it: "daily 02:00 Europe/Berlin", "every 10 min". Pure.
#pragma once

#include <jansson.h>

#include "zone.h"

enum { SCHEDULE_TEXT_SIZE = 160 };

// Of a plan as the station lists it. `zone` is that of its timezone; NULL: it is not known, and a
// time of day that depends on it is omitted. Without simpler words it is the cron expression
// itself. Bytes of a plan may be among them, so it is printed as such. Returns `out`.
const char *schedule_text (const json_t *plan, const struct zone *zone,
                           char out[SCHEDULE_TEXT_SIZE]);
