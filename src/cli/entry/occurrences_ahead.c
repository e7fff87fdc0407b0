// Finds the number N of occurrences before `next` by trial: for growing N, compute the occurrence
// after the first N, which is plain arithmetic, until it is `next`. N starts at an estimate that is
// never too high, so few steps are needed.
#include "occurrences_ahead.h"

enum {
    HOUR_S = 3600,
    STEPS_MAX = 4000 // more than the months by which the estimate is too low in the year 9999
};

// Count with `now` and `next` moved by `moved` seconds. -1: `next` is not an occurrence.
static int64_t count_moved (const struct schedule *rule, const struct zone *zone, int64_t now,
                            int64_t next, int64_t moved)
{
    struct schedule endless = *rule;
    struct occurrence at;
    int64_t from = rule->start_time > now ? rule->start_time : now;
    int64_t count = (next - from) / schedule_period (rule->type);
    count = count > 0 ? count - 1 : 0; // periods may be longer because of clock changes
    endless.repeat = SCHEDULE_FOREVER;
    endless.base_time = next + moved; // the time of day is that of the occurrence
    endless.start_time += rule->start_time ? moved : 0;
    endless.end_time = 0; // the end of the plan is not before `next`
    for (int step = 0; step < STEPS_MAX; step++, count++) {
        if (!schedule_first (&endless, zone, now + moved, count, &at) || at.time > next + moved)
            return -1;
        if (at.time == next + moved)
            return count;
    }
    return -1;
}

// Count one by one, for a rule that does not depend on the station's zone. 0: `next` is not an
// occurrence, or is too far away.
static int64_t count_one_by_one (const struct schedule *rule, const struct zone *zone, int64_t now,
                                 int64_t next)
{
    struct schedule endless = *rule;
    struct occurrence at;
    endless.repeat = SCHEDULE_FOREVER;
    bool more = schedule_first (&endless, zone, now, 0, &at);
    for (int step = 0; more && step < STEPS_MAX && at.time <= next; step++) {
        struct occurrence current = at;
        if (at.time == next)
            return step;
        more = schedule_next (&endless, zone, &current, current.time, &at);
    }
    return 0;
}

int64_t occurrences_ahead (const struct schedule *rule, const struct zone *zone, int64_t now,
                           int64_t next)
{
    // Offsets of zones are within -12 to +14 hours of UTC.
    static const int64_t moves[] = {0, 14 * HOUR_S, -12 * HOUR_S};
    bool walked = rule->type == SCHEDULE_CRON || rule->wall_clock;
    struct value_range values = schedule_value_range (rule->type);
    if (!schedule_is_calendar (rule) || rule->value < values.min || rule->value > values.max ||
        now < 12 * HOUR_S || next <= now || next > SCHEDULE_TIME_MAX - 14 * HOUR_S)
        return 0;
    if (walked)
        return count_one_by_one (rule, zone, now, next);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        int64_t count = count_moved (rule, zone, now, next, moves[i]);
        if (count >= 0)
            return count;
    }
    return 0;
}
