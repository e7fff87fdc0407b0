// The kinds of schedules; schedule.c has one row for each plan type.
#pragma once

#include "schedule.h"

// The arguments of schedule_begin.
struct first_query {
    const struct zone *zone;
    int64_t now, skip;
    const struct catch_up *catch_up;
};

// The arguments of schedule_after and schedule_at_or_after.
struct after_query {
    const struct zone *zone;
    const struct occurrence *current;
    int64_t now;
    const struct catch_up *catch_up;
    bool with_current; // schedule_at_or_after: `current` has not run
};

struct schedule_kind {
    // See schedule_begin. `ret_missed` is all zero, or NULL.
    bool (*first) (const struct schedule *self, const struct first_query *query,
                   struct missed *ret_missed, struct occurrence *ret);
    // See schedule_skip.
    bool (*skip) (const struct schedule *self, const struct zone *zone,
                  const struct occurrence *current, int64_t count, struct occurrence *ret);
    // See schedule_after and schedule_at_or_after; for the latter the current occurrence is before
    // query->now. `ret_missed` is all zero, or NULL.
    bool (*after) (const struct schedule *self, const struct after_query *query,
                   struct missed *ret_missed, struct occurrence *ret);
};

// The kinds second, minute, hour and day: a grid of equal steps, or of a cycle of steps, from a
// base, as plain arithmetic on instants (a day is 24 hours). Constant time for any distance.
// Source: plan document 3.3.2.
extern const struct schedule_kind interval_kind;

// The kinds that read the wall clock of a zone: week, month, the days of a calendar, and cron.
// Source: plan document 3.3.3 and 3.3.4.
extern const struct schedule_kind calendar_kind;

// Whether each week or month has exactly one occurrence, so that the N-th one is found without a
// walk. Their times ascend with the number of the week or month, as clock changes move them by less
// than the week between two of them.
bool calendar_one_each (const struct schedule *self);

// ---- the bounds of all kinds: the number of repeats, and the window of start_time and end_time

// Whether a repeat is left when `used` of them are used up.
static inline bool window_has_repeat (const struct schedule *self, int64_t used)
{
    return self->repeat == SCHEDULE_FOREVER || used < self->repeat;
}

// The last second at which there may be an occurrence, in Unix seconds.
static inline int64_t window_last (const struct schedule *self)
{
    bool given = self->end_time > 0 && self->end_time < SCHEDULE_TIME_MAX;
    return given ? self->end_time : SCHEDULE_TIME_MAX;
}

static inline int64_t window_earlier (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t window_later (int64_t a, int64_t b)
{
    return a > b ? a : b;
}
