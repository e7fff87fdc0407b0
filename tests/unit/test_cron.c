// Rows for cron expressions: what they mean, which are rejected and where, and clock changes.
#include <inttypes.h>

#include "cron.h"
#include "instants.h"
#include "schedule.h"
#include "wall.h"

enum { SHIFT = ZONE_GAP_SHIFT, SKIP = ZONE_GAP_SKIP };
enum { FIRST = ZONE_OVERLAP_FIRST, LAST = ZONE_OVERLAP_LAST, BOTH = ZONE_OVERLAP_BOTH };

// Expressions with "|" between them.
static struct cron *cron_of (const char *text, struct reason *reason)
{
    struct span spans[CRON_EXPRESSIONS_MAX + 2];
    size_t count = 0;
    for (const char *at = text; at; count++) {
        const char *bar = strchr (at, '|');
        spans[count] = span_of (at, bar ? (size_t)(bar - at) : strlen (at));
        at = bar ? bar + 1 : NULL;
    }
    return cron_new (spans, count, reason);
}

static struct cron *cron_valid (const char *text)
{
    struct reason reason = {""};
    struct cron *cron = cron_of (text, &reason);
    if (!cron)
        fail_msg ("%s: %s", text, reason.text);
    return cron;
}

// The instants from `from` on, as many as are listed; "end" after the last one.
static const struct cron_row {
    const char *cron, *from, *expected;
} meaning_rows[] = {
    // clang-format off
    {"30 8 * * *", "2026-01-01", "2026-01-01T08:30 2026-01-02T08:30"},
    {"30 8 * * *", "2026-01-01T08:30:00Z", "2026-01-01T08:30"},
    {"30 8 * * *", "2026-01-01T08:30:01Z", "2026-01-02T08:30"},
    {"* * * * *", "2026-01-01T23:58:30Z", "2026-01-01T23:59 2026-01-02T00:00"},
    {"* * * * * *", "2026-12-31T23:59:59Z", "2026-12-31T23:59:59Z 2027-01-01T00:00"},
    {"*/20 * * * * *", "2026-01-01T00:00:01Z", "2026-01-01T00:00:20Z 2026-01-01T00:00:40Z 2026-01-01T00:01"},
    {"15 30 8 * * *", "2026-01-01", "2026-01-01T08:30:15Z 2026-01-02T08:30:15Z"},
    {"*/15 * * * *", "2026-01-01T00:10", "2026-01-01T00:15 2026-01-01T00:30 2026-01-01T00:45 2026-01-01T01:00"},
    {"*/25 * * * *", "2026-01-01", "2026-01-01T00:00 2026-01-01T00:25 2026-01-01T00:50 2026-01-01T01:00"},
    {"5/10 0 * * *", "2026-01-01", "2026-01-01T00:05 2026-01-01T00:15 2026-01-01T00:25 2026-01-01T00:35 2026-01-01T00:45 2026-01-01T00:55 2026-01-02T00:05"},
    {"0000000005 * * * *", "2026-01-01", "2026-01-01T00:05 2026-01-01T01:05"},
    {"*/0000000025 00000000000 * * *", "2026-01-01", "2026-01-01T00:00 2026-01-01T00:25 2026-01-01T00:50 2026-01-02T00:00"},
    {"5-30/10 0 * * *", "2026-01-01", "2026-01-01T00:05 2026-01-01T00:15 2026-01-01T00:25 2026-01-02T00:05"},
    {"0 9,17,9 * * *", "2026-01-01", "2026-01-01T09:00 2026-01-01T17:00 2026-01-02T09:00"},
    {"0 22-3 * * *", "2026-01-01T03:00", "2026-01-01T03:00 2026-01-01T22:00 2026-01-01T23:00 2026-01-02T00:00"},
    {"0 22-3/2 * * *", "2026-01-01", "2026-01-01T00:00 2026-01-01T02:00 2026-01-01T22:00 2026-01-02T00:00"},
    {"0 0 28-2 * *", "2026-02-02", "2026-02-02T00:00 2026-02-28T00:00 2026-03-01T00:00 2026-03-02T00:00 2026-03-28T00:00"},
    {"0 0 1 NOV-FEB *", "2026-01-02", "2026-02-01T00:00 2026-11-01T00:00 2026-12-01T00:00 2027-01-01T00:00"},
    {"0 0 1 jan,Jul *", "2026-01-02", "2026-07-01T00:00 2027-01-01T00:00"},
    {"0 0 1 */5 *", "2026-01-01", "2026-01-01T00:00 2026-06-01T00:00 2026-11-01T00:00 2027-01-01T00:00"},
    {"0 0 31 * *", "2026-01-01", "2026-01-31T00:00 2026-03-31T00:00 2026-05-31T00:00"},
    {"0 0 29 2 *", "2026-01-01", "2028-02-29T00:00 2032-02-29T00:00"},
    {"0 0 29 2 *", "2096-03-01", "2104-02-29T00:00"},
    {"0 0 29 2 +MON", "2026-01-01", "2044-02-29T00:00 2072-02-29T00:00 2112-02-29T00:00"},
    // 2026-01-01 is a Thursday.
    {"0 0 * * MON", "2026-01-01", "2026-01-05T00:00 2026-01-12T00:00"},
    {"0 0 * * 0", "2026-01-01", "2026-01-04T00:00 2026-01-11T00:00"},
    {"0 0 * * 7", "2026-01-01", "2026-01-04T00:00 2026-01-11T00:00"},
    {"0 0 * * 5-7", "2026-01-01", "2026-01-02T00:00 2026-01-03T00:00 2026-01-04T00:00 2026-01-09T00:00"},
    {"0 0 * * 7-1", "2026-01-01", "2026-01-04T00:00 2026-01-05T00:00 2026-01-11T00:00"},
    {"0 0 * * 7-7", "2026-01-01", "2026-01-04T00:00 2026-01-11T00:00"},
    {"0 0 * * 0-7", "2026-01-01", "2026-01-01T00:00 2026-01-02T00:00"},
    {"0 0 * * FRI-MON", "2026-01-01", "2026-01-02T00:00 2026-01-03T00:00 2026-01-04T00:00 2026-01-05T00:00 2026-01-09T00:00"},
    {"0 0 * * FRI-MON/3", "2026-01-01", "2026-01-02T00:00 2026-01-05T00:00 2026-01-09T00:00"},
    {"0 0 * * 7/3", "2026-01-01", "2026-01-03T00:00 2026-01-04T00:00 2026-01-07T00:00"},
    {"0 0 * * tue,TUE,Sat", "2026-01-01", "2026-01-03T00:00 2026-01-06T00:00 2026-01-10T00:00"},
    {"0 0 ? * ?", "2026-01-01", "2026-01-01T00:00 2026-01-02T00:00"},
    {"0 0 ? * TUE", "2026-01-01", "2026-01-06T00:00 2026-01-13T00:00"},
    // Either the day or the weekday, unless one of them begins with a star, or there is a plus.
    {"0 0 13 * FRI", "2026-02-01", "2026-02-06T00:00 2026-02-13T00:00 2026-02-20T00:00 2026-02-27T00:00 2026-03-06T00:00"},
    {"0 0 13 * +FRI", "2026-01-01", "2026-02-13T00:00 2026-03-13T00:00 2026-11-13T00:00"},
    {"0 9 1-7 * +MON", "2026-01-01", "2026-01-05T09:00 2026-02-02T09:00 2026-03-02T09:00"},
    {"0 0 */2 * MON", "2026-01-01", "2026-01-05T00:00 2026-01-19T00:00 2026-02-09T00:00"},
    {"0 0 1,*/2 * MON", "2026-01-01", "2026-01-01T00:00 2026-01-03T00:00 2026-01-05T00:00 2026-01-07T00:00 2026-01-09T00:00 2026-01-11T00:00 2026-01-12T00:00"},
    {"0 0 1-31 * MON", "2026-01-01", "2026-01-01T00:00 2026-01-02T00:00"},
    {"0 0 1 * */2", "2026-01-01", "2026-01-01T00:00 2026-02-01T00:00 2026-03-01T00:00 2026-08-01T00:00"},
    {"0 0 1 * +*", "2026-01-01", "2026-01-01T00:00 2026-02-01T00:00"},
    // The ends of months.
    {"0 0 L * *", "2028-01-01", "2028-01-31T00:00 2028-02-29T00:00 2028-03-31T00:00"},
    {"0 0 L-3 * *", "2026-01-01", "2026-01-28T00:00 2026-02-25T00:00"},
    {"0 0 L-0 2 *", "2026-01-01", "2026-02-28T00:00"},
    {"0 0 L-30 * *", "2026-01-02", "2026-03-01T00:00 2026-05-01T00:00"},
    {"0 0 15,l * *", "2026-01-01", "2026-01-15T00:00 2026-01-31T00:00"},
    {"0 0 L,1 * *", "2026-01-01", "2026-01-01T00:00 2026-01-31T00:00 2026-02-01T00:00"},
    {"0 0 * * 5L", "2026-01-01", "2026-01-30T00:00 2026-02-27T00:00"},
    {"0 0 * * fril", "2026-01-01", "2026-01-30T00:00 2026-02-27T00:00"},
    {"0 0 * * 7L", "2026-01-01", "2026-01-25T00:00 2026-02-22T00:00"},
    {"0 0 * * SUNL,MON#1", "2026-01-01", "2026-01-05T00:00 2026-01-25T00:00 2026-02-02T00:00"},
    {"0 0 * * MON#2", "2026-01-01", "2026-01-12T00:00 2026-02-09T00:00"},
    {"0 0 * * 0#1", "2026-01-01", "2026-01-04T00:00 2026-02-01T00:00"},
    {"0 0 * * THU#5", "2026-01-01", "2026-01-29T00:00 2026-04-30T00:00"},
    // The nearest day from Monday to Friday. 15 February and 15 August 2026 are a Sunday and a Saturday.
    {"0 0 15W * *", "2026-01-01", "2026-01-15T00:00 2026-02-16T00:00 2026-03-16T00:00"},
    {"0 0 15W 8 *", "2026-01-01", "2026-08-14T00:00"},
    {"0 0 1W 2,8 *", "2026-01-01", "2026-02-02T00:00 2026-08-03T00:00"},
    {"0 0 31W * *", "2026-01-01", "2026-01-30T00:00 2026-03-31T00:00 2026-05-29T00:00"},
    {"0 0 lw * *", "2026-01-01", "2026-01-30T00:00 2026-02-27T00:00 2026-03-31T00:00"},
    // Words, blanks, several.
    {"@yearly", "2026-01-02", "2027-01-01T00:00"},
    {"@annually", "2026-01-02", "2027-01-01T00:00"},
    {"@monthly", "2026-01-02", "2026-02-01T00:00"},
    {"@weekly", "2026-01-01", "2026-01-04T00:00"},
    {"@daily", "2026-01-01T00:00:01Z", "2026-01-02T00:00"},
    {" @Midnight ", "2026-01-01T00:00:01Z", "2026-01-02T00:00"},
    {"@hourly", "2026-01-01T00:00:01Z", "2026-01-01T01:00"},
    {"  0\t0  1 *   * ", "2026-01-02", "2026-02-01T00:00"},
    {"0 8 * * *|0 12 * * *|0 8,9 * * *", "2026-01-01", "2026-01-01T08:00 2026-01-01T09:00 2026-01-01T12:00 2026-01-02T08:00"},
    // The end of time.
    {"0 0 29 2 *", "9996-03-01", "end"},
    {"59 23 31 12 *", "9998-01-01", "9998-12-31T23:59 9999-12-31T23:59 end"},
    {"0 0 1 1 *", "9999-01-01T00:00:01Z", "end"},
    // clang-format on
};

static void check_instants (const char *name, const struct cron *cron, const struct zone *zone,
                            int gap, int overlap, const char *from, const char *expected)
{
    char got[INSTANTS_SIZE] = "", want[INSTANTS_SIZE] = "";
    int64_t at = instant (from) - 1;
    for (size_t left = count_words (expected); left > 0; left--) {
        if (!cron_next (cron, zone, (enum zone_gap)gap, (enum zone_overlap)overlap, at + 1, &at)) {
            append_word (got, "end");
            break;
        }
        append_instant (got, at);
    }
    // In rows a "Z" marks times with seconds.
    for (const char *text = expected; *text; text++)
        if (*text != 'Z')
            snprintf (want + strlen (want), 2, "%c", *text);
    if (strcmp (got, want) != 0)
        fail_msg ("%s from %s: want \"%s\", got \"%s\"", name, from, want, got);
}

static void expressions_mean (void **state)
{
    (void)state;
    struct zone *utc = zone_named (NULL);
    for (size_t i = 0; i < ROWS (meaning_rows); i++) {
        const struct cron_row *row = &meaning_rows[i];
        struct cron *cron = cron_valid (row->cron);
        check_instants (row->cron, cron, utc, SHIFT, FIRST, row->from, row->expected);
        cron_destroy (&cron);
    }
    zone_destroy (&utc);
}

// Berlin: 2026-03-29 has no 02:00..03:00, 2026-10-25 has it twice, at 00:00Z and 01:00Z. Lord Howe
// moves by half an hour. Apia had no 2011-12-30.
static const struct clock_row {
    const char *cron, *zone;
    int gap, overlap;
    const char *from, *expected;
} clock_rows[] = {
    // clang-format off
    {"30 2 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-03-28", "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30"},
    {"30 2 * * *", "Europe/Berlin", SKIP, FIRST, "2026-03-28", "2026-03-28T01:30 2026-03-30T00:30"},
    {"30 2 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-03-29T01:00", "2026-03-29T01:00 2026-03-30T00:30"},
    {"30 2 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-03-29T01:00:01Z", "2026-03-30T00:30"},
    {"*/20 2 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-03-29", "2026-03-29T01:00 2026-03-30T00:00 2026-03-30T00:20"},
    {"*/20 2,3 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-03-29", "2026-03-29T01:00 2026-03-29T01:20 2026-03-29T01:40 2026-03-30T00:00"},
    {"*/20 2,3 * * *", "Europe/Berlin", SKIP, FIRST, "2026-03-29", "2026-03-29T01:00 2026-03-29T01:20"},
    {"10,50 2,3 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-03-29", "2026-03-29T01:00 2026-03-29T01:10 2026-03-29T01:50"},
    {"10,50 2,3 * * *", "Europe/Berlin", SKIP, FIRST, "2026-03-29", "2026-03-29T01:10 2026-03-29T01:50"},
    {"* * * * * *", "Europe/Berlin", SKIP, FIRST, "2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z 2026-03-29T01:00 2026-03-29T01:00:01Z"},
    {"30 2 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-10-25", "2026-10-25T00:30 2026-10-26T01:30"},
    {"30 2 * * *", "Europe/Berlin", SHIFT, LAST, "2026-10-25", "2026-10-25T01:30 2026-10-26T01:30"},
    {"30 2 * * *", "Europe/Berlin", SHIFT, BOTH, "2026-10-25", "2026-10-25T00:30 2026-10-25T01:30 2026-10-26T01:30"},
    {"30 2 * * *", "Europe/Berlin", SHIFT, FIRST, "2026-10-25T00:30:01Z", "2026-10-26T01:30"},
    {"*/30 * * * *", "Europe/Berlin", SHIFT, FIRST, "2026-10-25T00:00", "2026-10-25T00:00 2026-10-25T00:30 2026-10-25T02:00"},
    {"*/30 * * * *", "Europe/Berlin", SHIFT, LAST, "2026-10-24T23:30", "2026-10-24T23:30 2026-10-25T01:00 2026-10-25T01:30 2026-10-25T02:00"},
    {"*/30 * * * *", "Europe/Berlin", SHIFT, BOTH, "2026-10-25T00:00", "2026-10-25T00:00 2026-10-25T00:30 2026-10-25T01:00 2026-10-25T01:30 2026-10-25T02:00"},
    {"0 3 * * *", "Europe/Berlin", SHIFT, LAST, "2026-10-25", "2026-10-25T02:00"},
    {"0 2 * * *", "Europe/Berlin", SHIFT, LAST, "2026-10-25", "2026-10-25T01:00"},
    {"* * * * * *", "Europe/Berlin", SHIFT, FIRST, "2026-10-25T00:59:59Z", "2026-10-25T00:59:59Z 2026-10-25T02:00 2026-10-25T02:00:01Z"},
    {"* * * * * *", "Europe/Berlin", SHIFT, LAST, "2026-10-24T23:59:59Z", "2026-10-24T23:59:59Z 2026-10-25T01:00 2026-10-25T01:00:01Z"},
    {"30 2 * 3 SUNL", "Europe/Berlin", SKIP, FIRST, "2030-01-01", "end"},
    {"* * 2 * 3 SUNL", "Europe/Berlin", SKIP, FIRST, "2030-01-01", "end"},
    {"* * 2 * 3 SUNL", "Europe/Berlin", SHIFT, FIRST, "2030-01-01", "2030-03-31T01:00 2031-03-30T01:00"},
    {"15 2 * * *", "Australia/Lord_Howe", SHIFT, FIRST, "2026-10-03", "2026-10-03T15:30 2026-10-04T15:15"},
    {"45 1 * * *", "Australia/Lord_Howe", SHIFT, BOTH, "2026-04-04", "2026-04-04T14:45 2026-04-04T15:15 2026-04-05T15:15"},
    {"0 12 30 12 *", "Pacific/Apia", SHIFT, FIRST, "2010-12-31", "2011-12-30T10:00 2012-12-29T22:00"},
    {"0 12 30 12 *", "Pacific/Apia", SKIP, FIRST, "2010-12-31", "2012-12-29T22:00"},
    {"0 0 * * *", "Pacific/Apia", SHIFT, FIRST, "2011-12-29", "2011-12-29T10:00 2011-12-30T10:00 2011-12-31T10:00"},
    {"0 */6 * * *", "Pacific/Apia", SHIFT, FIRST, "2011-12-30", "2011-12-30T04:00 2011-12-30T10:00 2011-12-30T16:00"},
    // clang-format on
};

static void clocks_are_changed (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (clock_rows); i++) {
        const struct clock_row *row = &clock_rows[i];
        struct zone *zone = zone_named (row->zone);
        struct cron *cron = cron_valid (row->cron);
        char name[96];
        snprintf (name, sizeof name, "%s in %s, gap %d, overlap %d", row->cron, row->zone, row->gap,
                  row->overlap);
        check_instants (name, cron, zone, row->gap, row->overlap, row->from, row->expected);
        cron_destroy (&cron);
        zone_destroy (&zone);
    }
}

// The local times of expressions, and how often they were asked for.
struct counted {
    struct wall_rule rule;
    int asked;
};

static int64_t counted_find (const void *self, int64_t local, enum wall_step step)
{
    struct counted *counted = (struct counted *)(uintptr_t)self;
    counted->asked++;
    return counted->rule.find (counted->rule.self, local, step);
}

// How often a search asks, whether it finds anything or not. In Berlin 02:30 of the last Sunday in
// March is skipped each year.
static const struct cost_row {
    const char *cron;
    bool found, before;
    int most;
} cost_rows[] = {
    {"30 2 * 3 SUNL", false, false, 4 * WALL_STRETCHES_MAX},
    {"30 2 * 3 SUNL", false, true, 4 * WALL_STRETCHES_MAX},
    {"* * 2 * 3 SUNL|30 2 25 3 +SUN|15 2 31 3 +SUN", false, false, 4 * WALL_STRETCHES_MAX},
    {"30 2 * 3 SUNL|0 0 29 2 +MON", true, false, 200},
    {"30 2 29 2 +MON", true, false, 4},
    {"30 2 29 2 +MON", true, true, 4},
    {"* * * * * *", true, false, 1},
};

static void a_search_asks_only_so_often (void **state)
{
    (void)state;
    struct zone *zone = zone_named ("Europe/Berlin");
    for (size_t i = 0; i < ROWS (cost_rows); i++) {
        const struct cost_row *row = &cost_rows[i];
        struct cron *cron = cron_valid (row->cron);
        struct counted counted = {.rule = cron_wall_rule (cron)};
        struct wall wall = {
            zone, ZONE_GAP_SKIP, ZONE_OVERLAP_FIRST, {&counted, counted_find}, {0, 0, 0}};
        int64_t at, from = instant (row->before ? "2400-03-01" : "2072-03-01");
        bool found = row->before ? wall_previous (&wall, from, &at) : wall_next (&wall, from, &at);
        CHECK_INT (row->cron, found, row->found);
        if (counted.asked > row->most)
            fail_msg ("%s: asked %d times, want at most %d", row->cron, counted.asked, row->most);
        cron_destroy (&cron);
    }
    zone_destroy (&zone);
}

static const struct refused_row {
    const char *cron, *reason;
} refused_rows[] = {
    // clang-format off
    {"", "cron: column 1: want 5 or 6 fields, got 0"},
    {"* * * *", "cron: column 1: want 5 or 6 fields, got 4"},
    {"* * * * * * *", "cron: column 1: want 5 or 6 fields, got 7"},
    {"60 * * * *", "cron: column 1: want 0..59, got 60"},
    {"00000000060 * * * *", "cron: column 1: want 0..59, got 000000060"},
    {"100000000000000 * * * *", "cron: column 1: want 0..59, got 100000000"},
    {"0 25 * * *", "cron: column 3: want 0..23, got 25"},
    {"0 0 0 * *", "cron: column 5: want 1..31, got 0"},
    {"0 0 32 * *", "cron: column 5: want 1..31, got 32"},
    {"0 0 1 13 *", "cron: column 7: want 1..12 or JAN..DEC, got 13"},
    {"0 0 1 0 *", "cron: column 7: want 1..12 or JAN..DEC, got 0"},
    {"0 0 1 FOO *", "cron: column 7: want 1..12 or JAN..DEC, got 'FOO'"},
    {"0 0 1 MON *", "cron: column 7: want 1..12 or JAN..DEC, got 'MON'"},
    {"0 0 * * 8", "cron: column 9: want 0..7 or SUN..SAT, got 8"},
    {"0 0 * * MO", "cron: column 9: want 0..7 or SUN..SAT, got 'MO'"},
    {"0 0 * * MONDAY", "cron: column 12: want a comma or a blank, got 'DAY'"},
    {"0 0 * * L", "cron: column 9: want 0..7 or SUN..SAT, got 'L'"},
    {"0 0 * * 3W", "cron: column 10: want a comma or a blank, got 'W'"},
    {"0 0 * * MON#0", "cron: column 13: want 1..5, got 0"},
    {"0 0 * * MON#6", "cron: column 13: want 1..5, got 6"},
    {"0 0 * * MON#", "cron: column 13: want 1..5, got nothing"},
    {"0 0 * * MON#1-3", "cron: column 14: want a comma or a blank, got '-3'"},
    {"0 0 * * ++MON", "cron: column 10: want 0..7 or SUN..SAT, got '+MON'"},
    {"0 0 +1 * *", "cron: column 5: want 1..31, got '+1'"},
    {"0 0 L-31 * *", "cron: column 7: want 0..30 days, got 31"},
    {"0 0 L- * *", "cron: column 7: want 0..30 days, got nothing"},
    {"0 0 L-3W * *", "cron: column 8: want a comma or a blank, got 'W'"},
    {"0 0 1-5W * *", "cron: column 8: want a comma or a blank, got 'W'"},
    {"L 0 * * *", "cron: column 1: want 0..59, got 'L'"},
    {"? 0 * * *", "cron: column 1: want 0..59, got '?'"},
    {"*/0 * * * *", "cron: column 3: want a step of 1..60, got 0"},
    {"*/61 * * * *", "cron: column 3: want a step of 1..60, got 61"},
    {"0 */x * * *", "cron: column 5: want a step of 1..24, got 'x'"},
    {"0 0 */32 * *", "cron: column 7: want a step of 1..31, got 32"},
    {"0 0 1 */13 *", "cron: column 9: want a step of 1..12, got 13"},
    {"0 0 * * */8", "cron: column 11: want a step of 1..7, got 8"},
    {"5- * * * *", "cron: column 3: want 0..59, got nothing"},
    {"5-60 * * * *", "cron: column 3: want 0..59, got 60"},
    {"1,,2 * * * *", "cron: column 3: want 0..59, got nothing"},
    {"1, 2 * * * *", "cron: column 3: want 0..59, got nothing"},
    {"1,2, * * * *", "cron: column 5: want 0..59, got nothing"},
    {"** * * * *", "cron: column 2: want a comma or a blank, got '*'"},
    {"1-5-7 * * * *", "cron: column 4: want a comma or a blank, got '-7'"},
    {"1/5/7 * * * *", "cron: column 4: want a comma or a blank, got '/7'"},
    {"-1 * * * *", "cron: column 1: want 0..59, got '-1'"},
    {"1.5 * * * *", "cron: column 2: want a comma or a blank, got '.5'"},
    {"99999999999999999999 * * * *", "cron: column 1: want 0..59, got 999999999"},
    {"0\n* * * * *", "cron: column 2: want a comma or a blank, got '\\x0a*'"},
    {"\xff * * * *", "cron: column 1: want 0..59, got '\\xff'"},
    {"@reboot", "cron: column 1: want @yearly, @monthly, @weekly, @daily, @hourly or fields, got '@reboot'"},
    {"@every 5m", "cron: column 1: want @yearly, @monthly, @weekly, @daily, @hourly or fields, got '@every'"},
    {"@daily 5", "cron: column 8: want nothing more, got '5'"},
    {"0 0 30 2 *", "cron: can never match"},
    {"0 0 31 4,6,9,11 *", "cron: can never match"},
    {"0 0 31W 2 *", "cron: can never match"},
    {"0 0 L-29 2 *", "cron: can never match"},
    {"0 0 1-6 * +MON#2", "cron: can never match"},
    {"0 0 * * *|0 24 * * *", "cron 2: column 3: want 0..23, got 24"},
    {"0 0 30 2 *|0 0 * * *", "cron 1: can never match"},
    {"@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily|@daily", "cron: want 1..16 expressions, got 17"},
    // clang-format on
};

static void what_is_no_expression_is_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (refused_rows); i++) {
        struct reason reason = {""};
        struct cron *cron = cron_of (refused_rows[i].cron, &reason);
        if (cron)
            fail_msg ("'%s' is taken", refused_rows[i].cron);
        CHECK_TEXT (refused_rows[i].cron, reason.text, refused_rows[i].reason);
    }
}

static void bounds_are_kept (void **state)
{
    (void)state;
    char text[CRON_TEXT_MAX + 2];
    memset (text, ' ', sizeof text);
    memcpy (text, "0 0 * * *", 9);
    struct span spans[] = {span_of (text, CRON_TEXT_MAX), span_of (text, CRON_TEXT_MAX + 1)};
    struct reason reason = {""};
    struct cron *cron = cron_new (spans, 1, &reason);
    assert_non_null (cron);
    cron_destroy (&cron);
    assert_null (cron);
    cron_destroy (&cron);
    assert_null (cron_new (spans, 2, &reason));
    assert_string_equal (reason.text, "cron 2: at most 256 bytes, got 257");
    assert_null (cron_new (spans, 0, &reason));
    assert_string_equal (reason.text, "cron: want 1..16 expressions, got 0");
    // Sixteen are as good as one, and an empty span may be NULL.
    struct span many[CRON_EXPRESSIONS_MAX];
    for (size_t i = 0; i < ROWS (many); i++)
        many[i] = span_text ("0 0 * * *");
    cron = cron_new (many, ROWS (many), &reason);
    assert_non_null (cron);
    cron_destroy (&cron);
    assert_null (cron_new (&(struct span){NULL, 0}, 1, &reason));
}

// Nothing is cut off the end of a span.
static void a_span_ends_where_it_ends (void **state)
{
    (void)state;
    static const char *const texts[] = {"0 0 * * M",  "0 0 * * MON#", "0 0 * * 1/",
                                        "0 0 * * 99", "@dail",        "0 0 L- * *"};
    for (size_t i = 0; i < ROWS (texts); i++) {
        uint8_t *copy = exact_bytes (span_text (texts[i]));
        struct span span = span_of (copy, strlen (texts[i]));
        struct reason reason = {""};
        assert_null (cron_new (&span, 1, &reason));
        free (copy);
    }
}

// -- next and previous are each other's opposite

static const char *const walked[] = {
    "* * * * *",
    "*/7 2,3 * * *",
    "30 2 * * *",
    "15,45 1-3 * * SUN",
    "0 0 1 * *",
    "0 0 * * MON#5",
    "0 0,2,12 L * *|5 2 * * *",
    "*/50 */17 * * * *",
    "0 30 0-23/2 * * 0L",
    "59 59 23 * * *",
};

// The last instant before `before`, by the search that the missed ones of a plan are found with.
static bool previous (const struct cron *cron, const struct zone *zone, int gap, int overlap,
                      int64_t before, int64_t *ret)
{
    struct wall wall = {
        zone, (enum zone_gap)gap, (enum zone_overlap)overlap, cron_wall_rule (cron), {0, 0, 0}};
    return wall_previous (&wall, before, ret);
}

static void check_walk (const char *text, const struct zone *zone, int gap, int overlap,
                        int64_t from)
{
    struct cron *cron = cron_valid (text);
    int64_t at, again, back;
    for (int i = 0; i < 60; i++, from = at + 1) {
        if (!cron_next (cron, zone, (enum zone_gap)gap, (enum zone_overlap)overlap, from, &at))
            break;
        // Nothing lies between, and each is found from itself.
        bool same =
            cron_next (cron, zone, (enum zone_gap)gap, (enum zone_overlap)overlap, at, &again) &&
            again == at;
        bool found = previous (cron, zone, gap, overlap, at + 1, &back) && back == at;
        bool none = !previous (cron, zone, gap, overlap, at, &back) || back < from;
        if (at < from || !same || !found || !none)
            fail_msg ("%s from %" PRId64 ", gap %d, overlap %d: %" PRId64 " and back %" PRId64,
                      text, from, gap, overlap, at, back);
    }
    cron_destroy (&cron);
}

static void next_and_previous_agree (void **state)
{
    (void)state;
    static const char *const zones[] = {"UTC",           "Europe/Berlin",       "Europe/Dublin",
                                        "Pacific/Apia",  "Australia/Lord_Howe", "Africa/Casablanca",
                                        "America/Havana"};
    static const char *const froms[] = {"2011-12-28",       "2026-03-28T23:00",
                                        "2026-10-24T22:30", "2026-10-25T00:59:59Z",
                                        "2040-03-08",       "2041-11-02"};
    for (size_t z = 0; z < ROWS (zones); z++) {
        struct zone *zone = zone_named (zones[z]);
        for (size_t i = 0; i < ROWS (walked) * ROWS (froms) * 6; i++)
            check_walk (walked[i % ROWS (walked)], zone, (int)(i / ROWS (walked) % 2),
                        (int)(i / ROWS (walked) / 2 % 3), instant (froms[i / ROWS (walked) / 6]));
        zone_destroy (&zone);
    }
}

static void previous_ends_in_1970 (void **state)
{
    (void)state;
    struct zone *utc = zone_named (NULL);
    struct cron *cron = cron_valid ("0 0 1 1 *");
    int64_t at = -1;
    assert_true (previous (cron, utc, SHIFT, FIRST, 86400, &at));
    assert_int_equal (at, 0);
    at = -1;
    assert_false (previous (cron, utc, SHIFT, FIRST, 0, &at));
    assert_int_equal (at, -1);
    assert_true (previous (cron, utc, SHIFT, FIRST, INT64_MAX, &at));
    assert_int_equal (at, instant ("9999-01-01"));
    cron_destroy (&cron);
    zone_destroy (&utc);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (expressions_mean),
        cmocka_unit_test (clocks_are_changed),
        cmocka_unit_test (a_search_asks_only_so_often),
        cmocka_unit_test (what_is_no_expression_is_refused),
        cmocka_unit_test (bounds_are_kept),
        cmocka_unit_test (a_span_ends_where_it_ends),
        cmocka_unit_test (next_and_previous_agree),
        cmocka_unit_test (previous_ends_in_1970),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
