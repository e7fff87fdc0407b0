// When a plan runs: the occurrences of a rule, by arithmetic. Where missed occurrences must be
// counted one by one, their number is bounded. Pure: no clock, no files. All times are Unix seconds
// UTC. Source: plan document 3.3.1 to 3.3.4.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cron.h"
#include "cycle.h"
#include "zone.h"

// The plan types in the order of the plan document 1.2, and cron after them; the numbers are the
// wire's.
enum schedule_type {
    SCHEDULE_NONE,
    SCHEDULE_TIME,
    SCHEDULE_SECOND,
    SCHEDULE_MINUTE,
    SCHEDULE_HOUR,
    SCHEDULE_DAY,
    SCHEDULE_WEEK,
    SCHEDULE_MONTH,
    SCHEDULE_CRON,
    SCHEDULE_TYPES
};

// The names of all types, with the text `between` between them.
#define SCHEDULE_TYPE_NAMES(between)                                                               \
    "none" between "time" between "second" between "minute" between "hour" between "day" between   \
    "week" between "month" between "cron"

enum {
    SCHEDULE_FOREVER = -1,
    SCHEDULE_WALK_MAX = 100000,   // most occurrences that are counted one by one
    SCHEDULE_CATCH_UP_MAX = 1000, // most missed ones that a calendar kind runs, unless it runs all
};

#define SCHEDULE_TIME_MAX INT64_C (253402300799) // 9999-12-31T23:59:59Z

// The bounds of `value` over all types, used to check stored plans; a type with a wider range needs
// wider bounds.
enum { SCHEDULE_VALUE_MIN = -31, SCHEDULE_VALUE_MAX = 32766 };

// The interval kinds are second, minute, hour and day. With wall_clock the days are calendar days,
// and the plan is of a calendar kind, like week, month and cron. A value of 0 without a cycle
// means: at once, and again as soon as each run has ended; it has no wall clock, and misses no
// occurrence.
struct schedule {
    enum schedule_type type;
    int32_t value;  // plan_value: interval 0..32766, week 0..6 (Sunday 0), month -31..31, cron 0
    int32_t repeat; // plan_repet: occurrences in all, or SCHEDULE_FOREVER; none and time run once
    bool keep;      // no_keep of the wire: missed occurrences are run, not skipped
    int64_t base_time; // plan_time as submitted, 0 = not given
    int64_t received;  // the moment of receipt: the base of interval kinds without a plan_time
    // The fields below are not given when they are 0 or NULL. Occurrences before start_time or
    // after end_time do not exist. An interval keeps the grid of its base; a cycle restarts at
    // start_time, when that is later than the base.
    int64_t start_time, end_time;
    bool wall_clock;           // type day: calendar days of the zone, at the base's time of day
    enum zone_gap gap;         // kinds that read the wall clock
    enum zone_overlap overlap; // kinds that read the wall clock
    const struct cycle *cycle; // borrowed; types second to day: replaces `value`
    const struct cron *cron;   // borrowed; SCHEDULE_CRON never runs without it
};

// An occurrence: its nominal time, and how many of the plan's repeats are used up before it: by
// runs, skips and, for the interval kinds, missed occurrences.
struct occurrence {
    int64_t time;
    int64_t used;
};

// Which missed occurrences still run: the newest `keep` of those not before `oldest`. INT64_MAX
// means all; for a calendar kind, so does any number above SCHEDULE_CATCH_UP_MAX.
struct catch_up {
    int64_t keep;
    int64_t oldest;
};

// Missed occurrences that no longer run: how many, and the times of the first and the last.
struct missed {
    int64_t count;
    int64_t first, last; // 0 when there are none
    bool more;           // not all were counted; `last` is the last of all nevertheless
};

// The name of a type: "none", "time", "second", ...; NULL: the number is no type.
const char *schedule_type_name (enum schedule_type type);

// The type with this name; -1: there is none.
int schedule_type_parse (const char *name);

// Whether a plan of this type may have several occurrences: the types none and time run once.
static inline bool schedule_repeats (enum schedule_type type)
{
    return type >= SCHEDULE_SECOND;
}

// The base_time of a plan that runs once, `seconds` from now. It is rounded up to a whole second:
// if it were past on arrival, because of a delay or a station whose clock is ahead, the station
// would reject the plan.
static inline int64_t schedule_in (int64_t now_us, int64_t seconds)
{
    return (now_us + 999999) / 1000000 + seconds;
}

// The base_time for a time of day in this zone, in seconds from midnight; NULL: UTC. It lies on a
// fixed day on which no zone changed its clock, so that the same input always gives the same plan.
int64_t schedule_time_of_day (const struct zone *zone, int64_t seconds);

// The range of `value` for this plan type (plan document 3.3). Types none and time ignore it.
struct value_range {
    int32_t min, max;
};
struct value_range schedule_value_range (enum schedule_type type);

// The seconds of a type's unit: of a second, a minute, an hour, a day, a week, the longest month; 0
// for other types.
int32_t schedule_period (enum schedule_type type);

// Whether the occurrences are local times of a calendar: week, month, cron, and days with
// wall_clock.
bool schedule_is_calendar (const struct schedule *self);

// The first occurrence of a plan submitted at `now`, after `skip` occurrences that would have run
// (they use up repeats). False: the plan never runs, or a calendar kind would have to walk over
// more than SCHEDULE_WALK_MAX occurrences; `ret` is untouched.
bool schedule_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret);

// As schedule_first, but for the interval kinds and type time `catch_up` defines which occurrences
// before `now` still run. The others use up repeats and are counted in `ret_missed`, which may be
// NULL. A calendar kind begins at `now` and misses none.
bool schedule_begin (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, const struct catch_up *catch_up, struct missed *ret_missed,
                     struct occurrence *ret);

// Set the reason why schedule_first and schedule_begin find no occurrence; it names the field of
// the plan.
void schedule_explain_never (const struct schedule *self, const struct zone *zone, int64_t now,
                             int64_t skip, struct reason *reason);

// Whether schedule_first and schedule_begin find no occurrence only because of end_time.
bool schedule_never_by_end (const struct schedule *self, const struct zone *zone, int64_t now,
                            int64_t skip);

// The most occurrences that can be skipped at once: bounded for the calendar kinds that must walk
// over each of them.
int64_t schedule_skip_max (const struct schedule *self);

// The occurrence that is `count` (at least 1) after `current`, whatever the time is now: the
// `count` - 1 between them are skipped. False: there are fewer, or too many to walk over, as in
// schedule_first; `ret` is untouched.
bool schedule_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret);

// The occurrence after `current`, computed at `now` when the run of `current` has ended.
// Occurrences after `current` and before `now` are missed. Those that no longer run use up repeats
// for the interval kinds only. False: there is no further one; `ret` is untouched, but `ret_missed`
// is set either way. If `ret_missed` is NULL, nothing is counted.
bool schedule_after (const struct schedule *self, const struct zone *zone,
                     const struct occurrence *current, int64_t now, const struct catch_up *catch_up,
                     struct missed *ret_missed, struct occurrence *ret);

// As schedule_after, for a late claim: `current` has not run. It is returned if it still runs, else
// it is the first missed one. Type none is never missed.
bool schedule_at_or_after (const struct schedule *self, const struct zone *zone,
                           const struct occurrence *current, int64_t now,
                           const struct catch_up *catch_up, struct missed *ret_missed,
                           struct occurrence *ret);

// As schedule_after, with the default of plan document 3.3 for missed occurrences: all of them
// still run for an interval kind with `keep`, none for any other schedule.
bool schedule_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret);
