// Rows for the three calls of the schedule: every rule of plan document 3.3.1 to 3.3.4.
#include <inttypes.h>

#include "rfc3339.h"
#include "rows.h"
#include "schedule.h"
#include "zonefile.h"

enum { TEXT_SIZE = 1024 };

static struct zone *zone_named (const char *name)
{
    struct reason reason = {0};
    struct zone *zone = zonefile_load (name ? name : "UTC", &reason);
    if (!zone)
        fail_msg ("%s", reason.text);
    return zone;
}

// "" is 0, as for a time that is not given.
static int64_t instant (const char *text)
{
    int64_t time = 0;
    struct reason reason = {0};
    if (text && *text && rfc3339_parse (span_text (text), &time, &reason))
        fail_msg ("%s", reason.text);
    return time;
}

// A plan and its occurrences as a preview shows them, up to the number of words expected: each
// computed as if the one before ended in its nominal second; "end" after the last one.
struct preview_row {
    const char *name;
    struct schedule plan;
    const char *base, *now;
    int64_t skip;
    const char *zone; // NULL is UTC
    const char *expected;
};

static size_t count_words (const char *text)
{
    size_t words = 1;
    for (; *text; text++)
        words += *text == ' ';
    return words;
}

static void append (char text[TEXT_SIZE], const char *word)
{
    size_t size = strlen (text);
    snprintf (text + size, TEXT_SIZE - size, "%s%s", size ? " " : "", word);
}

static void check_preview (const struct preview_row *row)
{
    struct zone *zone = zone_named (row->zone);
    struct schedule plan = row->plan;
    int64_t now = instant (row->now);
    plan.base_time = instant (row->base);
    plan.received = now;

    char got[TEXT_SIZE] = "";
    struct occurrence at;
    bool more = schedule_first (&plan, zone, now, row->skip, &at);
    for (size_t left = count_words (row->expected); left > 0; left--) {
        char word[RFC3339_SIZE] = "end";
        if (more)
            rfc3339_format (at.time, word);
        append (got, word);
        if (!more)
            break;
        more = schedule_next (&plan, zone, &at, at.time, &at);
    }
    zone_destroy (&zone);
    if (strcmp (got, row->expected) != 0)
        fail_msg ("%s: want \"%s\", got \"%s\"", row->name, row->expected, got);
}

// {type, value, repeat, keep}
#define PLAN(kind, value, repeat)                                                                  \
    {                                                                                              \
        SCHEDULE_##kind, value, repeat, false, 0, 0                                                \
    }
#define PLAN_KEEP(kind, value, repeat)                                                             \
    {                                                                                              \
        SCHEDULE_##kind, value, repeat, true, 0, 0                                                 \
    }

#define NOW "2026-01-01T00:00:00Z"

// clang-format off
static const struct preview_row once_rows[] = {
    {"none runs now", PLAN (NONE, 0, 1), "", NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"none ignores repeat 0", PLAN (NONE, 0, 0), "", NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"none ignores forever", PLAN (NONE, 0, -1), "", NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"none ignores a base", PLAN (NONE, 0, 1), "2027-01-01T00:00:00Z", NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"none skipped", PLAN (NONE, 0, -1), "", NOW, 1, NULL, "end"},
    {"time in the future", PLAN (TIME, 0, 1), "2026-01-01T00:00:01Z", NOW, 0, NULL, "2026-01-01T00:00:01Z end"},
    {"time at this second is not past", PLAN (TIME, 0, 1), NOW, NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"time past", PLAN (TIME, 0, 1), "2025-12-31T23:59:59Z", NOW, 0, NULL, "end"},
    {"time past, kept", PLAN_KEEP (TIME, 0, 1), "2025-12-31T23:59:59Z", NOW, 0, NULL, "2025-12-31T23:59:59Z end"},
    {"time long past, kept", PLAN_KEEP (TIME, 0, 1), "1970-01-01T00:00:01Z", NOW, 0, NULL, "1970-01-01T00:00:01Z end"},
    {"time ignores repeat 0", PLAN (TIME, 0, 0), "2026-01-02T00:00:00Z", NOW, 0, NULL, "2026-01-02T00:00:00Z end"},
    {"time ignores repeat 5", PLAN (TIME, 0, 5), "2026-01-02T00:00:00Z", NOW, 0, NULL, "2026-01-02T00:00:00Z end"},
    {"time ignores forever", PLAN (TIME, 0, -1), "2026-01-02T00:00:00Z", NOW, 0, NULL, "2026-01-02T00:00:00Z end"},
    {"time skipped", PLAN (TIME, 0, 5), "2026-01-02T00:00:00Z", NOW, 1, NULL, "end"},
    {"time skipped, kept", PLAN_KEEP (TIME, 0, 5), "2026-01-02T00:00:00Z", NOW, 1, NULL, "end"},
    {"time at the end of time", PLAN (TIME, 0, 1), "9999-12-31T23:59:59Z", NOW, 0, NULL, "9999-12-31T23:59:59Z end"},
};

static const struct preview_row interval_rows[] = {
    {"second 1", PLAN (SECOND, 1, 3), "", NOW, 0, NULL, "2026-01-01T00:00:01Z 2026-01-01T00:00:02Z 2026-01-01T00:00:03Z end"},
    {"second 90", PLAN (SECOND, 90, 2), "", NOW, 0, NULL, "2026-01-01T00:01:30Z 2026-01-01T00:03:00Z end"},
    {"second 32766", PLAN (SECOND, 32766, 1), "", NOW, 0, NULL, "2026-01-01T09:06:06Z end"},
    {"minute 1", PLAN (MINUTE, 1, -1), "", NOW, 0, NULL, "2026-01-01T00:01:00Z 2026-01-01T00:02:00Z"},
    {"minute 60", PLAN (MINUTE, 60, 2), "", NOW, 0, NULL, "2026-01-01T01:00:00Z 2026-01-01T02:00:00Z end"},
    {"hour 1", PLAN (HOUR, 1, 2), "", NOW, 0, NULL, "2026-01-01T01:00:00Z 2026-01-01T02:00:00Z end"},
    {"hour 25", PLAN (HOUR, 25, 2), "", NOW, 0, NULL, "2026-01-02T01:00:00Z 2026-01-03T02:00:00Z end"},
    {"day 1", PLAN (DAY, 1, 2), "", NOW, 0, NULL, "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z end"},
    {"day 1 over a leap day", PLAN (DAY, 1, 3), "2024-02-27T12:00:00Z", "2024-02-27T12:00:00Z", 0, NULL, "2024-02-28T12:00:00Z 2024-02-29T12:00:00Z 2024-03-01T12:00:00Z end"},
    {"day is 24 hours in any zone", PLAN (DAY, 1, 2), "2026-03-28T11:00:00Z", "2026-03-28T11:00:00Z", 0, "Europe/Berlin", "2026-03-29T11:00:00Z 2026-03-30T11:00:00Z end"},
    {"day 32766", PLAN (DAY, 32766, 2), "", NOW, 0, NULL, "2115-09-18T00:00:00Z 2205-06-04T00:00:00Z end"},
    {"base in the future", PLAN (HOUR, 2, 2), "2026-01-01T06:30:00Z", NOW, 0, NULL, "2026-01-01T08:30:00Z 2026-01-01T10:30:00Z end"},
    {"base in the past, on the grid", PLAN (SECOND, 10, -1), "2025-12-31T23:59:55Z", NOW, 0, NULL, "2026-01-01T00:00:05Z 2026-01-01T00:00:15Z"},
    {"an occurrence at now is not missed", PLAN (SECOND, 10, -1), "2025-12-31T23:59:40Z", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-01-01T00:00:10Z"},
    {"missed ones use up repeats", PLAN (SECOND, 1, 15), "2025-12-31T23:59:50Z", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-01-01T00:00:01Z 2026-01-01T00:00:02Z 2026-01-01T00:00:03Z 2026-01-01T00:00:04Z 2026-01-01T00:00:05Z end"},
    {"the last one at now", PLAN (SECOND, 10, 3), "2025-12-31T23:59:30Z", NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"the last one past by a second", PLAN (SECOND, 10, 3), "2025-12-31T23:59:29Z", NOW, 0, NULL, "end"},
    {"all missed", PLAN (SECOND, 1, 10), "2025-12-31T23:58:20Z", NOW, 0, NULL, "end"},
    {"all missed but kept", PLAN_KEEP (SECOND, 1, 2), "2025-12-31T23:58:20Z", NOW, 0, NULL, "2025-12-31T23:58:21Z 2025-12-31T23:58:22Z end"},
    {"kept across now", PLAN_KEEP (HOUR, 12, 3), "2025-12-31T00:00:00Z", NOW, 0, NULL, "2025-12-31T12:00:00Z 2026-01-01T00:00:00Z 2026-01-01T12:00:00Z end"},
    {"since 1970 in one step", PLAN (SECOND, 1, -1), "1970-01-01T00:00:01Z", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-01-01T00:00:01Z"},
    {"since 1970, too few repeats", PLAN (SECOND, 1, 2147483647), "1970-01-01T00:00:01Z", "2200-01-01T00:00:00Z", 0, NULL, "end"},
    {"since 1970 to 9999", PLAN (SECOND, 1, -1), "1970-01-01T00:00:01Z", "9999-12-31T23:59:58Z", 0, NULL, "9999-12-31T23:59:58Z 9999-12-31T23:59:59Z end"},
    {"skip 2", PLAN (MINUTE, 1, 4), "", NOW, 2, NULL, "2026-01-01T00:03:00Z 2026-01-01T00:04:00Z end"},
    {"skip all but one", PLAN (MINUTE, 1, 4), "", NOW, 3, NULL, "2026-01-01T00:04:00Z end"},
    {"skip all", PLAN (MINUTE, 1, 4), "", NOW, 4, NULL, "end"},
    {"skip counts from the first that runs", PLAN (SECOND, 10, -1), "2025-12-31T23:59:55Z", NOW, 1, NULL, "2026-01-01T00:00:15Z"},
    {"skip after missed ones, repeats gone", PLAN (SECOND, 10, 3), "2025-12-31T23:59:30Z", NOW, 1, NULL, "end"},
    {"skip when kept counts from the past", PLAN_KEEP (HOUR, 12, 3), "2025-12-31T00:00:00Z", NOW, 1, NULL, "2026-01-01T00:00:00Z 2026-01-01T12:00:00Z end"},
    {"skip far", PLAN (SECOND, 1, -1), "", NOW, 86400, NULL, "2026-01-02T00:00:01Z"},
    {"skip past the end of time", PLAN (DAY, 1, -1), "", NOW, 2912442, NULL, "end"},
    {"skip to the end of time", PLAN (DAY, 1, -1), "", NOW, 2912441, NULL, "9999-12-31T00:00:00Z end"},
    {"skip without bounds", PLAN (SECOND, 1, -1), "", NOW, INT64_MAX, NULL, "end"},
    {"skip without bounds after missed ones", PLAN (SECOND, 1, -1), "1970-01-01T00:00:01Z", NOW, INT64_MAX, NULL, "end"},
    {"value 0 from the base on", PLAN (SECOND, 0, 3), "", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-01-01T00:00:01Z 2026-01-01T00:00:02Z end"},
    {"value 0 of hours", PLAN (HOUR, 0, 2), "", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-01-01T00:00:01Z end"},
    {"value 0, base in the future", PLAN (DAY, 0, 2), "2026-01-05T00:00:00Z", NOW, 0, NULL, "2026-01-05T00:00:00Z 2026-01-05T00:00:01Z end"},
    {"value 0, missed ones use up repeats", PLAN (SECOND, 0, 3), "2025-12-31T23:59:58Z", NOW, 0, NULL, "2026-01-01T00:00:00Z end"},
    {"value 0, all missed", PLAN (SECOND, 0, 3), "2025-12-31T23:59:57Z", NOW, 0, NULL, "end"},
    {"value 0, kept", PLAN_KEEP (SECOND, 0, 3), "2025-12-31T23:59:00Z", NOW, 0, NULL, "2025-12-31T23:59:00Z 2025-12-31T23:59:01Z 2025-12-31T23:59:02Z end"},
    {"value 0, skip", PLAN (SECOND, 0, 3), "", NOW, 2, NULL, "2026-01-01T00:00:02Z end"},
    {"value 0, skip all", PLAN (SECOND, 0, 3), "", NOW, 3, NULL, "end"},
    {"value 0 at the end of time", PLAN (SECOND, 0, -1), "9999-12-31T23:59:59Z", NOW, 0, NULL, "9999-12-31T23:59:59Z end"},
    {"step over the end of time", PLAN (DAY, 32766, -1), "9999-12-31T00:00:00Z", NOW, 0, NULL, "end"},
    {"last second of time", PLAN (SECOND, 1, -1), "9999-12-31T23:59:58Z", NOW, 0, NULL, "9999-12-31T23:59:59Z end"},
};

static const struct preview_row week_rows[] = {
    // 2026-01-01 is a Thursday.
    {"Sunday", PLAN (WEEK, 0, 2), "", NOW, 0, NULL, "2026-01-04T00:00:00Z 2026-01-11T00:00:00Z end"},
    {"Monday", PLAN (WEEK, 1, 1), "", NOW, 0, NULL, "2026-01-05T00:00:00Z end"},
    {"Tuesday", PLAN (WEEK, 2, 1), "", NOW, 0, NULL, "2026-01-06T00:00:00Z end"},
    {"Wednesday", PLAN (WEEK, 3, 1), "", NOW, 0, NULL, "2026-01-07T00:00:00Z end"},
    {"Thursday, now is not past", PLAN (WEEK, 4, 2), "", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-01-08T00:00:00Z end"},
    {"Thursday, a second late", PLAN (WEEK, 4, 1), "", "2026-01-01T00:00:01Z", 0, NULL, "2026-01-08T00:00:00Z end"},
    {"Friday", PLAN (WEEK, 5, 1), "", NOW, 0, NULL, "2026-01-02T00:00:00Z end"},
    {"Saturday", PLAN (WEEK, 6, 1), "", NOW, 0, NULL, "2026-01-03T00:00:00Z end"},
    {"only the time of day of the base counts", PLAN (WEEK, 4, 2), "2001-01-01T08:30:00Z", NOW, 0, NULL, "2026-01-01T08:30:00Z 2026-01-08T08:30:00Z end"},
    {"a base in the future is no start", PLAN (WEEK, 4, 1), "2030-06-06T08:30:00Z", NOW, 0, NULL, "2026-01-01T08:30:00Z end"},
    {"keep has no effect", PLAN_KEEP (WEEK, 4, 1), "2001-01-01T08:30:00Z", "2026-01-01T09:00:00Z", 0, NULL, "2026-01-08T08:30:00Z end"},
    {"skip 2 weeks", PLAN (WEEK, 1, 4), "", NOW, 2, NULL, "2026-01-19T00:00:00Z 2026-01-26T00:00:00Z end"},
    {"skip all", PLAN (WEEK, 1, 4), "", NOW, 4, NULL, "end"},
    {"skip 52 weeks", PLAN (WEEK, 1, -1), "", NOW, 52, NULL, "2027-01-04T00:00:00Z"},
    {"skip past the end of time", PLAN (WEEK, 1, -1), "", NOW, 500000, NULL, "end"},
    {"skip without bounds", PLAN (WEEK, 1, -1), "", NOW, INT64_MAX, NULL, "end"},
    {"the last week of time", PLAN (WEEK, 5, -1), "2001-01-01T23:59:59Z", "9999-12-30T00:00:00Z", 0, NULL, "9999-12-31T23:59:59Z end"},
    {"no week left", PLAN (WEEK, 6, -1), "", "9999-12-26T00:00:00Z", 0, NULL, "end"},
    {"the time of day is local", PLAN (WEEK, 1, 2), "2026-01-01T08:00:00+08:00", NOW, 0, "Asia/Shanghai", "2026-01-05T00:00:00Z 2026-01-12T00:00:00Z end"},
    {"no base is local midnight", PLAN (WEEK, 1, 1), "", NOW, 0, "Asia/Shanghai", "2026-01-04T16:00:00Z end"},
    {"the weekday is local", PLAN (WEEK, 4, 1), "", "2025-12-31T17:00:00Z", 0, "Asia/Shanghai", "2026-01-07T16:00:00Z end"},
    {"the weekday is local, west", PLAN (WEEK, 3, 1), "2026-01-01T23:00:00-05:00", NOW, 0, "America/New_York", "2026-01-01T04:00:00Z end"},
    {"the wall clock stays over both changes", PLAN (WEEK, 0, -1), "2026-01-01T08:00:00+01:00", "2026-03-22T00:00:00Z", 0, "Europe/Berlin", "2026-03-22T07:00:00Z 2026-03-29T06:00:00Z 2026-04-05T06:00:00Z"},
    {"a gap runs at its end", PLAN (WEEK, 0, -1), "2026-01-01T02:30:00+01:00", "2026-03-22T00:00:00Z", 0, "Europe/Berlin", "2026-03-22T01:30:00Z 2026-03-29T01:00:00Z 2026-04-05T00:30:00Z"},
    {"an overlap runs the first time only", PLAN (WEEK, 0, -1), "2026-01-01T02:30:00+01:00", "2026-10-25T00:00:00Z", 0, "Europe/Berlin", "2026-10-25T00:30:00Z 2026-11-01T01:30:00Z"},
    {"submitted between the two times of an overlap", PLAN (WEEK, 0, -1), "2026-01-01T02:30:00+01:00", "2026-10-25T01:00:00Z", 0, "Europe/Berlin", "2026-11-01T01:30:00Z"},
    {"half an hour of change", PLAN (WEEK, 0, -1), "2020-06-01T02:15:00+10:30", "2020-10-01T00:00:00Z", 0, "Australia/Lord_Howe", "2020-10-03T15:30:00Z 2020-10-10T15:15:00Z"},
    {"two hours of change", PLAN (WEEK, 0, -1), "2020-01-01T01:30:00Z", "2020-03-28T00:00:00Z", 0, "Antarctica/Troll", "2020-03-29T01:00:00Z 2020-04-04T23:30:00Z"},
    {"midnight is missing in Sao Paulo", PLAN (WEEK, 0, -1), "", "2018-10-30T00:00:00Z", 0, "America/Sao_Paulo", "2018-11-04T03:00:00Z 2018-11-11T02:00:00Z"},
    {"midnight is missing in Santiago", PLAN (WEEK, 0, -1), "", "2022-09-05T00:00:00Z", 0, "America/Santiago", "2022-09-11T04:00:00Z 2022-09-18T03:00:00Z"},
    {"23:30 comes twice in Santiago", PLAN (WEEK, 6, -1), "2022-01-01T23:30:00-03:00", "2022-03-28T00:00:00Z", 0, "America/Santiago", "2022-04-03T02:30:00Z 2022-04-10T03:30:00Z"},
    {"midnight comes twice in Havana", PLAN (WEEK, 0, -1), "", "2020-10-27T00:00:00Z", 0, "America/Havana", "2020-11-01T04:00:00Z 2020-11-08T05:00:00Z"},
    {"Ramadan in Casablanca", PLAN (WEEK, 0, -1), "2019-01-15T02:30:00+01:00", "2019-05-04T00:00:00Z", 0, "Africa/Casablanca", "2019-05-05T01:30:00Z 2019-05-12T02:30:00Z 2019-05-19T02:30:00Z 2019-05-26T02:30:00Z 2019-06-02T02:30:00Z 2019-06-09T02:00:00Z"},
    {"the missing Friday of Apia", PLAN (WEEK, 5, -1), "2011-12-01T12:00:00-10:00", "2011-12-20T00:00:00Z", 0, "Pacific/Apia", "2011-12-23T22:00:00Z 2011-12-30T10:00:00Z 2012-01-05T22:00:00Z"},
    {"the Thursday before it", PLAN (WEEK, 4, -1), "2011-12-01T23:59:59-10:00", "2011-12-29T00:00:00Z", 0, "Pacific/Apia", "2011-12-30T09:59:59Z 2012-01-05T09:59:59Z"},
    {"the missing Saturday of Kwajalein", PLAN (WEEK, 6, -1), "1993-01-01T09:00:00-12:00", "1993-08-16T00:00:00Z", 0, "Pacific/Kwajalein", "1993-08-21T12:00:00Z 1993-08-27T21:00:00Z"},
    {"moved into the next week, submitted at its run", PLAN (WEEK, 6, -1), "1993-01-01T09:00:00-12:00", "1993-08-21T12:00:00Z", 0, "Pacific/Kwajalein", "1993-08-21T12:00:00Z 1993-08-27T21:00:00Z"},
    {"next week came twice, submitted between", PLAN (WEEK, 0, -1), "2006-01-01T00:00:30-03:30", "2006-10-29T03:00:00Z", 0, "America/St_Johns", "2006-11-05T03:30:30Z"},
    {"negative daylight saving of Dublin", PLAN (WEEK, 0, -1), "2020-01-01T01:30:00Z", "2020-03-28T00:00:00Z", 0, "Europe/Dublin", "2020-03-29T01:00:00Z 2020-04-05T00:30:00Z"},
    {"seconds of an offset", PLAN (WEEK, 5, -1), "", "1972-01-01T00:00:00Z", 0, "Africa/Monrovia", "1972-01-07T00:44:30Z 1972-01-14T00:00:00Z"},
    {"by the footer's rule", PLAN (WEEK, 0, -1), "2026-01-01T02:30:00+01:00", "2500-03-27T00:00:00Z", 0, "Europe/Berlin", "2500-03-28T01:00:00Z 2500-04-04T00:30:00Z"},
};

static const struct preview_row month_rows[] = {
    {"day 1 at now", PLAN (MONTH, 1, 2), "", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-02-01T00:00:00Z end"},
    {"day 1, a second late", PLAN (MONTH, 1, 1), "", "2026-01-01T00:00:01Z", 0, NULL, "2026-02-01T00:00:00Z end"},
    {"day 31 is cut to each month", PLAN (MONTH, 31, 4), "", NOW, 0, NULL, "2026-01-31T00:00:00Z 2026-02-28T00:00:00Z 2026-03-31T00:00:00Z 2026-04-30T00:00:00Z end"},
    {"day 30 in a leap February", PLAN (MONTH, 30, 3), "", "2024-01-01T00:00:00Z", 0, NULL, "2024-01-30T00:00:00Z 2024-02-29T00:00:00Z 2024-03-30T00:00:00Z end"},
    {"day 29 in 2100", PLAN (MONTH, 29, 2), "", "2100-02-01T00:00:00Z", 0, NULL, "2100-02-28T00:00:00Z 2100-03-29T00:00:00Z end"},
    {"day 29 in 2000", PLAN (MONTH, 29, 1), "", "2000-02-01T00:00:00Z", 0, NULL, "2000-02-29T00:00:00Z end"},
    {"0 is the last day", PLAN (MONTH, 0, 3), "", NOW, 0, NULL, "2026-01-31T00:00:00Z 2026-02-28T00:00:00Z 2026-03-31T00:00:00Z end"},
    {"-1 is the day before the last", PLAN (MONTH, -1, 5), "2026-01-31T23:00:00Z", NOW, 0, NULL, "2026-01-30T23:00:00Z 2026-02-27T23:00:00Z 2026-03-30T23:00:00Z 2026-04-29T23:00:00Z 2026-05-30T23:00:00Z end"},
    {"-30 is day 1 of a long month", PLAN (MONTH, -30, 2), "", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-02-01T00:00:00Z end"},
    {"-31 is not below day 1", PLAN (MONTH, -31, 3), "", NOW, 0, NULL, "2026-01-01T00:00:00Z 2026-02-01T00:00:00Z 2026-03-01T00:00:00Z end"},
    {"-27 in February", PLAN (MONTH, -27, 2), "", NOW, 0, NULL, "2026-01-04T00:00:00Z 2026-02-01T00:00:00Z end"},
    {"December to January", PLAN (MONTH, 1, 1), "", "2025-12-31T23:59:59Z", 0, NULL, "2026-01-01T00:00:00Z end"},
    {"December to January, twice", PLAN (MONTH, 15, 3), "", "2025-12-01T00:00:00Z", 0, NULL, "2025-12-15T00:00:00Z 2026-01-15T00:00:00Z 2026-02-15T00:00:00Z end"},
    {"31 January after its time", PLAN (MONTH, 31, 1), "2026-01-01T08:00:00Z", "2026-01-31T09:00:00Z", 0, NULL, "2026-02-28T08:00:00Z end"},
    {"29 February after its time", PLAN (MONTH, 29, 1), "2026-01-01T08:00:00Z", "2024-02-29T09:00:00Z", 0, NULL, "2024-03-29T08:00:00Z end"},
    {"keep has no effect", PLAN_KEEP (MONTH, 1, 1), "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", 0, NULL, "2026-02-01T08:00:00Z end"},
    {"skip 1 month from the 31st", PLAN (MONTH, 31, -1), "", NOW, 1, NULL, "2026-02-28T00:00:00Z 2026-03-31T00:00:00Z"},
    {"skip 13 months", PLAN (MONTH, 31, -1), "", NOW, 13, NULL, "2027-02-28T00:00:00Z"},
    {"skip all but one", PLAN (MONTH, 31, 3), "", NOW, 2, NULL, "2026-03-31T00:00:00Z end"},
    {"skip all", PLAN (MONTH, 31, 3), "", NOW, 3, NULL, "end"},
    {"skip to the end of time", PLAN (MONTH, 31, -1), "", NOW, 95687, NULL, "9999-12-31T00:00:00Z end"},
    {"skip past the end of time", PLAN (MONTH, 31, -1), "", NOW, 95688, NULL, "end"},
    {"skip a million", PLAN (MONTH, 31, -1), "", NOW, 1000000, NULL, "end"},
    {"skip without bounds", PLAN (MONTH, 31, -1), "", NOW, INT64_MAX, NULL, "end"},
    {"the end of time, west", PLAN (MONTH, 0, -1), "", "9999-12-30T00:00:00Z", 0, "America/New_York", "9999-12-31T05:00:00Z end"},
    {"past the end of time, west", PLAN (MONTH, 0, -1), "2026-01-01T23:00:00-05:00", "9999-12-30T00:00:00Z", 0, "America/New_York", "end"},
    {"local midnight, east", PLAN (MONTH, 1, 2), "", NOW, 0, "Asia/Shanghai", "2026-01-31T16:00:00Z 2026-02-28T16:00:00Z end"},
    {"the month is local, east", PLAN (MONTH, 0, 1), "2026-01-01T01:00:00+08:00", "2026-01-30T17:00:00Z", 0, "Asia/Shanghai", "2026-01-30T17:00:00Z end"},
    {"the month is local, west", PLAN (MONTH, 31, 1), "2026-01-01T23:00:00-05:00", "2026-02-01T03:00:00Z", 0, "America/New_York", "2026-02-01T04:00:00Z end"},
    {"the base is read in the zone at its own date", PLAN (MONTH, 15, 1), "2026-07-01T08:00:00+02:00", NOW, 0, "Europe/Berlin", "2026-01-15T07:00:00Z end"},
    {"a gap", PLAN (MONTH, 29, -1), "2026-01-01T02:30:00+01:00", "2026-03-01T00:00:00Z", 0, "Europe/Berlin", "2026-03-29T01:00:00Z 2026-04-29T00:30:00Z"},
    {"an overlap", PLAN (MONTH, 25, -1), "2026-01-01T02:30:00+01:00", "2026-10-01T00:00:00Z", 0, "Europe/Berlin", "2026-10-25T00:30:00Z 2026-11-25T01:30:00Z"},
    {"submitted between the two times of an overlap", PLAN (MONTH, 25, -1), "2026-01-01T02:30:00+01:00", "2026-10-25T01:30:00Z", 0, "Europe/Berlin", "2026-11-25T01:30:00Z"},
    {"the missing 30th of Apia", PLAN (MONTH, 30, -1), "", "2011-12-01T00:00:00Z", 0, "Pacific/Apia", "2011-12-30T10:00:00Z 2012-01-29T10:00:00Z"},
    {"submitted during what would be the missing 30th", PLAN (MONTH, 30, -1), "2011-11-30T23:00:00-10:00", "2011-12-30T10:00:00Z", 0, "Pacific/Apia", "2011-12-30T10:00:00Z 2012-01-30T09:00:00Z"},
    {"the 31st after it", PLAN (MONTH, 0, -1), "", "2011-12-30T00:00:00Z", 0, "Pacific/Apia", "2011-12-30T10:00:00Z 2012-01-30T10:00:00Z"},
    {"the missing 31st of Kiritimati", PLAN (MONTH, 0, -1), "1994-12-01T06:00:00-10:00", "1994-12-20T00:00:00Z", 0, "Pacific/Kiritimati", "1994-12-31T10:00:00Z 1995-01-30T16:00:00Z"},
    {"moved into the next month, submitted at its run", PLAN (MONTH, 0, -1), "1994-12-01T06:00:00-10:00", "1994-12-31T10:00:00Z", 0, "Pacific/Kiritimati", "1994-12-31T10:00:00Z 1995-01-30T16:00:00Z"},
    {"a change of zone for good", PLAN (MONTH, 5, -1), "2018-01-01T09:00:00+08:30", "2018-05-01T00:00:00Z", 0, "Asia/Pyongyang", "2018-05-05T00:00:00Z 2018-06-05T00:00:00Z"},
    {"a change of zone for good, a gap", PLAN (MONTH, 4, -1), "2018-01-01T23:45:00+08:30", "2018-05-01T00:00:00Z", 0, "Asia/Pyongyang", "2018-05-04T15:00:00Z 2018-06-04T14:45:00Z"},
};
// clang-format on

#define CHECK_PREVIEWS(table)                                                                      \
    for (size_t i = 0; i < ROWS (table); i++)                                                      \
    check_preview (&(table)[i])

static void test_once (void **state)
{
    (void)state;
    CHECK_PREVIEWS (once_rows);
}

static void test_interval (void **state)
{
    (void)state;
    CHECK_PREVIEWS (interval_rows);
}

static void test_week (void **state)
{
    (void)state;
    CHECK_PREVIEWS (week_rows);
}

static void test_month (void **state)
{
    (void)state;
    CHECK_PREVIEWS (month_rows);
}

// The days of the twelve months that each month value names.
static const struct days_row {
    int year, value;
    int days[12];
} days_rows[] = {
    {2023, 31, {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}},
    {2024, 31, {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}},
    {2023, 30, {30, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30}},
    {2023, 29, {29, 28, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29}},
    {2024, 29, {29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29}},
    {2023, 28, {28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28}},
    {2023, 1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {2023, 0, {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}},
    {2024, 0, {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}},
    {2100, 0, {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}},
    {2023, -1, {30, 27, 30, 29, 30, 29, 30, 30, 29, 30, 29, 30}},
    {2024, -1, {30, 28, 30, 29, 30, 29, 30, 30, 29, 30, 29, 30}},
    {2023, -15, {16, 13, 16, 15, 16, 15, 16, 16, 15, 16, 15, 16}},
    {2023, -27, {4, 1, 4, 3, 4, 3, 4, 4, 3, 4, 3, 4}},
    {2024, -28, {3, 1, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3}},
    {2023, -29, {2, 1, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2}},
    {2023, -30, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {2023, -31, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
};

static void test_days_of_months (void **state)
{
    (void)state;
    struct zone *utc = zone_named ("UTC");
    for (size_t i = 0; i < ROWS (days_rows); i++) {
        const struct days_row *row = &days_rows[i];
        struct schedule plan = {.type = SCHEDULE_MONTH, .value = row->value, .repeat = 12};
        char text[RFC3339_SIZE], want[RFC3339_SIZE];
        snprintf (text, sizeof text, "%04d-01-01T00:00:00Z", row->year);
        struct occurrence at;
        bool more = schedule_first (&plan, utc, instant (text), 0, &at);
        for (int month = 1; month <= 12; month++) {
            snprintf (want, sizeof want, "%04d-%02d-%02dT00:00:00Z", row->year % 10000, month,
                      row->days[month - 1] % 100);
            if (!more || at.time != instant (want) || at.used != month - 1)
                fail_msg ("month value %d in %d: %s is missing", row->value, row->year, want);
            more = schedule_next (&plan, utc, &at, at.time, &at);
        }
        if (more)
            fail_msg ("month value %d in %d: more than 12 runs", row->value, row->year);
    }
    zone_destroy (&utc);
}

// The occurrence after one whose run ended at `now`, and the repeats used up by then.
static const struct next_row {
    const char *name;
    struct schedule plan;
    const char *base, *current;
    int64_t used;
    const char *now, *expected; // NULL: it was the last one
    int64_t expected_used;
} next_rows[] = {
    // clang-format off
    {"in time", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z", 1},
    {"ended before its time", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T00:00:09Z", "2026-01-01T00:00:20Z", 1},
    {"ended at the next one", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T00:00:20Z", "2026-01-01T00:00:20Z", 1},
    {"one missed", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T00:00:21Z", "2026-01-01T00:00:30Z", 2},
    {"many missed", PLAN (SECOND, 1, -1), NOW, "2026-01-01T00:00:01Z", 0, "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 31535999},
    {"missed to the last", PLAN (SECOND, 10, 3), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T00:00:30Z", "2026-01-01T00:00:30Z", 2},
    {"missed past the last", PLAN (SECOND, 10, 3), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T00:00:31Z", NULL, 0},
    {"the last one ran", PLAN (SECOND, 10, 3), NOW, "2026-01-01T00:00:30Z", 2, "2026-01-01T00:00:30Z", NULL, 0},
    {"one to go", PLAN (SECOND, 10, 3), NOW, "2026-01-01T00:00:20Z", 1, "2026-01-01T00:00:20Z", "2026-01-01T00:00:30Z", 2},
    {"kept: late ones run one by one", PLAN_KEEP (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, "2026-01-01T01:00:00Z", "2026-01-01T00:00:20Z", 1},
    {"kept: the last one ran", PLAN_KEEP (SECOND, 10, 3), NOW, "2026-01-01T00:00:30Z", 2, "2026-01-01T01:00:00Z", NULL, 0},
    {"from used, not from the time of the run", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:13Z", 0, "2026-01-01T00:00:14Z", "2026-01-01T00:00:20Z", 1},
    {"kept: from used, not from the time of the run", PLAN_KEEP (MINUTE, 1, -1), NOW, "2026-01-01T00:07:00Z", 4, "2026-01-01T00:07:00Z", "2026-01-01T00:06:00Z", 5},
    {"minutes", PLAN (MINUTE, 5, -1), NOW, "2026-01-01T00:05:00Z", 0, "2026-01-01T00:12:00Z", "2026-01-01T00:15:00Z", 2},
    {"hours", PLAN (HOUR, 5, -1), NOW, "2026-01-01T05:00:00Z", 0, "2026-01-01T12:00:00Z", "2026-01-01T15:00:00Z", 2},
    {"days", PLAN (DAY, 2, -1), NOW, "2026-01-03T00:00:00Z", 0, "2026-01-05T00:00:01Z", "2026-01-07T00:00:00Z", 2},
    {"the end of time", PLAN (DAY, 1, -1), "9999-12-29T12:00:00Z", "9999-12-31T12:00:00Z", 1, "9999-12-31T12:00:00Z", NULL, 0},
    {"now at the end of time", PLAN (SECOND, 7, -1), NOW, "2026-01-01T00:00:07Z", 0, "9999-12-31T23:59:59Z", NULL, 0},
    {"value 0: the next second", PLAN (SECOND, 0, -1), NOW, NOW, 0, NOW, "2026-01-01T00:00:01Z", 1},
    {"value 0: at once when late", PLAN (SECOND, 0, -1), NOW, NOW, 0, "2026-01-01T00:00:40Z", "2026-01-01T00:00:40Z", 1},
    {"value 0: late ones use up nothing", PLAN (SECOND, 0, 3), NOW, "2026-01-01T00:00:40Z", 1, "2026-01-01T00:09:00Z", "2026-01-01T00:09:00Z", 2},
    {"value 0: the last one ran", PLAN (SECOND, 0, 3), NOW, "2026-01-01T00:00:40Z", 2, "2026-01-01T00:09:00Z", NULL, 0},
    {"value 0, kept", PLAN_KEEP (HOUR, 0, 3), NOW, NOW, 0, "2026-01-01T00:00:40Z", "2026-01-01T00:00:40Z", 1},
    {"value 0: the end of time", PLAN (SECOND, 0, -1), NOW, "9999-12-31T23:59:59Z", 5, NOW, NULL, 0},
    {"week: in time", PLAN (WEEK, 4, -1), "", NOW, 0, NOW, "2026-01-08T00:00:00Z", 1},
    {"week: ended before its time", PLAN (WEEK, 4, -1), "", NOW, 0, "2025-12-31T23:59:59Z", "2026-01-08T00:00:00Z", 1},
    {"week: ended at the next one", PLAN (WEEK, 4, -1), "", NOW, 0, "2026-01-08T00:00:00Z", "2026-01-08T00:00:00Z", 1},
    {"week: missed ones use up nothing", PLAN (WEEK, 4, 2), "", NOW, 0, "2026-01-15T00:00:01Z", "2026-01-22T00:00:00Z", 1},
    {"week: the last one ran", PLAN (WEEK, 4, 2), "", "2026-01-22T00:00:00Z", 1, "2026-01-22T00:00:00Z", NULL, 0},
    {"week: missed for years", PLAN (WEEK, 4, 2), "", NOW, 0, "2126-01-01T00:00:00Z", "2126-01-03T00:00:00Z", 1},
    {"week: keep has no effect", PLAN_KEEP (WEEK, 4, -1), "", NOW, 0, "2026-01-15T00:00:01Z", "2026-01-22T00:00:00Z", 1},
    {"month: in time", PLAN (MONTH, 31, -1), "", "2026-01-31T00:00:00Z", 0, "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z", 1},
    {"month: missed ones use up nothing", PLAN (MONTH, 31, 3), "", "2026-01-31T00:00:00Z", 1, "2026-03-01T00:00:00Z", "2026-03-31T00:00:00Z", 2},
    {"month: the last one ran", PLAN (MONTH, 31, 3), "", "2026-03-31T00:00:00Z", 2, "2026-03-31T00:00:00Z", NULL, 0},
    {"month: over the year", PLAN (MONTH, -1, -1), "", "2025-12-30T00:00:00Z", 7, "2025-12-30T00:00:00Z", "2026-01-30T00:00:00Z", 8},
    {"month: keep has no effect", PLAN_KEEP (MONTH, 1, -1), "", NOW, 0, "2026-02-01T00:00:01Z", "2026-03-01T00:00:00Z", 1},
    {"month: the end of time", PLAN (MONTH, 31, -1), "", "9999-12-31T00:00:00Z", 0, "9999-12-31T00:00:00Z", NULL, 0},
    {"none ran", PLAN (NONE, 0, -1), "", NOW, 0, NOW, NULL, 0},
    {"time ran", PLAN (TIME, 0, 5), NOW, NOW, 0, NOW, NULL, 0},
    // clang-format on
};

static void test_next (void **state)
{
    (void)state;
    struct zone *utc = zone_named ("UTC");
    for (size_t i = 0; i < ROWS (next_rows); i++) {
        const struct next_row *row = &next_rows[i];
        struct schedule plan = row->plan;
        plan.base_time = instant (row->base);
        struct occurrence current = {instant (row->current), row->used};
        struct occurrence got = {-1, -1};
        bool more = schedule_next (&plan, utc, &current, instant (row->now), &got);
        struct occurrence want = {-1, -1};
        if (row->expected)
            want = (struct occurrence){instant (row->expected), row->expected_used};
        if (more != (row->expected != NULL) || got.time != want.time || got.used != want.used)
            fail_msg ("%s: want %" PRId64 " used %" PRId64 ", got %" PRId64 " used %" PRId64,
                      row->name, want.time, want.used, got.time, got.used);
    }
    zone_destroy (&utc);
}

// -- skips

// The occurrence `count` after the current one.
static const struct skip_row {
    const char *name;
    struct schedule plan;
    const char *base, *current;
    int64_t used, count;
    const char *expected; // NULL: there are fewer
} skip_rows[] = {
    // clang-format off
    {"one is the next", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, 1, "2026-01-01T00:00:20Z"},
    {"three", PLAN (SECOND, 10, -1), NOW, "2026-01-01T00:00:10Z", 0, 3, "2026-01-01T00:00:40Z"},
    {"to the last", PLAN (SECOND, 10, 5), NOW, "2026-01-01T00:00:20Z", 1, 3, "2026-01-01T00:00:50Z"},
    {"past the last", PLAN (SECOND, 10, 5), NOW, "2026-01-01T00:00:20Z", 1, 4, NULL},
    {"the last", PLAN (SECOND, 10, INT32_MAX), NOW, "2026-01-01T00:00:10Z", INT32_MAX - 1, 1, NULL},
    {"days to the end of time", PLAN (DAY, 1, -1), NOW, "2026-01-02T00:00:00Z", 0, 2912441, "9999-12-31T00:00:00Z"},
    {"without bounds", PLAN (SECOND, 1, -1), NOW, "2026-01-01T00:00:01Z", 0, INT64_MAX, NULL},
    {"without bounds, many used", PLAN (DAY, 32766, -1), NOW, "2026-01-01T00:00:01Z", INT64_MAX / 2, INT64_MAX, NULL},
    {"value 0: at the same time", PLAN (SECOND, 0, 5), NOW, "2026-01-01T00:00:40Z", 1, 3, "2026-01-01T00:00:40Z"},
    {"value 0: past the last", PLAN (SECOND, 0, 5), NOW, "2026-01-01T00:00:40Z", 1, 4, NULL},
    {"value 0: for ever", PLAN (HOUR, 0, -1), NOW, "2026-01-01T00:00:40Z", 1, INT32_MAX, "2026-01-01T00:00:40Z"},
    {"value 0: without bounds", PLAN (HOUR, 0, -1), NOW, "2026-01-01T00:00:40Z", 1, INT64_MAX, NULL},
    {"weeks", PLAN (WEEK, 4, -1), "", NOW, 0, 2, "2026-01-15T00:00:00Z"},
    {"weeks past the last", PLAN (WEEK, 4, 5), "", NOW, 2, 3, NULL},
    {"weeks past the end of time", PLAN (WEEK, 4, -1), "", NOW, 0, 416064, NULL},
    {"weeks to the end of time", PLAN (WEEK, 4, -1), "", NOW, 0, 416063, "9999-12-30T00:00:00Z"},
    {"months", PLAN (MONTH, 31, -1), "", "2026-01-31T00:00:00Z", 0, 1, "2026-02-28T00:00:00Z"},
    {"months past the last", PLAN (MONTH, 31, 3), "", "2026-01-31T00:00:00Z", 1, 2, NULL},
    {"months to the end of time", PLAN (MONTH, 31, -1), "", "2026-01-31T00:00:00Z", 0, 95687, "9999-12-31T00:00:00Z"},
    {"months past the end of time", PLAN (MONTH, 31, -1), "", "2026-01-31T00:00:00Z", 0, 95688, NULL},
    {"months without bounds", PLAN (MONTH, 31, -1), "", "2026-01-31T00:00:00Z", INT64_MAX / 2, INT64_MAX, NULL},
    {"none has no other", PLAN (NONE, 0, -1), "", NOW, 0, 1, NULL},
    {"time has no other", PLAN (TIME, 0, 5), NOW, NOW, 0, 1, NULL},
    // clang-format on
};

static void test_skip (void **state)
{
    (void)state;
    struct zone *utc = zone_named ("UTC");
    for (size_t i = 0; i < ROWS (skip_rows); i++) {
        const struct skip_row *row = &skip_rows[i];
        struct schedule plan = row->plan;
        plan.base_time = instant (row->base);
        struct occurrence current = {instant (row->current), row->used};
        struct occurrence got = {-1, -1}, want = {-1, -1};
        bool more = schedule_skip (&plan, utc, &current, row->count, &got);
        if (row->expected)
            want = (struct occurrence){instant (row->expected), row->used + row->count};
        if (more != (row->expected != NULL) || got.time != want.time || got.used != want.used)
            fail_msg ("%s: want %" PRId64 " used %" PRId64 ", got %" PRId64 " used %" PRId64,
                      row->name, want.time, want.used, got.time, got.used);
    }
    zone_destroy (&utc);
}

// Every count of a plan leads where as many occurrences lead of which none is missed.
static void check_skips (const struct schedule *plan, const struct zone *zone,
                         const struct occurrence *first, const char *name)
{
    struct occurrence walked = *first;
    bool more = true;
    for (int64_t count = 1; more && count <= 60; count++) {
        struct occurrence skipped = {-1, -1};
        more = schedule_next (plan, zone, &walked, walked.time, &walked);
        struct occurrence want = more ? walked : skipped;
        bool found = schedule_skip (plan, zone, first, count, &skipped);
        if (found != more || skipped.time != want.time || skipped.used != want.used)
            fail_msg ("%s: skip %" PRId64 " from %" PRId64 ": want %" PRId64 ", got %" PRId64, name,
                      count, first->time, want.time, skipped.time);
    }
}

// A value of 0 is left to the rows: its times depend on when each run ends.
static struct schedule plan_at_random (uint64_t *random)
{
    static const char *const bases[] = {"", "2010-06-01T01:30:00Z", "2026-01-01T00:30:00Z"};
    struct schedule plan = {
        .type = SCHEDULE_SECOND + (enum schedule_type) (next_random (random) % 6),
        .repeat = next_random (random) % 2 ? SCHEDULE_FOREVER : 1 + (int32_t)(*random % 80),
        .keep = next_random (random) % 5 == 0,
        .base_time = instant (bases[next_random (random) % ROWS (bases)])};
    struct value_range range = {1, 40};
    if (plan.type >= SCHEDULE_WEEK)
        range = schedule_value_range (plan.type);
    uint64_t values = (uint64_t)(range.max - range.min + 1);
    plan.value = range.min + (int32_t)(next_random (random) % values);
    return plan;
}

static void test_skip_equals_next_without_misses (void **state)
{
    (void)state;
    static const char *const zones[] = {"UTC", "Europe/Berlin", "Pacific/Apia", "America/Havana"};
    static const char *const nows[] = {"2011-11-20T00:00:00Z", "2026-03-22T00:00:00Z",
                                       "2026-10-25T00:30:00Z", "9999-11-20T00:00:00Z"};
    uint64_t random = 88172645463325252U;
    for (size_t i = 0; i < ROWS (zones); i++) {
        struct zone *zone = zone_named (zones[i]);
        for (size_t round = 0; round < 1000; round++) {
            char name[96];
            struct occurrence first;
            struct schedule plan = plan_at_random (&random);
            plan.received = instant (nows[round % ROWS (nows)]);
            snprintf (name, sizeof name, "%s %d, repeat %d, in %s", schedule_type_name (plan.type),
                      plan.value, plan.repeat, zones[i]);
            if (schedule_first (&plan, zone, plan.received, 0, &first))
                check_skips (&plan, zone, &first, name);
        }
        zone_destroy (&zone);
    }
}

// The repeats used up before the first occurrence; -1: it never runs.
static const struct used_row {
    const char *name;
    struct schedule plan;
    const char *base;
    int64_t skip, used;
} used_rows[] = {
    {"none", PLAN (NONE, 0, 1), "", 0, 0},
    {"time", PLAN (TIME, 0, 1), "2026-02-01T00:00:00Z", 0, 0},
    {"interval", PLAN (SECOND, 10, 9), "", 0, 0},
    {"interval, 5 missed", PLAN (SECOND, 10, 9), "2025-12-31T23:59:05Z", 0, 5},
    {"interval, 5 missed and 2 skipped", PLAN (SECOND, 10, 9), "2025-12-31T23:59:05Z", 2, 7},
    {"interval, 5 missed and 4 skipped", PLAN (SECOND, 10, 9), "2025-12-31T23:59:05Z", 4, -1},
    {"interval, 5 missed but kept", PLAN_KEEP (SECOND, 10, 9), "2025-12-31T23:59:05Z", 0, 0},
    {"value 0, 5 missed", PLAN (HOUR, 0, 9), "2025-12-31T23:59:55Z", 0, 5},
    {"value 0, 5 missed and 1 skipped", PLAN (HOUR, 0, 9), "2025-12-31T23:59:55Z", 1, 6},
    {"week", PLAN (WEEK, 0, 3), "2020-01-01T00:00:00Z", 0, 0},
    {"week, 2 skipped", PLAN (WEEK, 0, 3), "2020-01-01T00:00:00Z", 2, 2},
    {"month", PLAN (MONTH, 0, 3), "2020-01-01T00:00:00Z", 0, 0},
    {"month, 2 skipped", PLAN (MONTH, 0, 3), "2020-01-01T00:00:00Z", 2, 2},
    {"month, 3 skipped", PLAN (MONTH, 0, 3), "2020-01-01T00:00:00Z", 3, -1},
};

static void test_used (void **state)
{
    (void)state;
    struct zone *utc = zone_named ("UTC");
    for (size_t i = 0; i < ROWS (used_rows); i++) {
        const struct used_row *row = &used_rows[i];
        struct schedule plan = row->plan;
        plan.base_time = instant (row->base);
        plan.received = instant (NOW);
        struct occurrence first = {-1, -1};
        schedule_first (&plan, utc, plan.received, row->skip, &first);
        if (first.used != row->used)
            fail_msg ("%s: want %" PRId64 " used, got %" PRId64, row->name, row->used, first.used);
    }
    zone_destroy (&utc);
}

// The base of a plan without a time is its receipt, also when it is computed again later.
static void test_received_is_the_base (void **state)
{
    (void)state;
    struct schedule plan = PLAN (MINUTE, 10, SCHEDULE_FOREVER);
    plan.received = instant ("2026-01-01T00:00:03Z");
    struct zone *utc = zone_named ("UTC");
    struct occurrence at;
    assert_true (schedule_first (&plan, utc, instant ("2026-01-01T01:00:00Z"), 0, &at));
    assert_int_equal (at.time, instant ("2026-01-01T01:00:03Z"));
    assert_int_equal (at.used, 5);
    zone_destroy (&utc);
}

// A stored plan is read by them.
static void test_ranges_lie_within_the_bounds (void **state)
{
    (void)state;
    for (int type = 0; type < SCHEDULE_TYPES; type++) {
        struct value_range range = schedule_value_range ((enum schedule_type)type);
        assert_true (SCHEDULE_VALUE_MIN <= range.min && range.min <= range.max);
        assert_true (range.max <= SCHEDULE_VALUE_MAX);
    }
}

static void test_names (void **state)
{
    (void)state;
    static const char *const names[] = {"none", "time", "second", "minute", "hour",
                                        "day",  "week", "month",  "cron"};
    char joined[128] = "";
    assert_int_equal (ROWS (names), SCHEDULE_TYPES);
    for (int i = 0; i < SCHEDULE_TYPES; i++) {
        size_t size = strlen (joined);
        snprintf (joined + size, sizeof joined - size, "%s%s", i ? " " : "", names[i]);
        assert_string_equal (schedule_type_name ((enum schedule_type)i), names[i]);
        assert_int_equal (schedule_type_parse (names[i]), i);
    }
    assert_string_equal (SCHEDULE_TYPE_NAMES (" "), joined);
    static const char *const wrong[] = {"",     "Month", "months", "mont",
                                        " day", "day ",  "7",      "never"};
    for (size_t i = 0; i < ROWS (wrong); i++)
        if (schedule_type_parse (wrong[i]) != -1)
            fail_msg ("'%s' is taken for a type", wrong[i]);
    assert_null (schedule_type_name (SCHEDULE_TYPES));
    assert_null (schedule_type_name ((enum schedule_type)99));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_once),
        cmocka_unit_test (test_interval),
        cmocka_unit_test (test_week),
        cmocka_unit_test (test_month),
        cmocka_unit_test (test_days_of_months),
        cmocka_unit_test (test_next),
        cmocka_unit_test (test_skip),
        cmocka_unit_test (test_skip_equals_next_without_misses),
        cmocka_unit_test (test_used),
        cmocka_unit_test (test_received_is_the_base),
        cmocka_unit_test (test_ranges_lie_within_the_bounds),
        cmocka_unit_test (test_names),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
