// Weeks and months are numbered, and each number has one occurrence. Their times ascend with the
// number: neighbours are at least a week apart, and clock changes move them by less than that.
#include "calendar.h"

#include <assert.h>

#include "civil.h"

enum {
    EPOCH_SUNDAY = -4,     // the Sunday before 1970-01-01, as a day number: week 0 begins there
    PERIODS_BEFORE = 1,    // a gap can move the occurrence of last week past now
    PERIODS_TRIED = 4,     // last, this, next, and one more where next week's came twice
    PERIODS_MAX = 1000000, // more weeks or months than there are to the year 9999
    MONTHS = 12
};

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

// Days from 1 count from the start of the month, the others back from its last day; a day that the
// month does not have is cut to the nearest it has.
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

static const struct period {
    int64_t (*number) (int64_t day);                // of the period that holds this day
    int64_t (*day) (int32_t value, int64_t number); // the day that the plan's value names in it
} periods[SCHEDULE_TYPES] = {
    [SCHEDULE_WEEK] = {week_number, week_day},
    [SCHEDULE_MONTH] = {month_number, month_day},
};

// A plan's rule, resolved.
struct rule {
    const struct schedule *schedule;
    const struct zone *zone;
    const struct period *period;
    int64_t time_of_day;
};

static int64_t local_of (const struct zone *zone, int64_t instant)
{
    return instant + zone_offset (zone, instant);
}

static struct rule rule_of (const struct schedule *schedule, const struct zone *zone)
{
    int64_t base = schedule->base_time;
    return (struct rule){
        .schedule = schedule,
        .zone = zone,
        .period = &periods[schedule->type],
        .time_of_day = base ? civil_time_of_day (local_of (zone, base)) : 0,
    };
}

static int64_t rule_time (const struct rule *self, int64_t number)
{
    int64_t day = self->period->day (self->schedule->value, number);
    return zone_instant (self->zone, day * CIVIL_DAY + self->time_of_day);
}

// The number of the first period whose occurrence is not before `from`.
static int64_t rule_search (const struct rule *self, int64_t from)
{
    int64_t number =
        self->period->number (civil_day_of (local_of (self->zone, from))) - PERIODS_BEFORE;
    for (int tries = 1; tries < PERIODS_TRIED && rule_time (self, number) < from; tries++)
        number++;
    return number;
}

// The occurrence `skip` periods after the first one not before `from`.
static bool rule_occurrence (const struct rule *self, int64_t from, int64_t skip, int64_t *ret_time)
{
    if (from > SCHEDULE_TIME_MAX || skip > PERIODS_MAX)
        return false;
    int64_t time = rule_time (self, rule_search (self, from) + skip);
    if (time > SCHEDULE_TIME_MAX)
        return false;
    *ret_time = time;
    return true;
}

static bool has_repeat (const struct schedule *self, int64_t used)
{
    return self->repeat == SCHEDULE_FOREVER || used < self->repeat;
}

bool calendar_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret)
{
    struct rule rule = rule_of (self, zone);
    int64_t time;
    if (!has_repeat (self, skip) || !rule_occurrence (&rule, now, skip, &time))
        return false;
    *ret = (struct occurrence){.time = time, .used = skip};
    return true;
}

bool calendar_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    struct rule rule = rule_of (self, zone);
    int64_t time;
    if (count > PERIODS_MAX || !has_repeat (self, current->used + count) ||
        !rule_occurrence (&rule, current->time + 1, count - 1, &time))
        return false;
    *ret = (struct occurrence){.time = time, .used = current->used + count};
    return true;
}

bool calendar_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret)
{
    struct rule rule = rule_of (self, zone);
    int64_t from = current->time < now ? now : current->time + 1;
    int64_t used = current->used + 1;
    int64_t time;
    if (!has_repeat (self, used) || !rule_occurrence (&rule, from, 0, &time))
        return false;
    *ret = (struct occurrence){.time = time, .used = used};
    return true;
}
