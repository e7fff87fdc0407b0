// How far a plan of the kinds week, month and cron has been moved on, by `zplan skip` or by its own
// run that is out: what its own rule cannot tell, and what a copy of it must skip. Pure.
#pragma once

#include "schedule.h"

// How many occurrences of this rule stand between `now` and its occurrence `next`, which is not one
// of them; 0 for the other kinds, or when the rule has no occurrence `next`. The station's zone is
// not known here: without it the weekday or day that the value names tells enough of it. It is at
// most a clock change wrong about the moment at which an occurrence is past. A rule of cron, and
// one with a zone of its own (wall_clock), must be given its zone.
int64_t occurrences_ahead (const struct schedule *rule, const struct zone *zone, int64_t now,
                           int64_t next);
