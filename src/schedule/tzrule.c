// A rule is evaluated from the transitions of the few years around an instant. The transition of a
// year can lie up to a week inside a neighbouring year, so one year is not enough.
#include "tzrule.h"

#include <ctype.h>

#include "civil.h"

enum {
    HOUR = 3600,
    OFFSET_HOURS_MAX = 24,
    TIME_HOURS_MAX = 167,
    NAME_MIN = 3,
    YEARS_BEFORE = 2, // both transitions of last year may lie in the first week of this one
    YEARS_AFTER = 2   // to find the transition after the last one of this year
};

// The text that is left to parse.
struct cursor {
    const uint8_t *at, *end;
};

static bool parse_char (struct cursor *self, char wanted)
{
    if (self->at == self->end || *self->at != (uint8_t)wanted)
        return false;
    self->at++;
    return true;
}

static bool is_letter (uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

// Read a number of one to three digits within min..max.
static bool parse_number (struct cursor *self, int min, int max, int *ret)
{
    const uint8_t *start = self->at;
    int number = 0;
    while (self->at < self->end && isdigit (*self->at) && self->at - start < 3)
        number = number * 10 + (*self->at++ - '0');
    if (self->at == start || number < min || number > max)
        return false;
    *ret = number;
    return true;
}

// Read an abbreviation, which is not used.
static bool parse_name (struct cursor *self)
{
    bool in_brackets = parse_char (self, '<');
    const uint8_t *start = self->at;
    while (self->at < self->end) {
        uint8_t byte = *self->at;
        bool extra = in_brackets && (isdigit (byte) || byte == '+' || byte == '-');
        if (!is_letter (byte) && !extra)
            break;
        self->at++;
    }
    return self->at - start >= NAME_MIN && (!in_brackets || parse_char (self, '>'));
}

// Read [+-]hh[:mm[:ss]], as seconds.
static bool parse_time (struct cursor *self, int hours_max, int32_t *ret)
{
    bool negative = parse_char (self, '-');
    if (!negative)
        parse_char (self, '+');
    int hours, minutes = 0, seconds = 0;
    if (!parse_number (self, 0, hours_max, &hours))
        return false;
    if (parse_char (self, ':')) {
        if (!parse_number (self, 0, 59, &minutes))
            return false;
        if (parse_char (self, ':') && !parse_number (self, 0, 59, &seconds))
            return false;
    }
    int32_t time = hours * HOUR + minutes * 60 + seconds;
    *ret = negative ? -time : time;
    return true;
}

static bool parse_day (struct cursor *self, struct tzrule_date *ret)
{
    if (parse_char (self, 'M')) {
        ret->form = TZRULE_MONTH;
        return parse_number (self, 1, 12, &ret->month) && parse_char (self, '.') &&
               parse_number (self, 1, 5, &ret->week) && parse_char (self, '.') &&
               parse_number (self, 0, 6, &ret->day);
    }
    if (parse_char (self, 'J')) {
        ret->form = TZRULE_JULIAN;
        return parse_number (self, 1, 365, &ret->day);
    }
    ret->form = TZRULE_ORDINAL;
    return parse_number (self, 0, 365, &ret->day);
}

static bool parse_date (struct cursor *self, struct tzrule_date *ret)
{
    if (!parse_char (self, ',') || !parse_day (self, ret))
        return false;
    ret->time = 2 * HOUR;
    return !parse_char (self, '/') || parse_time (self, TIME_HOURS_MAX, &ret->time);
}

// Read the part about daylight saving time, which follows the standard offset.
static bool parse_daylight (struct cursor *self, struct tzrule *rule)
{
    if (!parse_name (self))
        return false;
    rule->has_daylight = true;
    rule->daylight = rule->standard + HOUR;
    if (self->at < self->end && *self->at != ',') {
        if (!parse_time (self, OFFSET_HOURS_MAX, &rule->daylight))
            return false;
        rule->daylight = -rule->daylight; // POSIX counts offsets west of UTC
    }
    return parse_date (self, &rule->start) && parse_date (self, &rule->end);
}

bool tzrule_parse (struct span text, struct tzrule *ret_rule)
{
    if (text.size == 0)
        return false;
    struct cursor cursor = {text.data, text.data + text.size};
    struct tzrule rule = {0};
    if (!parse_name (&cursor) || !parse_time (&cursor, OFFSET_HOURS_MAX, &rule.standard))
        return false;
    rule.standard = -rule.standard;
    if (cursor.at < cursor.end && !parse_daylight (&cursor, &rule))
        return false;
    if (cursor.at < cursor.end)
        return false;
    *ret_rule = rule;
    return true;
}

// The day number of a date of TZRULE_MONTH in this year.
static int64_t month_day (const struct tzrule_date *date, int64_t year)
{
    int64_t first = civil_days ((struct civil_date){year, date->month, 1});
    int days_ahead = (date->day - civil_weekday (first) + 7) % 7;
    int day = days_ahead + (date->week - 1) * 7;
    while (day >= civil_month_length (year, date->month)) // week 5 of a month with four is the last
        day -= 7;
    return first + day;
}

// The local time of a date in this year, in seconds since 1970-01-01T00:00:00.
static int64_t date_local (const struct tzrule_date *date, int64_t year)
{
    int64_t january = civil_days ((struct civil_date){year, 1, 1});
    int64_t day = 0;
    switch (date->form) {
    case TZRULE_JULIAN:
        day = january + date->day - 1 + (date->day > 59 && civil_is_leap (year));
        break;
    case TZRULE_ORDINAL:
        day = january + date->day;
        break;
    case TZRULE_MONTH:
        day = month_day (date, year);
        break;
    }
    return day * CIVIL_DAY + date->time;
}

struct tzrule_stretch tzrule_stretch (const struct tzrule *self, int64_t instant)
{
    struct tzrule_stretch stretch = {INT64_MIN, INT64_MAX, self->standard};
    if (!self->has_daylight)
        return stretch;

    int64_t year = civil_date (civil_day_of (instant)).year;
    for (int64_t y = year - YEARS_BEFORE; y <= year + YEARS_AFTER; y++) {
        int64_t start = date_local (&self->start, y) - self->standard;
        int64_t end = date_local (&self->end, y) - self->daylight;
        if (end <= instant && end > stretch.begin) {
            stretch.begin = end;
            stretch.offset = self->standard;
        }
        // If both are at the same time, the start of DST applies: POSIX encodes permanent DST like
        // this.
        if (start <= instant && start >= stretch.begin) {
            stretch.begin = start;
            stretch.offset = self->daylight;
        }
        if (start > instant && start < stretch.end)
            stretch.end = start;
        if (end > instant && end < stretch.end)
            stretch.end = end;
    }
    return stretch;
}
