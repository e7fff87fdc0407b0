// Occurrences that are missed: which one comes next, and which are skipped for it.
// Pure. Source: proto 6.3; task module; features D004, D007.
#pragma once

#include "plan.h"

// What was skipped, and why: NULL = nothing was.
struct misses {
    struct missed missed;
    const char *why;
};

// What of the plan's times is to be known: when its run was claimed, and now, in Unix seconds.
struct moments {
    int64_t claimed, now;
};

// The first occurrence of a plan that is submitted at `now`. False: there is none.
bool misses_first (const struct plan *plan, const struct zone *zone, int64_t now,
                   struct misses *ret_misses, struct occurrence *ret);

// The occurrence after the present one, whose run is over, and after those that were to be
// skipped then. False: there is none. The plan is only read.
bool misses_next (const struct plan *plan, const struct zone *zone, const struct moments *at,
                  struct misses *ret_misses, struct occurrence *ret);

// Whether no run may begin any more, as end_time is past: then the present occurrence and those
// after it are missed, whatever was tried of the present one before. Else `ret_misses` is
// untouched.
bool misses_rest (const struct plan *plan, const struct zone *zone, int64_t now,
                  struct misses *ret_misses);

// Whether the present occurrence comes too late to be run at `now`. `ret` is the
// one to go on with, unless `ret_ended`.
bool misses_present (const struct plan *plan, const struct zone *zone, int64_t now,
                     struct misses *ret_misses, struct occurrence *ret, bool *ret_ended);
