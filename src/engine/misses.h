// Missed occurrences: which occurrence is next, and which ones are skipped. Pure. Source: proto
// 6.3; task module; features D004, D007.
#pragma once

#include "plan.h"

// The skipped occurrences, and the reason; `why` NULL = none was skipped.
struct misses {
    struct missed missed;
    const char *why;
};

// When the plan's run was claimed, and the current time, in Unix seconds.
struct moments {
    int64_t claimed, now;
};

// The first occurrence of a plan that is submitted at `now`; earlier ones are skipped. False: there
// is none.
bool misses_find_first (const struct plan *plan, const struct zone *zone, int64_t now,
                        struct misses *ret_misses, struct occurrence *ret);

// The occurrence after the present one, whose run has ended, and after those to be skipped. False:
// there is none. The plan is not changed.
bool misses_next (const struct plan *plan, const struct zone *zone, const struct moments *at,
                  struct misses *ret_misses, struct occurrence *ret);

// Whether end_time is past, so that no run may begin any more. Then the present occurrence, even if
// it was tried before, and all later ones are missed; else `ret_misses` is untouched.
bool misses_after_end (const struct plan *plan, const struct zone *zone, int64_t now,
                       struct misses *ret_misses);

// Whether the present occurrence is too late to run at `now`, and is skipped. `ret` is then the
// next one to run; `ret_ended`: there is none.
bool misses_skip_late (const struct plan *plan, const struct zone *zone, int64_t now,
                       struct misses *ret_misses, struct occurrence *ret, bool *ret_ended);
