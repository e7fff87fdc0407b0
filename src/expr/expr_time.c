// Times are seconds on the wall clock, without a zone. Only epoch () uses a zone.
#include <inttypes.h>

#include "civil.h"
#include "expr_functions.h"

enum { MONTHS = 12, YEAR_MAX = 9999 };

static bool fail_year_range (struct expr_run *run)
{
    return expr_fail (run, EXPR_RANGE, "the year is outside 0001..9999");
}

static bool set_date_result (struct expr_run *run, struct civil_date date,
                             const struct expr_value *time, struct expr_value *ret)
{
    if (date.year < 1 || date.year > YEAR_MAX)
        return fail_year_range (run);
    *ret = expr_of_time (civil_days (date) * CIVIL_DAY + civil_time_of_day (time->time));
    return true;
}

static struct civil_date date_of_time (const struct expr_value *time)
{
    return civil_date (civil_day_of (time->time));
}

// Add months; a day beyond the end of the month becomes its last day.
static struct civil_date add_months (struct civil_date date, int64_t months)
{
    int64_t number = date.year * MONTHS + date.month - 1 + months;
    date.year = number / MONTHS;
    date.month = (int)(number % MONTHS) + 1;
    int length = civil_month_length (date.year, date.month);
    if (date.day > length)
        date.day = length;
    return date;
}

bool expr_time_plus (struct expr_run *run, const struct expr_value *arguments,
                     struct expr_value *ret)
{
    static const int64_t seconds[] = {[TIME_WEEKS] = 7 * CIVIL_DAY,
                                      [TIME_DAYS] = CIVIL_DAY,
                                      [TIME_HOURS] = 3600,
                                      [TIME_MINUTES] = 60,
                                      [TIME_SECONDS] = 1};
    const struct expr_value *time = &arguments[0];
    unsigned kind = expr_method_kind (run);
    int64_t amount = arguments[1].integer;
    if (kind == TIME_YEARS || kind == TIME_MONTHS) {
        int64_t months = kind == TIME_YEARS ? MONTHS : 1;
        struct civil_date date = date_of_time (time);
        int64_t to_first = MONTHS - (date.year * MONTHS + date.month - 1);
        int64_t to_last = to_first + YEAR_MAX * MONTHS - 1;
        if (__builtin_mul_overflow (amount, months, &amount) || amount < to_first ||
            amount > to_last)
            return fail_year_range (run);
        return set_date_result (run, add_months (date, amount), time, ret);
    }
    int64_t local;
    if (__builtin_mul_overflow (amount, seconds[kind], &amount) ||
        __builtin_add_overflow (time->time, amount, &local) || local < EXPR_TIME_MIN ||
        local > EXPR_TIME_MAX)
        return fail_year_range (run);
    *ret = expr_of_time (local);
    return true;
}

bool expr_time_with (struct expr_run *run, const struct expr_value *arguments,
                     struct expr_value *ret)
{
    struct civil_date date = date_of_time (&arguments[0]);
    int64_t value = arguments[1].integer, day = date.day;
    switch (expr_method_kind (run)) {
    case TIME_DAYS:
        day = value;
        break;
    case TIME_MONTHS:
        if (value < 1 || value > MONTHS)
            return expr_fail (run, EXPR_RANGE, "no such month: %" PRId64, value);
        date.month = (int)value;
        break;
    default:
        if (value < 1 || value > YEAR_MAX)
            return fail_year_range (run);
        date.year = value;
    }
    if (day < 1 || day > civil_month_length (date.year, date.month))
        return expr_fail (run, EXPR_RANGE, "no such day: %04" PRId64 "-%02d-%02" PRId64, date.year,
                          date.month, day);
    date.day = (int)day;
    return set_date_result (run, date, &arguments[0], ret);
}

bool expr_time_month_end (struct expr_run *run, const struct expr_value *arguments,
                          struct expr_value *ret)
{
    struct civil_date date = date_of_time (&arguments[0]);
    date.day = 1;
    date = add_months (date, (int)expr_method_kind (run) - TIME_PRESENT);
    date.day = civil_month_length (date.year, date.month);
    return set_date_result (run, date, &arguments[0], ret);
}

bool expr_time_part (struct expr_run *run, const struct expr_value *arguments,
                     struct expr_value *ret)
{
    int64_t local = arguments[0].time;
    struct civil_date date = date_of_time (&arguments[0]);
    const struct zone *zone = run->env->zone;
    int weekday;
    switch (expr_method_kind (run)) {
    case TIME_YEARS:
        *ret = expr_of_integer (date.year);
        break;
    case TIME_MONTHS:
        *ret = expr_of_integer (date.month);
        break;
    case TIME_DAYS:
        *ret = expr_of_integer (date.day);
        break;
    case TIME_HOURS:
        *ret = expr_of_integer (civil_time_of_day (local) / 3600);
        break;
    case TIME_WEEKS: // Monday is 1, Sunday 7
        weekday = civil_weekday (civil_day_of (local));
        *ret = expr_of_integer (weekday ? weekday : 7);
        break;
    default:
        *ret = expr_of_integer (zone ? zone_instant (zone, local) : local);
    }
    return true;
}

// -- adjusters

static const struct adjuster {
    const char *name;
    int months;       // added to the date first
    bool first_month; // then the first month of the year
    bool last_month;
    bool last_day; // then the last day of the month, else its first
} adjusters[] = {
    {"firstDayOfMonth", 0, false, false, false},
    {"lastDayOfMonth", 0, false, false, true},
    {"firstDayOfYear", 0, true, false, false},
    {"lastDayOfYear", 0, false, true, true},
    {"firstDayOfNextMonth", 1, false, false, false},
    {"firstDayOfNextYear", MONTHS, true, false, false},
};

int expr_find_adjuster (struct span name)
{
    for (size_t i = 0; i < sizeof adjusters / sizeof *adjusters; i++)
        if (span_is (name, adjusters[i].name))
            return (int)i;
    return -1;
}

bool expr_apply_adjuster (struct expr_run *run, int adjuster, const struct expr_value *time,
                          struct expr_value *ret)
{
    const struct adjuster *rule = &adjusters[adjuster];
    struct civil_date date = date_of_time (time);
    date.day = 1;
    date = add_months (date, rule->months);
    if (rule->first_month || rule->last_month)
        date.month = rule->first_month ? 1 : MONTHS;
    if (rule->last_day)
        date.day = civil_month_length (date.year, date.month);
    return set_date_result (run, date, time, ret);
}
