// Rows for civil dates and for RFC 3339 text.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "civil.h"
#include "rfc3339.h"
#include "schedule.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

static const struct date_row {
    struct civil_date date;
    int64_t days;
    int weekday;
} date_rows[] = {
    {{1970, 1, 1}, 0, 4},         {{1970, 1, 2}, 1, 5},         {{1969, 12, 31}, -1, 3},
    {{1970, 12, 31}, 364, 4},     {{1972, 2, 28}, 788, 1},      {{1972, 2, 29}, 789, 2},
    {{1972, 3, 1}, 790, 3},       {{1900, 2, 28}, -25509, 3},   {{1900, 3, 1}, -25508, 4},
    {{2000, 2, 29}, 11016, 2},    {{2000, 3, 1}, 11017, 3},     {{2026, 1, 1}, 20454, 4},
    {{2026, 12, 31}, 20818, 4},   {{2038, 1, 19}, 24855, 2},    {{2100, 2, 28}, 47540, 0},
    {{2100, 3, 1}, 47541, 1},     {{9999, 12, 31}, 2932896, 5}, {{10000, 1, 1}, 2932897, 6},
    {{1, 1, 1}, -719162, 1},      {{0, 12, 31}, -719163, 0},    {{0, 2, 29}, -719469, 2},
    {{0, 3, 1}, -719468, 3},      {{0, 1, 1}, -719528, 6},      {{-1, 12, 31}, -719529, 5},
    {{1582, 10, 15}, -141427, 5}, {{1600, 2, 29}, -135081, 2},  {{2400, 2, 29}, 157113, 2},
};

static void test_dates (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (date_rows); i++) {
        const struct date_row *row = &date_rows[i];
        struct civil_date got = civil_date (row->days);
        if (civil_days (row->date) != row->days)
            fail_msg ("%" PRId64 "-%d-%d is not day %" PRId64, row->date.year, row->date.month,
                      row->date.day, row->days);
        if (got.year != row->date.year || got.month != row->date.month || got.day != row->date.day)
            fail_msg ("day %" PRId64 " became %" PRId64 "-%d-%d", row->days, got.year, got.month,
                      got.day);
        if (civil_weekday (row->days) != row->weekday)
            fail_msg ("day %" PRId64 " became weekday %d", row->days, civil_weekday (row->days));
    }
}

// Each day is the one after the day before, from 1 BC to the year 10401, and back again.
static void test_every_day (void **state)
{
    (void)state;
    struct civil_date want = {0, 1, 1};
    for (int64_t day = -719528; want.year < 10401; day++) {
        struct civil_date got = civil_date (day);
        if (got.year != want.year || got.month != want.month || got.day != want.day ||
            civil_days (want) != day)
            fail_msg ("day %" PRId64 " became %" PRId64 "-%d-%d", day, got.year, got.month,
                      got.day);
        if (want.day++ < civil_month_length (want.year, want.month))
            continue;
        want.day = 1;
        if (want.month++ < 12)
            continue;
        want.month = 1;
        want.year++;
    }
}

static const struct february_row {
    int64_t year;
    int length;
} february_rows[] = {
    {1600, 29}, {1700, 28}, {1800, 28}, {1900, 28}, {1904, 29}, {1970, 28}, {1999, 28},
    {2000, 29}, {2004, 29}, {2023, 28}, {2024, 29}, {2025, 28}, {2096, 29}, {2100, 28},
    {2200, 28}, {2300, 28}, {2400, 29}, {9996, 29}, {9999, 28}, {1, 28},    {4, 29},
};

static void test_month_lengths (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (february_rows); i++) {
        const struct february_row *row = &february_rows[i];
        if (civil_month_length (row->year, 2) != row->length)
            fail_msg ("February %" PRId64 " does not have %d days", row->year, row->length);
        assert_int_equal (civil_is_leap (row->year), row->length == 29);
    }
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (int month = 1; month <= 12; month++)
        assert_int_equal (civil_month_length (2023, month), lengths[month - 1]);
}

static const struct seconds_row {
    int64_t seconds, day, time_of_day;
} seconds_rows[] = {
    {0, 0, 0},           {1, 0, 1},          {86399, 0, 86399},
    {86400, 1, 0},       {-1, -1, 86399},    {-86400, -1, 0},
    {-86401, -2, 86399}, {172799, 1, 86399}, {253402300799, 2932896, 86399},
};

static void test_days_of_seconds (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (seconds_rows); i++) {
        const struct seconds_row *row = &seconds_rows[i];
        if (civil_day_of (row->seconds) != row->day ||
            civil_time_of_day (row->seconds) != row->time_of_day)
            fail_msg ("%" PRId64 " s is not day %" PRId64 " and %" PRId64 " s", row->seconds,
                      row->day, row->time_of_day);
    }
}

static const struct parse_row {
    const char *text;
    int64_t time;
} parse_rows[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"1970-01-01T00:00:01Z", 1},
    {"1970-01-01T01:00:00+01:00", 0},
    {"1969-12-31T23:00:00-01:00", 0},
    {"1969-12-31T23:59:59-00:01", 59},
    {"1970-01-01T23:59:00+23:59", 0},
    {"2000-02-29T23:59:59Z", 951868799},
    {"2026-12-24T18:00:00+01:00", 1798131600},
    {"2026-12-24T17:00:00Z", 1798131600},
    {"2026-12-24t17:00:00z", 1798131600},
    {"2026-12-24T17:00:00+00:00", 1798131600},
    {"2026-12-24T17:00:00-00:00", 1798131600},
    {"2026-12-24T22:45:00+05:45", 1798131600},
    {"2026-12-24T07:30:00-09:30", 1798131600},
    {"2026-12-25T16:59:00+23:59", 1798131600},
    {"2038-01-19T03:14:07Z", 2147483647},
    {"2038-01-19T03:14:08Z", 2147483648},
    {"2100-03-01T00:00:00Z", 4107542400},
    {"9999-12-31T23:59:59Z", 253402300799},
    {"9999-12-31T18:59:59-05:00", 253402300799},
};

static void test_parse (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (parse_rows); i++) {
        const struct parse_row *row = &parse_rows[i];
        int64_t time = -1;
        struct reason reason = {0};
        if (rfc3339_parse (span_text (row->text), &time, &reason) || time != row->time)
            fail_msg ("%s: want %" PRId64 ", got %" PRId64 " %s", row->text, row->time, time,
                      reason.text);
    }
}

static const char *const refused[] = {
    "",
    "2026",
    "2026-12-24",
    "2026-12-24T17:00",
    "2026-12-24T17:00Z",
    "2026-12-24T17:00:00",
    "2026-12-24 17:00:00Z",
    "2026-12-24_17:00:00Z",
    "2026-12-24T17:00:00 Z",
    " 2026-12-24T17:00:00Z",
    "2026-12-24T17:00:00Z ",
    "2026-12-24T17:00:00ZZ",
    "2026-12-24T17:00:00.5Z",
    "2026-12-24T17:00:00.000Z",
    "2026-12-24T17:00:00,5Z",
    "2026-12-24T17:00:00+1:00",
    "2026-12-24T17:00:00+01",
    "2026-12-24T17:00:00+0100",
    "2026-12-24T17:00:00+01:0",
    "2026-12-24T17:00:00+01:000",
    "2026-12-24T17:00:00 01:00",
    "2026-12-24T17:00:00+24:00",
    "2026-12-24T17:00:00+01:60",
    "2026-12-24T17:00:00X",
    "2026-12-24T17:00:00+",
    "20261224T170000Z",
    "2026-W52-4T17:00:00Z",
    "26-12-24T17:00:00Z",
    "02026-12-24T17:00:00Z",
    "+2026-12-24T17:00:00Z",
    "-026-12-24T17:00:00Z",
    "2026-1-24T17:00:00Z",
    "2026-12-4T17:00:00Z",
    "2026/12/24T17:00:00Z",
    "2026-12-24T17-00-00Z",
    "2026-00-24T17:00:00Z",
    "2026-13-24T17:00:00Z",
    "2026-12-00T17:00:00Z",
    "2026-12-32T17:00:00Z",
    "2026-04-31T17:00:00Z",
    "2026-02-29T17:00:00Z",
    "2024-02-30T17:00:00Z",
    "2100-02-29T17:00:00Z",
    "2026-12-24T24:00:00Z",
    "2026-12-24T17:60:00Z",
    "2026-12-24T17:00:60Z",
    "2016-12-31T23:59:60Z",
    "2026-12-24T1 :00:00Z",
    "2026-12-24T-1:00:00Z",
    "2026-12-24T0x:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00+00:01",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-00:01",
    "1798131600",
    "now",
};

static void test_refuse (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (refused); i++) {
        int64_t time = -7;
        struct reason reason = {0};
        if (rfc3339_parse (span_text (refused[i]), &time, &reason) == 0 || time != -7)
            fail_msg ("\"%s\" is taken for %" PRId64, refused[i], time);
        if (!*reason.text)
            fail_msg ("\"%s\" is refused without a reason", refused[i]);
    }
}

static void test_refuse_bytes (void **state)
{
    (void)state;
    static const char nul[] = "2026-12-24T17:00:00\0";
    int64_t time;
    struct reason reason;
    assert_int_equal (rfc3339_parse (span_of (nul, sizeof nul - 1), &time, &reason), -1);
    assert_int_equal (rfc3339_parse (span_of (NULL, 0), &time, &reason), -1);
    assert_int_equal (rfc3339_parse (span_text ("2026-12-24T17:00:00\xff"), &time, &reason), -1);
}

static void test_reasons (void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"2026-13-24T17:00:00Z", "'2026-13-24T17:00:00Z': the month is not within 1..12"},
        {"2026-12-24T17:00:60Z", "'2026-12-24T17:00:60Z': the second is not within 0..59"},
        {"2026-02-29T17:00:00Z", "'2026-02-29T17:00:00Z': that month has 28 days"},
        {"1969-02-01T17:00:00Z", "'1969-02-01T17:00:00Z': not within 1970..9999"},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        int64_t time;
        struct reason reason = {0};
        rfc3339_parse (span_text (rows[i].text), &time, &reason);
        assert_string_equal (reason.text, rows[i].reason);
    }
}

static const struct parse_row format_rows[] = {
    {"1970-01-01T00:00:00Z", 0},          {"1970-01-01T23:59:59Z", 86399},
    {"2000-02-29T23:59:59Z", 951868799},  {"2026-12-24T17:00:00Z", 1798131600},
    {"2100-02-28T01:02:03Z", 4107459723}, {"9999-12-31T23:59:59Z", 253402300799},
};

static void test_format (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (format_rows); i++) {
        char text[RFC3339_SIZE];
        rfc3339_format (format_rows[i].time, text);
        assert_string_equal (text, format_rows[i].text);
    }
    struct reason reason;
    for (int64_t time = 0; time <= SCHEDULE_TIME_MAX; time += 10000019) {
        char text[RFC3339_SIZE];
        int64_t back = -1;
        rfc3339_format (time, text);
        if (rfc3339_parse (span_text (text), &back, &reason) || back != time)
            fail_msg ("%" PRId64 " became %s", time, text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_dates),         cmocka_unit_test (test_every_day),
        cmocka_unit_test (test_month_lengths), cmocka_unit_test (test_days_of_seconds),
        cmocka_unit_test (test_parse),         cmocka_unit_test (test_refuse),
        cmocka_unit_test (test_refuse_bytes),  cmocka_unit_test (test_reasons),
        cmocka_unit_test (test_format),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
