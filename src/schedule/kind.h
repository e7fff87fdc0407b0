// The functions of a kind of schedule; schedule.c has one row for each plan type.
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
