// How many occurrences a plan of the types week, month and cron is ahead of its rule, after `zplan
// skip` or because of its own run in flight. A copy of the plan must skip these. Pure.
#pragma once

#include "schedule.h"

// Count the occurrences of this rule between `now` and its occurrence `next`, which is excluded; 0
// for other types, or if `next` is not an occurrence of the rule. The station's zone is unknown
// here: without it the weekday or day in the value suffices, and the moment at which an occurrence
// is past is wrong by at most a clock change. A cron rule, and one with a zone of its own
// (wall_clock), needs its zone.
int64_t occurrences_ahead (const struct schedule *rule, const struct zone *zone, int64_t now,
                           int64_t next);
