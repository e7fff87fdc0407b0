// Instants as people say them. Pure.
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
// as above; all in UTC. False: it is none of them.
bool instant_since (const char *text, int64_t now, int64_t *ret_time);
