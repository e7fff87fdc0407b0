// How far a plan of the kinds week, month and cron has been moved on, by `zplan skip` or by its own
// run in flight: its rule does not show that, and a copy of it must skip it. Pure.
#pragma once

#include "schedule.h"

// Count the occurrences of this rule between `now` and its occurrence `next`, which is not one of
// them; 0 for the other kinds, or when the rule has no occurrence `next`. The station's zone is not
// known here: without it the weekday or day in the value is enough, at most a clock change wrong
// about the moment at which an occurrence is past. A rule of cron, and one with a zone of its own
// (wall_clock), must be given its zone.
int64_t occurrences_ahead (const struct schedule *rule, const struct zone *zone, int64_t now,
                           int64_t next);
