// The kinds second, minute, hour and day: a grid of equal steps from a base, as plain arithmetic on
// instants (a day is 24 hours). Constant time for any distance.
// Source: plan document 3.3.2.
#pragma once

#include "schedule.h"

// As schedule_first for a plan of these kinds.
bool interval_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret);

// As schedule_next for a plan of these kinds.
bool interval_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret);

bool interval_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret);
