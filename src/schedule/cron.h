// Cron expressions: times of the wall clock. An expression is 5 fields separated by
// blanks, or 6 with the seconds first:
//
//   [second 0..59] minute 0..59 hour 0..23 day 1..31 month 1..12 or JAN..DEC weekday 0..7 or
//   SUN..SAT
//
// Weekday 0 and 7 are Sunday; names are in any case. A field is a list by commas of
//
//   *  or ? in the fields of the day        all
//   5, 5-9, */15, 5-30/10                   one; from, to; each n-th; n-th of from, to
//   5/10                                    every tenth from 5 to the end
//   FRI-MON, 22-3                           a range may wrap around the end
//   L, L-3                                  day: the last of the month, the third before it
//   15W, LW                                 day: the nearest Monday to Friday in the same month; a
//                                           month without such a day has none
//   FRIL, 5L                                weekday: the last Friday of the month
//   MON#2                                   weekday: the second Monday of the month
//
// Day and weekday: both must match when one of them begins with * or ? (also as */2), else one of
// them is enough, as in POSIX and Vixie's cron. A + before the weekday field: both must match.
// Instead of fields: @yearly @annually @monthly @weekly @daily @midnight @hourly.
//
// On the clock of a zone every local time is mapped by the zone's rule for gaps and overlaps, so a
// plan "every 10 minutes" pauses for an hour when the clock is set back by an hour, unless the
// overlap is "both".
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reason.h"
#include "span.h"
#include "wall.h"
#include "zone.h"

enum { CRON_EXPRESSIONS_MAX = 16, CRON_TEXT_MAX = 256 };

struct cron;

// The union of 1..16 expressions of at most 256 bytes each. The texts are not kept. NULL with a
// reason that names the expression, when there are several, and the column: "cron 2: column 7: want
// 0..23, got 25". An expression that can never match, such as 30 February, is rejected.
struct cron *cron_new (const struct span *expressions, size_t count, struct reason *reason);

void cron_destroy (struct cron **self);

// The first matching instant not before `from`, in Unix seconds, not negative. False: there is none
// up to the year 9999; `ret` is untouched.
bool cron_next (const struct cron *self, const struct zone *zone, enum zone_gap gap,
                enum zone_overlap overlap, int64_t from, int64_t *ret);

// The matching local times as a rule for wall_next and wall_previous. The rule borrows from `self`.
struct wall_rule cron_wall_rule (const struct cron *self);
