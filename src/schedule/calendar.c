// The calendar kinds are rules of local times; wall.c finds their instants. The rules of week,
// month and day name days of the calendar, all at one time of day.
#include "kind.h"

#include "civil.h"
#include "wall.h"

enum {
    EPOCH_SUNDAY = -4,     // day number of the Sunday before 1970-01-01: week 0 begins there
    PERIODS_MAX = 1000000, // more than the weeks until the year 9999
    MONTHS = 12
};

// The days of a schedule, at one time of day.
struct days {
    const struct schedule *schedule;
    int64_t time_of_day;
    int64_t origin; // type day: the day number from which its steps are counted
};

// -- weeks and months: they are numbered periods, with one day of the schedule in each

static int64_t week_number (int64_t day)
{
    int64_t weekday = civil_weekday (day);
    return (day - weekday - EPOCH_SUNDAY) / 7;
}

static int64_t week_day (int32_t weekday, int64_t week)
{
    return EPOCH_SUNDAY + week * 7 + weekday;
}

static int64_t month_number (int64_t day)
{
    struct civil_date date = civil_date (day);
    return date.year * MONTHS + date.month - 1;
}

// A value from 1 on counts from the start of the month, the others back from its last day (0). A
// day that the month does not have is clamped to the nearest one.
static int64_t month_day (int32_t value, int64_t number)
{
    struct civil_date date = {.year = number / MONTHS, .month = (int)(number % MONTHS) + 1};
    int length = civil_month_length (date.year, date.month);
    int day = value > 0 ? value : length + value;
    if (day > length)
        day = length;
    date.day = day < 1 ? 1 : day;
    return civil_days (date);
}

// The functions of the types that have periods.
static const struct period {
    int64_t (*number) (int64_t day);                // the number of the period of this day
    int64_t (*day) (int32_t value, int64_t number); // the day of the schedule in a period
} periods[SCHEDULE_TYPES] = {
    [SCHEDULE_WEEK] = {week_number, week_day},
    [SCHEDULE_MONTH] = {month_number, month_day},
};

// The nearest day of the schedule from this day on, for week and month.
static int64_t find_period_day (const struct schedule *schedule, int64_t day, enum wall_step step)
{
    const struct period *period = &periods[schedule->type];
    int64_t number = period->number (day);
    int64_t found = period->day (schedule->value, number);
    return (found - day) * step >= 0 ? found : period->day (schedule->value, number + step);
}

// -- every N days

// The days of the first `steps` steps together.
static int64_t step_sum (const struct schedule *schedule, int64_t steps)
{
    return schedule->cycle ? cycle_sum (schedule->cycle, steps) : steps * schedule->value;
}

// The greatest number of steps that take at most `days` days, which is not negative.
static int64_t steps_within (const struct schedule *schedule, int64_t days)
{
    return schedule->cycle ? cycle_steps (schedule->cycle, days) : days / schedule->value;
}

// -- the days of a schedule as a rule of local times

// The nearest day of any schedule from this day on; INT64_MIN: there is none before it.
static int64_t find_day (const struct days *self, int64_t day, enum wall_step step)
{
    if (self->schedule->type != SCHEDULE_DAY)
        return find_period_day (self->schedule, day, step);
    int64_t distance = day - self->origin, steps;
    if (step == WALL_AHEAD)
        steps = distance > 1 ? steps_within (self->schedule, distance - 1) + 1 : 1;
    else
        steps = distance > 0 ? steps_within (self->schedule, distance) : 0;
    return steps > 0 ? self->origin + step_sum (self->schedule, steps) : INT64_MIN;
}

static int64_t find_local (const void *days, int64_t local, enum wall_step step)
{
    const struct days *self = days;
    bool is_past = (civil_time_of_day (local) - self->time_of_day) * step > 0;
    int64_t day = find_day (self, civil_day_of (local) + (is_past ? step : 0), step);
    return day == INT64_MIN ? INT64_MIN : day * CIVIL_DAY + self->time_of_day;
}

static int64_t local_time_of (const struct zone *zone, int64_t instant)
{
    return instant + zone_offset (zone, instant);
}

// The days of a schedule, by its base_time. Without one, type day counts from the receipt, and the
// others use midnight. A cycle restarts at start_time.
static struct days days_of (const struct schedule *schedule, const struct zone *zone)
{
    int64_t base = schedule->base_time;
    if (schedule->type == SCHEDULE_DAY) {
        base = base ? base : schedule->received;
        base = schedule->cycle ? window_later (base, schedule->start_time) : base;
    } else if (!base) {
        return (struct days){schedule, 0, 0};
    }
    int64_t local = local_time_of (zone, base);
    return (struct days){schedule, civil_time_of_day (local), civil_day_of (local)};
}

// A search through the instants of a schedule. `days` is filled in, and must live as long as the
// search.
static struct wall wall_of (const struct schedule *self, const struct zone *zone, struct days *days)
{
    struct wall wall = {.zone = zone, .gap = self->gap, .overlap = self->overlap};
    if (self->type == SCHEDULE_CRON) {
        wall.rule = cron_wall_rule (self->cron);
        return wall;
    }
    *days = days_of (self, zone);
    wall.rule = (struct wall_rule){days, find_local};
    return wall;
}

// Whether this is a cron schedule without expressions, which never runs.
static bool lacks_cron (const struct schedule *self)
{
    return self->type == SCHEDULE_CRON && !self->cron;
}

// The first instant at or after `from` within the window of the schedule.
static bool find_instant (const struct schedule *self, struct wall *wall, int64_t from,
                          int64_t *ret)
{
    int64_t time;
    if (!wall_next (wall, window_later (from, self->start_time), &time) ||
        time > window_last (self))
        return false;
    *ret = time;
    return true;
}

// -- skipping occurrences

bool calendar_one_each (const struct schedule *self)
{
    return periods[self->type].number && self->gap == ZONE_GAP_SHIFT &&
           self->overlap != ZONE_OVERLAP_BOTH;
}

// The instant of the schedule in a period. calendar_one_each must be true.
static int64_t period_time (const struct schedule *self, const struct wall *wall, int64_t number)
{
    const struct days *days = wall->rule.self;
    int64_t day = periods[self->type].day (self->value, number);
    int64_t instants[2];
    zone_instants (wall->zone, day * CIVIL_DAY + days->time_of_day, self->gap, self->overlap,
                   instants);
    return instants[0];
}

// The time of the occurrence `skip` periods after the one at `time`.
static bool period_skip (const struct schedule *self, const struct wall *wall, int64_t time,
                         int64_t skip, int64_t *ret)
{
    // A gap may have moved the occurrence into the following week.
    int64_t number =
        periods[self->type].number (civil_day_of (local_time_of (wall->zone, time))) - 1;
    while (period_time (self, wall, number) < time)
        number++;
    int64_t found = period_time (self, wall, number + skip);
    if (found > window_last (self))
        return false;
    *ret = found;
    return true;
}

// The time of the occurrence `skip` after the first one that is not before `from`.
static bool find_skipping (const struct schedule *self, struct wall *wall, int64_t from,
                           int64_t skip, int64_t *ret)
{
    if (skip > PERIODS_MAX || !find_instant (self, wall, from, &from))
        return false;
    if (skip > 0 && calendar_one_each (self))
        return period_skip (self, wall, from, skip, ret);
    if (skip > schedule_skip_max (self))
        return false;
    for (; skip > 0; skip--)
        if (!find_instant (self, wall, from + 1, &from))
            return false;
    *ret = from;
    return true;
}

// The occurrence that is `skip` after the first one at or after from.time, before which from.used
// repeats are used up.
static bool occurrence_from (const struct schedule *self, const struct zone *zone,
                             struct occurrence from, int64_t skip, struct occurrence *ret)
{
    struct days days;
    if (lacks_cron (self) || !window_has_repeat (self, from.used))
        return false;
    struct wall wall = wall_of (self, zone, &days);
    if (!find_skipping (self, &wall, from.time, skip, &from.time))
        return false;
    *ret = from;
    return true;
}

static bool calendar_first (const struct schedule *self, const struct first_query *query,
                            struct missed *ret_missed, struct occurrence *ret)
{
    (void)ret_missed;
    return occurrence_from (self, query->zone, (struct occurrence){query->now, query->skip},
                            query->skip, ret);
}

static bool calendar_skip (const struct schedule *self, const struct zone *zone,
                           const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    return count <= SCHEDULE_TIME_MAX &&
           occurrence_from (self, zone,
                            (struct occurrence){current->time + 1, current->used + count},
                            count - 1, ret);
}

// -- missed occurrences

// Which of the missed occurrences from `from` on and before `until` still run: those from the
// returned time on, the newest `keep` of those not before `oldest`. `ret_left`: how many more could
// be kept.
static int64_t first_kept_time (struct wall *wall, const struct catch_up *catch_up, int64_t from,
                                int64_t until, int64_t *ret_left)
{
    int64_t lower = window_earlier (window_later (from, catch_up->oldest), until);
    *ret_left = catch_up->keep;
    if (catch_up->keep > SCHEDULE_CATCH_UP_MAX)
        return lower;
    int64_t begin = until, time;
    while (*ret_left > 0 && wall_previous (wall, begin, &time) && time >= lower) {
        begin = time;
        --*ret_left;
    }
    return begin;
}

// Count the occurrences from `from` on and before `until`, after those already in `missed`.
static void count_missed (struct wall *wall, int64_t from, int64_t until, struct missed *missed)
{
    int64_t time, last;
    if (from >= until || !wall_previous (wall, until, &last) || last < from)
        return;
    int64_t walked = 0;
    while (walked < SCHEDULE_WALK_MAX && wall_next (wall, from, &time) && time <= last) {
        if (missed->count + walked == 0)
            missed->first = time;
        walked++;
        from = time + 1;
    }
    missed->more = from <= last;
    missed->count += walked;
    missed->last = last;
}

static bool calendar_after (const struct schedule *self, const struct after_query *query,
                            struct missed *ret_missed, struct occurrence *ret)
{
    const struct occurrence *current = query->current;
    int64_t used = current->used + !query->with_current;
    if (lacks_cron (self) || !window_has_repeat (self, used))
        return false;
    struct days days;
    struct wall wall = wall_of (self, query->zone, &days);
    // The occurrences after the current one are missed from `first` on and before `until`.
    int64_t first = window_later (current->time + 1, self->start_time);
    int64_t until = window_later (first, window_earlier (query->now, window_last (self) + 1));
    int64_t left;
    struct missed missed = {0};
    int64_t begin = first_kept_time (&wall, query->catch_up, first, until, &left);
    if (query->with_current) {
        if (left > 0 && query->catch_up->oldest <= current->time) {
            *ret = *current;
            return true;
        }
        missed = (struct missed){1, current->time, current->time, false};
    }
    if (ret_missed) {
        count_missed (&wall, first, begin, &missed);
        *ret_missed = missed;
    }
    int64_t time;
    if (!find_instant (self, &wall, begin, &time))
        return false;
    *ret = (struct occurrence){.time = time, .used = used};
    return true;
}

const struct schedule_kind calendar_kind = {calendar_first, calendar_skip, calendar_after};
