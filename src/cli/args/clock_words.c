#include "clock_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "civil.h"
#include "settings.h"

enum { WEEK = 7, WORD_MAX = 16 };

bool clock_time_of_day (const char *text, int64_t *ret_s)
{
    static const int limits[] = {24, 60, 60};
    int64_t seconds = 0;
    size_t parts = 0;
    for (const char *at = text;; at++) {
        size_t digits = strspn (at, "0123456789");
        if (parts == 3 || digits < 1 || digits > 2 || (parts > 0 && digits != 2))
            return false;
        int number = digits == 1 ? at[0] - '0' : (at[0] - '0') * 10 + (at[1] - '0');
        if (number >= limits[parts++])
            return false;
        seconds = seconds * 60 + number;
        at += digits;
        if (!*at)
            break;
        if (*at != ':')
            return false;
    }
    *ret_s = parts == 2 ? seconds * 60 : seconds;
    return parts >= 2;
}

// 0..7, or at least three letters of an English name: 0 is Sunday. -1: neither.
static int weekday_of (const char *text)
{
    static const char *const names[] = {"sunday",   "monday", "tuesday", "wednesday",
                                        "thursday", "friday", "saturday"};
    int64_t number;
    if (number_parse (text, &number))
        return number >= 0 && number <= WEEK ? (int)number % WEEK : -1;
    for (int i = 0; strlen (text) >= 3 && i < WEEK; i++)
        if (strncasecmp (names[i], text, strlen (text)) == 0)
            return i;
    return -1;
}

unsigned clock_weekdays (const char *text)
{
    unsigned days = 0;
    for (const char *at = text;; at++) {
        char item[2 * WORD_MAX];
        size_t size = strcspn (at, ",");
        if (size >= sizeof item)
            return 0;
        memcpy (item, at, size);
        item[size] = '\0';
        char *dash = strchr (item, '-');
        if (dash)
            *dash = '\0';
        int first = weekday_of (item), last = dash ? weekday_of (dash + 1) : first;
        if (first < 0 || last < 0)
            return 0;
        for (int day = first;; day = (day + 1) % WEEK) { // fri-mon goes over Sunday
            days |= 1U << day;
            if (day == last)
                break;
        }
        at += size;
        if (!*at)
            return days;
    }
}

// The days from today to the one that is meant; -1: no such word.
static int days_ahead (const char *word, int today)
{
    if (strcasecmp (word, "today") == 0)
        return 0;
    if (strcasecmp (word, "tomorrow") == 0)
        return 1;
    int weekday = isalpha ((unsigned char)*word) ? weekday_of (word) : -1;
    return weekday < 0 ? -1 : (weekday - today + WEEK) % WEEK;
}

int clock_instant (const char *text, const struct zone *zone, int64_t now, int64_t *ret_time,
                   struct reason *reason)
{
    int64_t local = now + zone_offset (zone, now), day = civil_day_of (local), time_of_day;
    char word[WORD_MAX] = "";
    size_t size = strcspn (text, " @");
    int ahead = 0, period = 1; // days until the same words mean another day
    const char *clock = text;
    if (text[size]) {
        if (size >= sizeof word)
            return 1;
        memcpy (word, text, size);
        ahead = days_ahead (word, civil_weekday (day));
        if (ahead < 0)
            return 1;
        bool fixed = strcasecmp (word, "today") == 0 || strcasecmp (word, "tomorrow") == 0;
        period = fixed ? 0 : WEEK;
        clock = text + size + 1 + strspn (text + size + 1, " ");
    }
    if (!clock_time_of_day (clock, &time_of_day)) {
        if (!*word)
            return 1;
        return reason_set (reason, "want %s and a time as 8:00, got %s", word,
                           quoted (span_text (text)));
    }
    *ret_time = zone_instant (zone, (day + ahead) * CIVIL_DAY + time_of_day);
    if (*ret_time > now)
        return 0;
    if (period == 0)
        return reason_set (reason, "%s is over", quoted (span_text (text)));
    *ret_time = zone_instant (zone, (day + ahead + period) * CIVIL_DAY + time_of_day);
    return 0;
}
