#include "instant.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "civil.h"
#include "duration.h"
#include "rfc3339.h"
#include "schedule.h"
#include "settings.h"

enum { WEEK = 7, WORD_MAX = 16, CLOCK_SIZE = 16 };

bool clock_time_of_day (const char *text, int64_t *ret_s)
{
    unsigned hour, minute, second = 0;
    char same[CLOCK_SIZE];
    int parts = sscanf (text, "%2u:%2u:%2u", &hour, &minute, &second);
    if (parts < 2 || hour > 23 || minute > 59 || second > 59)
        return false;
    snprintf (same, sizeof same, parts == 2 ? "%02u:%02u" : "%02u:%02u:%02u", hour, minute, second);
    *ret_s = hour * 3600 + minute * 60 + second;
    return strcmp (text, same) == 0 || strcmp (text, same + 1) == 0; // 8:30 is 08:30
}

// Parse a weekday, 0..7 or at least three letters of its English name; 0 is Sunday. -1: invalid.
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
        snprintf (item, sizeof item, "%.*s", (int)size, at);
        char *dash = strchr (item, '-');
        if (dash)
            *dash = '\0';
        int first = weekday_of (item), last = dash ? weekday_of (dash + 1) : first;
        if (first < 0 || last < 0)
            return 0;
        for (int day = first;; day = (day + 1) % WEEK) { // fri-mon wraps around Sunday
            days |= 1U << day;
            if (day == last)
                break;
        }
        at += size;
        if (!*at)
            return days;
    }
}

// The number of days from today to the named day; -1: unknown word.
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
    int ahead = 0, period = 1; // days until the same weekday or time of day comes again; 0: never
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

// Complete "2026-12-24T18:00" to the form that rfc3339_parse accepts: a missing offset becomes Z,
// and is reported as local. False: the text has another form.
static bool complete_instant (const char *text, char out[40], bool *ret_local)
{
    enum { DATE = 10, MINUTES = 5, SECONDS = 8, OFFSET_MAX = 6 };
    size_t size = strlen (text);
    if (size < DATE || text[4] != '-' || text[7] != '-' ||
        (size > DATE && text[DATE] != 'T' && text[DATE] != ' '))
        return false;
    const char *clock = size > DATE ? text + DATE + 1 : "00:00";
    size_t clock_size = strcspn (clock, "Z+-");
    const char *offset = clock + clock_size;
    if ((clock_size != MINUTES && clock_size != SECONDS) || strlen (offset) > OFFSET_MAX)
        return false;
    *ret_local = !*offset;
    snprintf (out, 40, "%.10sT%.*s%s%s", text, (int)clock_size, clock,
              clock_size == MINUTES ? ":00" : "", *offset ? offset : "Z");
    return true;
}

int instant_parse_date (const char *text, const struct zone *zone, int64_t *ret_time,
                        struct reason *reason)
{
    char complete[40];
    bool local;
    if (!complete_instant (text, complete, &local))
        return reason_set (reason,
                           "want an instant as 2026-12-24, 2026-12-24T18:00 or "
                           "2026-12-24T18:00:00+01:00, got %s",
                           quoted (span_text (text)));
    int64_t time;
    if (rfc3339_parse (span_text (complete), &time, reason))
        return -1;
    if (local)
        time = zone_instant (zone, time);
    if (time < 0 || time > SCHEDULE_TIME_MAX)
        return reason_set (reason, "%s: not within 1970..9999", quoted (span_text (text)));
    *ret_time = time;
    return 0;
}

int instant_parse (const char *text, const struct zone *zone, int64_t *ret_time,
                   struct reason *reason)
{
    int64_t number;
    if (!number_parse (text, &number))
        return instant_parse_date (text, zone, ret_time, reason);
    if (number < 0 || number > SCHEDULE_TIME_MAX)
        return reason_set (reason, "want Unix seconds 0..%" PRId64 ", got %" PRId64,
                           SCHEDULE_TIME_MAX, number);
    *ret_time = number;
    return 0;
}

bool instant_since (const char *text, int64_t now, int64_t *ret_time)
{
    enum { DAY_S = 86400 };
    struct duration ago;
    struct reason ignored;
    bool yesterday = strcmp (text, "yesterday") == 0;
    if (yesterday || strcmp (text, "today") == 0) {
        *ret_time = now - now % DAY_S - (yesterday ? DAY_S : 0);
        return true;
    }
    if (duration_parse (text, &ago)) {
        *ret_time = ago.seconds < now ? now - ago.seconds : 0;
        return true;
    }
    struct zone *utc = zone_new_utc ();
    bool is_date = !instant_parse_date (text, utc, ret_time, &ignored) && *ret_time >= 0;
    zone_destroy (&utc);
    return is_date;
}
