// The matching days of a month are computed as one set of bits; the time of day is found by the
// next bit of each of its fields. So no search walks over days or minutes.
#include "cron_rule.h"

#include "civil.h"

enum {
    YEAR_FIRST = 1969,
    YEAR_LAST = 10000, // the year 9999 of UTC ends in it in some zones
    MONTHS = 12,
    SATURDAY = 6,
    SUNDAY = 0,
    EACH_WEEKDAY = 0x7F,
    // These years include every kind of year - leap or not, on each weekday - and so every kind of
    // month.
    KINDS_FIRST = 2000,
    KINDS_LAST = 2027
};

// Days 0, 7, 14, 21 and 28 after the first.
#define EACH_WEEK UINT64_C (0x10204081)

static int first_bit (uint64_t set)
{
    return __builtin_ctzll (set);
}

static int last_bit (uint64_t set)
{
    return 63 - __builtin_clzll (set);
}

// The bit of the set that a search in this direction finds first.
static int next_bit (uint64_t set, enum wall_step step)
{
    return step == WALL_AHEAD ? first_bit (set) : last_bit (set);
}

// The bits of the set from this one on, in the direction.
static uint64_t bits_from (uint64_t set, int bit, enum wall_step step)
{
    if (bit < 0 || bit > 63)
        return 0;
    return set & (step == WALL_AHEAD ? UINT64_MAX << bit : UINT64_MAX >> (63 - bit));
}

// A month of a year.
struct month {
    int64_t year;
    int month;  // 1..12
    int length; // days
    int first;  // the weekday of its first day
};

static struct month month_of (int64_t year, int month)
{
    return (struct month){
        .year = year,
        .month = month,
        .length = civil_month_length (year, month),
        .first = civil_weekday (civil_days ((struct civil_date){year, month, 1})),
    };
}

// The day Monday to Friday nearest to a day, in the same month.
static uint64_t nearest_weekday (const struct month *month, int day)
{
    int weekday = (month->first + day - 1) % 7;
    if (weekday == SATURDAY)
        day += day > 1 ? -1 : 2;
    else if (weekday == SUNDAY)
        day += day < month->length ? 1 : -2;
    return UINT64_C (1) << day;
}

// The days of the month that the day field names.
static uint64_t days_by_number (const struct cron_rule *self, const struct month *month)
{
    uint64_t all = bits_from (~UINT64_C (1), month->length, WALL_BACK);
    uint64_t days = self->days & all;
    for (uint64_t left = self->days_before_last; left; left &= left - 1)
        if (first_bit (left) < month->length)
            days |= UINT64_C (1) << (month->length - first_bit (left));
    for (uint64_t left = self->nearest_weekdays & all; left; left &= left - 1)
        days |= nearest_weekday (month, first_bit (left));
    if (self->last_weekday)
        days |= nearest_weekday (month, month->length);
    return days;
}

// The days of the month on which this weekday falls.
static uint64_t days_of_weekday (int weekday, const struct month *month)
{
    int first = 1 + (weekday - month->first + 7) % 7;
    return bits_from (EACH_WEEK << first, month->length, WALL_BACK);
}

// The days of the month that the weekday field names.
static uint64_t days_by_weekday (const struct cron_rule *self, const struct month *month)
{
    if (self->weekdays == EACH_WEEKDAY)
        return bits_from (~UINT64_C (1), month->length, WALL_BACK);
    uint64_t days = 0;
    for (unsigned left = self->weekdays; left; left &= left - 1)
        days |= days_of_weekday (first_bit (left), month);
    for (unsigned left = self->last; left; left &= left - 1)
        days |= UINT64_C (1) << last_bit (days_of_weekday (first_bit (left), month));
    for (int n = 0; n < CRON_NTH_MAX; n++)
        for (unsigned left = self->nth[n]; left; left &= left - 1) {
            uint64_t each = days_of_weekday (first_bit (left), month);
            days |= each & UINT64_C (1) << (first_bit (each) + 7 * n);
        }
    return days;
}

// The days of the month that match the rule.
static uint64_t days_of (const struct cron_rule *self, const struct month *month)
{
    if (!(self->months >> month->month & 1))
        return 0;
    uint64_t by_number = days_by_number (self, month);
    uint64_t by_weekday = days_by_weekday (self, month);
    return self->either ? by_number | by_weekday : by_number & by_weekday;
}

bool cron_rule_can_match (const struct cron_rule *self)
{
    for (int64_t year = KINDS_FIRST; year <= KINDS_LAST; year++)
        for (int month = 1; month <= MONTHS; month++) {
            struct month at = month_of (year, month);
            if (days_of (self, &at))
                return true;
        }
    return false;
}

// The nearest day of the rule from this day number on; INT64_MAX or INT64_MIN: there is none.
static int64_t find_day (const struct cron_rule *self, int64_t day, enum wall_step step)
{
    struct civil_date date = civil_date (day);
    while (date.year >= YEAR_FIRST && date.year <= YEAR_LAST) {
        struct month month = month_of (date.year, date.month);
        uint64_t days = bits_from (days_of (self, &month), date.day, step);
        if (days) {
            date.day = next_bit (days, step);
            return civil_days (date);
        }
        uint64_t months = bits_from (self->months, date.month + step, step);
        date.year += months ? 0 : step;
        date.month = next_bit (months ? months : self->months, step);
        date.day = step == WALL_AHEAD ? 1 : 31;
    }
    return step == WALL_AHEAD ? INT64_MAX : INT64_MIN;
}

static int64_t seconds_of_day (int hour, int minute, int second)
{
    return hour * 3600 + minute * 60 + second;
}

// The nearest time of day of the rule from this one on, in seconds; -1: there is none.
static int64_t find_time (const struct cron_rule *self, int64_t time, enum wall_step step)
{
    int hour = (int)(time / 3600), minute = (int)(time / 60 % 60), second = (int)(time % 60);
    int any_second = next_bit (self->seconds, step);
    if (self->hours >> hour & 1) {
        uint64_t seconds = bits_from (self->seconds, second, step);
        if (self->minutes >> minute & 1 && seconds)
            return seconds_of_day (hour, minute, next_bit (seconds, step));
        uint64_t minutes = bits_from (self->minutes, minute + step, step);
        if (minutes)
            return seconds_of_day (hour, next_bit (minutes, step), any_second);
    }
    uint64_t hours = bits_from (self->hours, hour + step, step);
    if (!hours)
        return -1;
    return seconds_of_day (next_bit (hours, step), next_bit (self->minutes, step), any_second);
}

int64_t cron_rule_find (const struct cron_rule *self, int64_t local, enum wall_step step)
{
    int64_t none = step == WALL_AHEAD ? INT64_MAX : INT64_MIN;
    int64_t edge = step == WALL_AHEAD ? 0 : CIVIL_DAY - 1; // where a search of a whole day begins
    int64_t today = civil_day_of (local);
    int64_t day = find_day (self, today, step);
    int64_t time = find_time (self, day == today ? civil_time_of_day (local) : edge, step);
    if (time < 0) { // nothing is left of today
        day = find_day (self, today + step, step);
        time = find_time (self, edge, step);
    }
    return day == none ? none : day * CIVIL_DAY + time;
}
