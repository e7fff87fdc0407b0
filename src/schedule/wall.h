// The instants of a rule of local times, on the wall clock of a zone. Weeks, months, days and cron
// are such rules; only this file handles clock changes for them.
//
// A local time in a gap maps to the first instant after the gap, once for all times in the gap, or
// to none. A local time that occurs twice maps to the first instant, the last, or both.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "zone.h"

// The direction of a search, as the step from a time to the one after or before it.
enum wall_step { WALL_BACK = -1, WALL_AHEAD = 1 };

// Local times are seconds since 1970-01-01T00:00:00 on the clock. `find` is called with times from
// some days before 1970 to some days after the year 9999, and needs to find none outside this
// range.
struct wall_rule {
    const void *self;
    // The local time of the rule that is nearest to this one, at or after it for WALL_AHEAD, at or
    // before it for WALL_BACK; INT64_MAX or INT64_MIN: there is none.
    int64_t (*find) (const void *self, int64_t local, enum wall_step step);
};

// A search fails after this many stretches, so that it ends for a rule whose times all fall into
// gaps. Any other rule has fewer stretches between two of its times: 29 February on a given weekday
// comes within 40 years.
enum { WALL_STRETCHES_MAX = 256 };

// A search through the instants of a rule. It keeps its position, so requests in order are
// cheapest.
struct wall {
    const struct zone *zone; // borrowed
    enum zone_gap gap;
    enum zone_overlap overlap;
    struct wall_rule rule;
    struct zone_stretch stretch; // the last one searched; all zero at first
};

// The first instant at or after `from`, which is not negative. False: there is none up to the year
// 9999, or within WALL_STRETCHES_MAX stretches; `ret` is untouched.
bool wall_next (struct wall *self, int64_t from, int64_t *ret);

// The last instant before `before`. False: there is none since 1970, or within WALL_STRETCHES_MAX
// stretches; `ret` is untouched.
bool wall_previous (struct wall *self, int64_t before, int64_t *ret);
