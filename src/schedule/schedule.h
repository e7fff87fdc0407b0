// When a plan runs: the occurrences of a rule, by arithmetic, never by walking over missed ones.
// Pure: no clock, no files. All times are Unix seconds UTC.
// Source: plan document 3.3.1 to 3.3.4.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "zone.h"

// The plan types in the order of the plan document 1.2; the numbers are the wire's.
enum schedule_type {
    SCHEDULE_NONE,
    SCHEDULE_TIME,
    SCHEDULE_SECOND,
    SCHEDULE_MINUTE,
    SCHEDULE_HOUR,
    SCHEDULE_DAY,
    SCHEDULE_WEEK,
    SCHEDULE_MONTH,
    SCHEDULE_TYPES
};

enum { SCHEDULE_FOREVER = -1 };

#define SCHEDULE_TIME_MAX INT64_C (253402300799) // 9999-12-31T23:59:59Z

struct schedule {
    enum schedule_type type;
    int32_t value;  // plan_value: interval 0..32766, week 0..6 (Sunday 0), month -31..31
    int32_t repeat; // plan_repet: occurrences in all, or SCHEDULE_FOREVER; none and time run once
    bool keep;      // no_keep of the wire: missed occurrences are run, not skipped
    int64_t base_time; // plan_time as submitted, 0 = not given
    int64_t received;  // the moment of receipt: the base of interval kinds without a plan_time
};

// One occurrence: its nominal time, and how many of the plan's repeats are used up before it (by
// runs, by skips and, for the interval kinds, by missed occurrences).
struct occurrence {
    int64_t time;
    int64_t used;
};

// "none", "time", "second", ...; NULL for a number that is no type.
const char *schedule_type_name (enum schedule_type type);

// The type with this name, or -1.
int schedule_type_parse (const char *name);

// The values this type of plan takes (plan document 3.3). None and time ignore theirs.
struct value_range {
    int32_t min, max;
};
struct value_range schedule_value_range (enum schedule_type type);

// The first occurrence of a plan submitted at `now`, after `skip` occurrences that would have run
// (they use up repeats). False: the plan never runs; `ret` is untouched.
bool schedule_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret);

// The occurrence `count` (at least 1) after `current`, none of them missed: what a skip of count -
// 1 leads to. False: there are fewer; `ret` is untouched.
bool schedule_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret);

// The occurrence after `current`, computed at `now` when the run of `current` has ended. False:
// `current` was the last one; `ret` is untouched.
bool schedule_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret);
