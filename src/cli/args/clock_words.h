// Times of day, days of the week and days as people say them: "8:30", "mon-fri", "tomorrow 8:00".
// Pure.
#pragma once

#include <stdbool.h>

#include "zone.h"

// "8:30", "08:30" or "08:30:15" to seconds since midnight. False: it is none of them.
bool clock_time_of_day (const char *text, int64_t *ret_s);

// One or several with commas, each a day or a range: "mon,wed-fri". A bit for each day, bit 0 is
// Sunday. 0: it is no such list.
unsigned clock_weekdays (const char *text);

// "18:00" (the next one), "today 18:00", "tomorrow 8:00" or "fri 8:00" (the next one), by the clock
// of this zone; `@` may stand instead of the blank. 1: it is none of these; 0; or -1, with a
// reason.
int clock_instant (const char *text, const struct zone *zone, int64_t now, int64_t *ret_time,
                   struct reason *reason);
