// Instants as people say them, times of day, days of the week: "8:30", "mon-fri", "tomorrow 8:00".
// Pure.
#pragma once

#include <stdbool.h>

#include "reason.h"
#include "zone.h"

// Unix seconds, or a date as 2026-12-24, 2026-12-24T18:00, 2026-12-24T18:00:00+01:00; without an
// offset it is local. 0, or -1 with a reason.
int instant_parse (const char *text, const struct zone *zone, int64_t *ret_time,
                   struct reason *reason);

// The same of a date only.
int instant_parse_date (const char *text, const struct zone *zone, int64_t *ret_time,
                        struct reason *reason);

// The start of a span that ends now: "12h" ago, the midnight of "today" or "yesterday", or a date
// as above; all in UTC. False: invalid.
bool instant_since (const char *text, int64_t now, int64_t *ret_time);

// "8:30", "08:30" or "08:30:15" to seconds since midnight. False: invalid.
bool clock_time_of_day (const char *text, int64_t *ret_s);

// One or several with commas, each a day or a range: "mon,wed-fri". A bit for each day, bit 0 is
// Sunday. 0: it is no such list.
unsigned clock_weekdays (const char *text);

// "18:00" (the next one), "today 18:00", "tomorrow 8:00" or "fri 8:00" (the next one), by the clock
// of this zone; `@` may stand instead of the blank. 1: another form; 0; or -1, with a
// reason.
int clock_instant (const char *text, const struct zone *zone, int64_t now, int64_t *ret_time,
                   struct reason *reason);
