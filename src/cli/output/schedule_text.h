// A plan's schedule in words: "daily 02:00 Europe/Berlin", "every 10 min". Pure.
#pragma once

#include <jansson.h>

#include "zone.h"

enum { SCHEDULE_TEXT_SIZE = 160 };

// Describe the schedule of a plan as the station lists it. `zone` is the plan's zone; NULL:
// unknown, and a time of day that depends on it is omitted. A cron expression without a simple form
// is returned unchanged. The text may contain untrusted bytes of the plan: print it with
// print_bytes. Returns `out`.
const char *schedule_text (const json_t *plan, const struct zone *zone,
                           char out[SCHEDULE_TEXT_SIZE]);
