// The kinds week and month: a day of each week or month at a time of day, on the zone's wall clock.
// Source: plan document 3.3.3 and 3.3.4.
#pragma once

#include "schedule.h"

// As schedule_first for a plan of these kinds.
bool calendar_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret);

// As schedule_next for a plan of these kinds. Missed occurrences do not use up repeats.
bool calendar_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret);

bool calendar_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret);
