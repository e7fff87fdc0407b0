// Rows for what a schedule has besides its type and value: windows, cycles, the days of a calendar,
// gaps and overlaps, cron.
#include <inttypes.h>

#include "instants.h"
#include "schedule.h"

// A plan and its occurrences, each computed as if the one before ended in its nominal second; "end"
// after the last one.
struct preview_row {
    const char *name;
    struct schedule plan;
    const char *base, *start, *end; // NULL: not given
    const char *now;
    int64_t skip;
    const char *zone, *expected;
};

static void preview (const struct preview_row *row, char got[INSTANTS_SIZE])
{
    struct zone *zone = zone_named (row->zone);
    struct schedule plan = row->plan;
    plan.base_time = instant (row->base);
    plan.start_time = instant (row->start);
    plan.end_time = instant (row->end);
    plan.received = instant (row->now);
    struct occurrence at;
    bool more = schedule_first (&plan, zone, plan.received, row->skip, &at);
    for (size_t left = count_words (row->expected); more && left > 0; left--) {
        append_instant (got, at.time);
        more = schedule_next (&plan, zone, &at, at.time, &at);
    }
    if (!more)
        append_word (got, "end");
    zone_destroy (&zone);
}

static void check_rows (const struct preview_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char got[INSTANTS_SIZE] = "";
        preview (&rows[i], got);
        CHECK_TEXT (rows[i].name, got, rows[i].expected);
    }
}

#define NOW "2026-01-01"

// clang-format off
#define PLAN(kind, units, times) {.type = SCHEDULE_##kind, .value = units, .repeat = times}
#define KEEP(kind, units, times) {.type = SCHEDULE_##kind, .value = units, .repeat = times, .keep = true}
#define TURNS(kind, times, durations) {.type = SCHEDULE_##kind, .repeat = times, .cycle = &durations}
#define DAYS(units, times) {.type = SCHEDULE_DAY, .value = units, .repeat = times, .wall_clock = true}
#define CHANGE(kind, units, g, o) {.type = SCHEDULE_##kind, .value = units, .repeat = -1, .wall_clock = true, .gap = ZONE_GAP_##g, .overlap = ZONE_OVERLAP_##o}

static const struct cycle two_one = {2, {2, 1}};
static const struct cycle five = {1, {5}};
static const struct cycle week = {3, {2, 2, 3}};
static const struct cycle greatest = {2, {32766, 32766}};

static const struct preview_row window_rows[] = {
    {"none waits for its start", PLAN (NONE, 0, 1), NULL, "2026-01-02", NULL, NOW, 0, NULL, "2026-01-02T00:00 end"},
    {"none after its start", PLAN (NONE, 0, 1), NULL, "2025-01-02", NULL, NOW, 0, NULL, "2026-01-01T00:00 end"},
    {"none at its end", PLAN (NONE, 0, 1), NULL, NULL, NOW, NOW, 0, NULL, "2026-01-01T00:00 end"},
    {"none after its end", PLAN (NONE, 0, 1), NULL, NULL, "2025-12-31", NOW, 0, NULL, "end"},
    {"time in its window", PLAN (TIME, 0, 1), "2026-01-05", "2026-01-05", "2026-01-05", NOW, 0, NULL, "2026-01-05T00:00 end"},
    {"time before its window", PLAN (TIME, 0, 1), "2026-01-05", "2026-01-06", NULL, NOW, 0, NULL, "end"},
    {"time after its window", PLAN (TIME, 0, 1), "2026-01-05", NULL, "2026-01-04", NOW, 0, NULL, "end"},
    {"hours keep their phase", PLAN (HOUR, 5, 3), NOW, "2026-01-01T06:00", NULL, NOW, 0, NULL, "2026-01-01T10:00 2026-01-01T15:00 2026-01-01T20:00 end"},
    {"hours, at the start", PLAN (HOUR, 5, 2), NOW, "2026-01-01T10:00", NULL, NOW, 0, NULL, "2026-01-01T10:00 2026-01-01T15:00 end"},
    {"hours, a start before the first", PLAN (HOUR, 5, 1), NOW, "2026-01-01T01:00", NULL, NOW, 0, NULL, "2026-01-01T05:00 end"},
    {"hours, at the end", PLAN (HOUR, 5, -1), NOW, NULL, "2026-01-01T10:00", NOW, 0, NULL, "2026-01-01T05:00 2026-01-01T10:00 end"},
    {"hours, a second before it", PLAN (HOUR, 5, -1), NOW, NULL, "2026-01-01T09:59:59Z", NOW, 0, NULL, "2026-01-01T05:00 end"},
    {"hours, an end before the first", PLAN (HOUR, 5, -1), NOW, NULL, "2026-01-01T04:00", NOW, 0, NULL, "end"},
    {"hours, an end before the base", PLAN (HOUR, 5, -1), NOW, NULL, "2025-01-01", NOW, 0, NULL, "end"},
    {"hours, a start after the end", PLAN (HOUR, 5, -1), NOW, "2026-01-03", "2026-01-02", NOW, 0, NULL, "end"},
    {"missed ones are counted from the start", PLAN (HOUR, 1, 3), "2025-12-01", "2025-12-31T23:00", NULL, NOW, 0, NULL, "2026-01-01T00:00 2026-01-01T01:00 end"},
    {"kept ones too", KEEP (HOUR, 1, 3), "2025-12-01", "2025-12-31T23:00", NULL, NOW, 0, NULL, "2025-12-31T23:00 2026-01-01T00:00 2026-01-01T01:00 end"},
    {"skipped within the window", PLAN (HOUR, 1, -1), NOW, "2026-01-02", "2026-01-02T02:00", NOW, 2, NULL, "2026-01-02T02:00 end"},
    {"skipped past it", PLAN (HOUR, 1, -1), NOW, "2026-01-02", "2026-01-02T02:00", NOW, 3, NULL, "end"},
    {"value 0 waits for its start", PLAN (SECOND, 0, 2), NULL, "2026-01-02", NULL, NOW, 0, NULL, "2026-01-02T00:00 2026-01-02T00:00:01 end"},
    {"value 0 ends", PLAN (SECOND, 0, -1), NULL, NULL, "2026-01-01T00:00:01Z", NOW, 0, NULL, "2026-01-01T00:00 2026-01-01T00:00:01 end"},
    {"weeks", PLAN (WEEK, 1, -1), NULL, "2026-01-06", "2026-01-20", NOW, 0, NULL, "2026-01-12T00:00 2026-01-19T00:00 end"},
    {"weeks, bounds are in", PLAN (WEEK, 1, -1), NULL, "2026-01-05", "2026-01-12", NOW, 0, NULL, "2026-01-05T00:00 2026-01-12T00:00 end"},
    {"weeks, skipped past the end", PLAN (WEEK, 1, -1), NULL, "2026-01-05", "2026-01-12", NOW, 2, NULL, "end"},
    {"months, a start far away", PLAN (MONTH, 31, 2), NULL, "2100-02-01", NULL, NOW, 0, NULL, "2100-02-28T00:00 2100-03-31T00:00 end"},
    {"months, an end before the first", PLAN (MONTH, 31, -1), NULL, NULL, "2026-01-30", NOW, 0, NULL, "end"},
    {"an end past all years", PLAN (WEEK, 1, 1), NULL, NULL, "9999-12-31", NOW, 0, NULL, "2026-01-05T00:00 end"},
};

static const struct preview_row cycle_rows[] = {
    {"in turn", TURNS (HOUR, 4, two_one), NOW, NULL, NULL, NOW, 0, NULL, "2026-01-01T02:00 2026-01-01T03:00 2026-01-01T05:00 2026-01-01T06:00 end"},
    {"one duration is an interval", TURNS (MINUTE, 2, five), NOW, NULL, NULL, NOW, 0, NULL, "2026-01-01T00:05 2026-01-01T00:10 end"},
    {"from the receipt", TURNS (SECOND, 2, two_one), NULL, NULL, NULL, NOW, 0, NULL, "2026-01-01T00:00:02 2026-01-01T00:00:03 end"},
    {"missed ones use up repeats", TURNS (HOUR, 4, two_one), "2025-12-31T19:00", NULL, NULL, NOW, 0, NULL, "2026-01-01T00:00 2026-01-01T01:00 end"},
    {"kept", {.type = SCHEDULE_HOUR, .repeat = 3, .keep = true, .cycle = &two_one}, "2025-12-31T20:00", NULL, NULL, NOW, 0, NULL, "2025-12-31T22:00 2025-12-31T23:00 2026-01-01T01:00 end"},
    {"anew at the start", TURNS (HOUR, 3, two_one), NOW, "2026-01-01T06:30", NULL, NOW, 0, NULL, "2026-01-01T08:30 2026-01-01T09:30 2026-01-01T11:30 end"},
    {"a start before the base", TURNS (HOUR, 2, two_one), NOW, "2025-01-01", NULL, NOW, 0, NULL, "2026-01-01T02:00 2026-01-01T03:00 end"},
    {"an end", TURNS (HOUR, -1, two_one), NOW, NULL, "2026-01-01T05:00", NOW, 0, NULL, "2026-01-01T02:00 2026-01-01T03:00 2026-01-01T05:00 end"},
    {"an end between", TURNS (HOUR, -1, two_one), NOW, NULL, "2026-01-01T04:59:59Z", NOW, 0, NULL, "2026-01-01T02:00 2026-01-01T03:00 end"},
    {"skipped", TURNS (DAY, -1, week), NOW, NULL, NULL, NOW, 7, NULL, "2026-01-19T00:00 2026-01-22T00:00 2026-01-24T00:00 2026-01-26T00:00"},
    {"the greatest", TURNS (DAY, -1, greatest), NOW, NULL, NULL, NOW, 87, NULL, "9920-07-04T00:00 end"},
    {"skipped without bounds", TURNS (DAY, -1, greatest), NOW, NULL, NULL, NOW, INT64_MAX, NULL, "end"},
    {"since 1970", TURNS (SECOND, -1, two_one), "1970-01-01T00:00:01Z", NULL, NULL, NOW, 0, NULL, "2026-01-01T00:00 2026-01-01T00:00:01"},
    {"days of a calendar", {.type = SCHEDULE_DAY, .repeat = 4, .wall_clock = true, .cycle = &two_one}, "2026-03-26T11:00", NULL, NULL, "2026-03-26T11:00", 0, "Europe/Berlin", "2026-03-28T11:00 2026-03-29T10:00 2026-03-31T10:00 2026-04-01T10:00 end"},
    {"days of a calendar, anew at the start", {.type = SCHEDULE_DAY, .repeat = 2, .wall_clock = true, .cycle = &two_one}, "2026-03-26T11:00", "2026-03-27T12:00", NULL, "2026-03-26T11:00", 0, "Europe/Berlin", "2026-03-29T11:00 2026-03-30T11:00 end"},
};

static const struct preview_row day_rows[] = {
    {"keep their time of day", DAYS (1, 3), "2026-03-27T11:00", NULL, NULL, "2026-03-27T11:00", 0, "Europe/Berlin", "2026-03-28T11:00 2026-03-29T10:00 2026-03-30T10:00 end"},
    {"each third", DAYS (3, -1), "2026-03-25T11:00", NULL, NULL, "2026-03-25T11:00", 0, "Europe/Berlin", "2026-03-28T11:00 2026-03-31T10:00 2026-04-03T10:00"},
    {"from the receipt", DAYS (1, 2), NULL, NULL, NULL, "2026-03-28T22:00", 0, "Europe/Berlin", "2026-03-29T21:00 2026-03-30T21:00 end"},
    {"missed ones use up nothing", DAYS (2, 2), "2025-12-28", NULL, NULL, NOW, 0, NULL, "2026-01-01T00:00 2026-01-03T00:00 end"},
    {"a base to come", DAYS (2, 2), "2027-01-01", NULL, NULL, NOW, 0, NULL, "2027-01-03T00:00 2027-01-05T00:00 end"},
    {"the start keeps the phase", DAYS (2, 2), NOW, "2026-01-04", NULL, NOW, 0, NULL, "2026-01-05T00:00 2026-01-07T00:00 end"},
    {"skipped", DAYS (2, 4), NOW, NULL, NULL, NOW, 2, NULL, "2026-01-07T00:00 2026-01-09T00:00 end"},
    {"skipped past what is walked", DAYS (1, -1), NOW, NULL, NULL, NOW, 100001, NULL, "end"},
    {"skipped as far as that", DAYS (1, -1), NOW, NULL, NULL, NOW, 100000, NULL, "2299-10-18T00:00 2299-10-19T00:00"},
    {"to the end of time", DAYS (32766, -1), NOW, NULL, NULL, "9920-01-01", 0, NULL, "9920-07-04T00:00 end"},
    {"value 0 has no wall clock", DAYS (0, 2), NOW, NULL, NULL, NOW, 0, NULL, "2026-01-01T00:00 2026-01-01T00:00:01 end"},
    {"in the gap", DAYS (1, -1), "2026-03-27T01:30", NULL, NULL, "2026-03-27T01:30", 0, "Europe/Berlin", "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30"},
    {"in the gap, skipped", CHANGE (DAY, 1, SKIP, FIRST), "2026-03-27T01:30", NULL, NULL, "2026-03-27T01:30", 0, "Europe/Berlin", "2026-03-28T01:30 2026-03-30T00:30"},
    {"in the overlap, last", CHANGE (DAY, 1, SHIFT, LAST), "2026-10-23T00:30", NULL, NULL, "2026-10-23T00:30", 0, "Europe/Berlin", "2026-10-24T00:30 2026-10-25T01:30 2026-10-26T01:30"},
    {"in the overlap, both", CHANGE (DAY, 1, SHIFT, BOTH), "2026-10-23T00:30", NULL, NULL, "2026-10-23T00:30", 0, "Europe/Berlin", "2026-10-24T00:30 2026-10-25T00:30 2026-10-25T01:30 2026-10-26T01:30"},
    {"the day that Apia left out, once", DAYS (1, -1), "2011-12-28T10:00", NULL, NULL, "2011-12-28T10:00", 0, "Pacific/Apia", "2011-12-29T10:00 2011-12-30T10:00 2011-12-31T10:00"},
    {"and skipped, at noon", CHANGE (DAY, 1, SKIP, FIRST), "2011-12-28T22:00", NULL, NULL, "2011-12-28T22:00", 0, "Pacific/Apia", "2011-12-29T22:00 2011-12-30T22:00 2011-12-31T22:00"},
};

// The last Sunday of March at 02:30 is in Berlin's gap, and that of October comes twice.
static const struct preview_row change_rows[] = {
    {"weeks, the gap shifts", CHANGE (WEEK, 0, SHIFT, FIRST), "2026-03-22T01:30", NULL, NULL, "2026-03-22T02:00", 0, "Europe/Berlin", "2026-03-29T01:00 2026-04-05T00:30"},
    {"weeks, the gap is skipped", CHANGE (WEEK, 0, SKIP, FIRST), "2026-03-22T01:30", NULL, NULL, "2026-03-22T01:30", 0, "Europe/Berlin", "2026-03-22T01:30 2026-04-05T00:30 2026-04-12T00:30"},
    {"weeks, skip counts what there is", CHANGE (WEEK, 0, SKIP, FIRST), "2026-03-22T01:30", NULL, NULL, "2026-03-22T01:30", 1, "Europe/Berlin", "2026-04-05T00:30"},
    {"weeks, last", CHANGE (WEEK, 0, SHIFT, LAST), "2026-03-22T01:30", NULL, NULL, "2026-10-20", 0, "Europe/Berlin", "2026-10-25T01:30 2026-11-01T01:30"},
    {"weeks, last, skipped to", CHANGE (WEEK, 0, SHIFT, LAST), "2026-03-22T01:30", NULL, NULL, "2026-10-13", 1, "Europe/Berlin", "2026-10-25T01:30 2026-11-01T01:30"},
    {"weeks, both", CHANGE (WEEK, 0, SHIFT, BOTH), "2026-03-22T01:30", NULL, NULL, "2026-10-20", 0, "Europe/Berlin", "2026-10-25T00:30 2026-10-25T01:30 2026-11-01T01:30"},
    {"weeks, both are two to a skip", CHANGE (WEEK, 0, SHIFT, BOTH), "2026-03-22T01:30", NULL, NULL, "2026-10-20", 2, "Europe/Berlin", "2026-11-01T01:30"},
    {"months, the gap is skipped", CHANGE (MONTH, 29, SKIP, FIRST), "2026-01-29T01:30", NULL, NULL, "2026-03-01", 0, "Europe/Berlin", "2026-04-29T00:30"},
    {"months, both", CHANGE (MONTH, 25, SHIFT, BOTH), "2026-01-25T01:30", NULL, NULL, "2026-10-01", 0, "Europe/Berlin", "2026-10-25T00:30 2026-10-25T01:30 2026-11-25T01:30"},
};
// clang-format on

static void test_windows (void **state)
{
    (void)state;
    check_rows (window_rows, ROWS (window_rows));
}

static void test_cycles (void **state)
{
    (void)state;
    check_rows (cycle_rows, ROWS (cycle_rows));
}

static void test_days_of_a_calendar (void **state)
{
    (void)state;
    check_rows (day_rows, ROWS (day_rows));
}

static void test_clock_changes (void **state)
{
    (void)state;
    check_rows (change_rows, ROWS (change_rows));
}

static void test_cron (void **state)
{
    (void)state;
    struct reason reason = {""};
    struct span text = span_text ("30 8 * * MON-FRI");
    struct cron *cron = cron_new (&text, 1, &reason);
    const struct preview_row rows[] = {
        // clang-format off
        {"cron", {.type = SCHEDULE_CRON, .repeat = 3, .cron = cron}, NULL, NULL, NULL, NOW, 0, NULL, "2026-01-01T08:30 2026-01-02T08:30 2026-01-05T08:30 end"},
        {"cron in a zone", {.type = SCHEDULE_CRON, .repeat = -1, .cron = cron}, NULL, NULL, NULL, "2026-03-27", 0, "Europe/Berlin", "2026-03-27T07:30 2026-03-30T06:30"},
        {"cron in a window", {.type = SCHEDULE_CRON, .repeat = -1, .cron = cron}, NULL, "2026-01-02T08:30", "2026-01-05T08:30", NOW, 0, NULL, "2026-01-02T08:30 2026-01-05T08:30 end"},
        {"cron, skipped", {.type = SCHEDULE_CRON, .repeat = 5, .cron = cron}, NULL, NULL, NULL, NOW, 4, NULL, "2026-01-07T08:30 end"},
        {"cron, all skipped", {.type = SCHEDULE_CRON, .repeat = 5, .cron = cron}, NULL, NULL, NULL, NOW, 5, NULL, "end"},
        {"cron without one", {.type = SCHEDULE_CRON, .repeat = -1}, NULL, NULL, NULL, NOW, 0, NULL, "end"},
        // clang-format on
    };
    assert_non_null (cron);
    check_rows (rows, ROWS (rows));
    cron_destroy (&cron);
}

// The sums of a cycle against adding up.
static void test_sums_of_a_cycle (void **state)
{
    (void)state;
    static const struct cycle cycles[] = {{2, {2, 1}}, {1, {5}}, {3, {1, 1, 9}}, {4, {7, 1, 3, 2}}};
    for (size_t i = 0; i < ROWS (cycles); i++) {
        int64_t sum = 0, steps = 0;
        for (int64_t distance = 0; distance < 200; distance++) {
            while (sum + cycles[i].durations[(size_t)steps % cycles[i].count] <= distance)
                sum += cycles[i].durations[(size_t)steps++ % cycles[i].count];
            CHECK_INT ("steps", cycle_steps (&cycles[i], distance), steps);
            CHECK_INT ("sum", cycle_sum (&cycles[i], steps), sum);
        }
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_windows),
        cmocka_unit_test (test_cycles),
        cmocka_unit_test (test_days_of_a_calendar),
        cmocka_unit_test (test_clock_changes),
        cmocka_unit_test (test_cron),
        cmocka_unit_test (test_sums_of_a_cycle),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
