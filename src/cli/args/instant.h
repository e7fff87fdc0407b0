// Instants as people write them, times of day, days of the week: "8:30", "mon-fri", "tomorrow
// 8:00". Pure.
#pragma once

#include <stdbool.h>

#include "reason.h"
#include "zone.h"

// Parse Unix seconds, or a date as 2026-12-24, 2026-12-24T18:00, 2026-12-24T18:00:00+01:00; without
// an offset it is local to the zone. 0, or -1 with a reason.
int instant_parse (const char *text, const struct zone *zone, int64_t *ret_time,
                   struct reason *reason);

// As instant_parse, but accept only a date.
int instant_parse_date (const char *text, const struct zone *zone, int64_t *ret_time,
                        struct reason *reason);

// Find the start of a period that ends now: "12h" ago, midnight of "today" or "yesterday", or a
// date as in instant_parse; all in UTC. False: invalid.
bool instant_since (const char *text, int64_t now, int64_t *ret_time);

// Convert "8:30", "08:30" or "08:30:15" to seconds since midnight. False: invalid.
bool clock_time_of_day (const char *text, int64_t *ret_s);

// Parse a comma-separated list of days and ranges: "mon,wed-fri". Returns one bit per day, bit 0 is
// Sunday. 0: invalid.
unsigned clock_weekdays (const char *text);

// Parse "18:00" (the next one), "today 18:00", "tomorrow 8:00" or "fri 8:00" (the next one), in
// local time of this zone; `@` may replace the blank. 0; 1: the text has another form; -1 with a
// reason.
int clock_instant (const char *text, const struct zone *zone, int64_t now, int64_t *ret_time,
                   struct reason *reason);
