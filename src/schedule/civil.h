// The proleptic Gregorian calendar as day numbers: day 0 is 1970-01-01. Exact for the years
// -300000..300000. Pure arithmetic, no zones.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CIVIL_DAY = 86400 }; // seconds of a civil day: there are no leap seconds

struct civil_date {
    int64_t year;
    int month; // 1..12
    int day;   // 1..31
};

// The day number of a date; the date must exist.
int64_t civil_days (struct civil_date date);

// The date of a day number.
struct civil_date civil_date (int64_t days);

// The day number of a time, given as seconds since 1970-01-01T00:00:00.
int64_t civil_day_of (int64_t seconds);

// The seconds from the start of that day to this time, 0..86399.
int64_t civil_time_of_day (int64_t seconds);

bool civil_is_leap (int64_t year);

// The number of days of a month, 28..31; `month` is 1..12.
int civil_month_length (int64_t year, int month);

// The weekday of a day number: 0..6, Sunday is 0.
int civil_weekday (int64_t days);
