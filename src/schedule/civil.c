// The arithmetic begins years in March, so that the leap day is the last day of its year, and the
// lengths of the months before it do not depend on it. An era is 400 years, which have the same
// number of days in each era.
#include "civil.h"

#include <assert.h>

enum {
    DAYS_PER_ERA = 146097,
    DAYS_BEFORE_EPOCH = 719468, // 0000-03-01 to 1970-01-01
    EPOCH_WEEKDAY = 4           // 1970-01-01 was a Thursday
};

static int64_t floor_divide (int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t civil_days (struct civil_date date)
{
    assert (date.month >= 1 && date.month <= 12);
    int64_t year = date.month > 2 ? date.year : date.year - 1;
    int64_t era = floor_divide (year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t month_from_march = (date.month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_EPOCH;
}

struct civil_date civil_date (int64_t days)
{
    int64_t shifted = days + DAYS_BEFORE_EPOCH;
    int64_t era = floor_divide (shifted, DAYS_PER_ERA);
    int64_t day_of_era = shifted - era * DAYS_PER_ERA;
    // Subtract the leap days before this day: one in 1460 days, except one in 36524, except one in
    // 146096.
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    return (struct civil_date){
        .year = year_of_era + era * 400 + (month <= 2),
        .month = month,
        .day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
    };
}

int64_t civil_day_of (int64_t seconds)
{
    return floor_divide (seconds, CIVIL_DAY);
}

int64_t civil_time_of_day (int64_t seconds)
{
    return seconds - civil_day_of (seconds) * CIVIL_DAY;
}

bool civil_is_leap (int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int civil_month_length (int64_t year, int month)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    assert (month >= 1 && month <= 12);
    return lengths[month - 1] + (month == 2 && civil_is_leap (year));
}

int civil_weekday (int64_t days)
{
    int64_t weekday = (days + EPOCH_WEEKDAY) % 7;
    return (int)(weekday < 0 ? weekday + 7 : weekday);
}
