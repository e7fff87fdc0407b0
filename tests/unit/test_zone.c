// Rows for zones: the system's files, footers of every form, files made by hand, hostile bytes.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rfc3339.h"
#include "zonefile.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

static struct zone *zone_named (const char *name)
{
    struct reason reason = {0};
    struct zone *zone = zonefile_load (name, &reason);
    if (!zone)
        fail_msg ("%s", reason.text);
    return zone;
}

// Also for wall-clock times, which are written with a "Z" here.
static int64_t seconds (const char *text)
{
    int64_t time = 0;
    struct reason reason = {0};
    if (rfc3339_parse (span_text (text), &time, &reason))
        fail_msg ("%s", reason.text);
    return time;
}

static const struct offset_row {
    const char *zone, *instant;
    int32_t offset;
} offset_rows[] = {
    {"UTC", "1970-01-01T00:00:00Z", 0},
    {"UTC", "9999-12-31T23:59:59Z", 0},
    {"Etc/UTC", "2026-01-01T00:00:00Z", 0},
    {"Etc/GMT+5", "2026-01-01T00:00:00Z", -18000},
    {"Asia/Shanghai", "2026-01-01T00:00:00Z", 28800},
    {"Asia/Kathmandu", "2026-01-01T00:00:00Z", 20700},
    {"Europe/Berlin", "2026-03-29T00:59:59Z", 3600},
    {"Europe/Berlin", "2026-03-29T01:00:00Z", 7200},
    {"Europe/Berlin", "2026-10-25T00:59:59Z", 7200},
    {"Europe/Berlin", "2026-10-25T01:00:00Z", 3600},
    {"Europe/Berlin", "2500-03-28T00:59:59Z", 3600},
    {"Europe/Berlin", "2500-03-28T01:00:00Z", 7200},
    {"Europe/Berlin", "9999-07-01T00:00:00Z", 7200},
    {"America/New_York", "2026-03-08T06:59:59Z", -18000},
    {"America/New_York", "2026-03-08T07:00:00Z", -14400},
    {"America/New_York", "2026-11-01T05:59:59Z", -14400},
    {"America/New_York", "2026-11-01T06:00:00Z", -18000},
    {"America/New_York", "2006-04-02T06:59:59Z", -18000},
    {"Australia/Lord_Howe", "2020-04-04T14:59:59Z", 39600},
    {"Australia/Lord_Howe", "2020-04-04T15:00:00Z", 37800},
    {"Australia/Lord_Howe", "2020-10-03T15:30:00Z", 39600},
    {"Africa/Casablanca", "2019-05-05T01:59:59Z", 3600},
    {"Africa/Casablanca", "2019-05-05T02:00:00Z", 0},
    {"Africa/Casablanca", "2019-06-09T02:00:00Z", 3600},
    {"America/Santiago", "2022-09-11T03:59:59Z", -14400},
    {"America/Santiago", "2022-09-11T04:00:00Z", -10800},
    {"Pacific/Apia", "2011-12-30T09:59:59Z", -36000},
    {"Pacific/Apia", "2011-12-30T10:00:00Z", 50400},
    {"Antarctica/Troll", "2020-03-29T00:59:59Z", 0},
    {"Antarctica/Troll", "2020-03-29T01:00:00Z", 7200},
    {"Asia/Gaza", "2020-03-27T22:00:00Z", 10800},
    {"Asia/Gaza", "2020-10-23T22:00:00Z", 7200},
    {"Europe/Dublin", "2020-03-29T00:59:59Z", 0},
    {"Europe/Dublin", "2020-03-29T01:00:00Z", 3600},
    {"Europe/Dublin", "2300-01-15T00:00:00Z", 0},
    {"Europe/Dublin", "2300-07-15T00:00:00Z", 3600},
    {"America/Sao_Paulo", "2018-11-04T03:00:00Z", -7200},
    {"America/Sao_Paulo", "2026-11-04T03:00:00Z", -10800},
    {"Africa/Monrovia", "1972-01-07T00:44:29Z", -2670},
    {"Africa/Monrovia", "1972-01-07T00:44:30Z", 0},
};

static void test_offsets (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (offset_rows); i++) {
        const struct offset_row *row = &offset_rows[i];
        struct zone *zone = zone_named (row->zone);
        int32_t got = zone_offset (zone, seconds (row->instant));
        zone_destroy (&zone);
        if (got != row->offset)
            fail_msg ("%s at %s: want %d, got %d", row->zone, row->instant, row->offset, got);
    }
}

static const struct local_row {
    const char *name, *zone, *local, *instant;
} local_rows[] = {
    {"UTC", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
    {"winter", "Europe/Berlin", "2026-01-01T01:00:00Z", "2026-01-01T00:00:00Z"},
    {"summer", "Europe/Berlin", "2026-07-01T02:00:00Z", "2026-07-01T00:00:00Z"},
    {"before a gap", "Europe/Berlin", "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"},
    {"start of a gap", "Europe/Berlin", "2026-03-29T02:00:00Z", "2026-03-29T01:00:00Z"},
    {"in a gap", "Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z"},
    {"end of a gap", "Europe/Berlin", "2026-03-29T02:59:59Z", "2026-03-29T01:00:00Z"},
    {"after a gap", "Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"},
    {"further after a gap", "Europe/Berlin", "2026-03-29T03:00:01Z", "2026-03-29T01:00:01Z"},
    {"before an overlap", "Europe/Berlin", "2026-10-25T01:59:59Z", "2026-10-24T23:59:59Z"},
    {"start of an overlap", "Europe/Berlin", "2026-10-25T02:00:00Z", "2026-10-25T00:00:00Z"},
    {"end of an overlap", "Europe/Berlin", "2026-10-25T02:59:59Z", "2026-10-25T00:59:59Z"},
    {"after an overlap", "Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"},
    {"gap by rule", "Europe/Berlin", "2500-03-28T02:30:00Z", "2500-03-28T01:00:00Z"},
    {"overlap by rule", "Europe/Berlin", "2500-10-31T02:30:00Z", "2500-10-31T00:30:00Z"},
    {"gap, west", "America/New_York", "2026-03-08T02:30:00Z", "2026-03-08T07:00:00Z"},
    {"overlap, west", "America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z"},
    {"half an hour gap", "Australia/Lord_Howe", "2020-10-04T02:29:59Z", "2020-10-03T15:30:00Z"},
    {"half an hour overlap", "Australia/Lord_Howe", "2020-04-05T01:30:00Z", "2020-04-04T14:30:00Z"},
    {"two hours gap", "Antarctica/Troll", "2020-03-29T02:59:59Z", "2020-03-29T01:00:00Z"},
    {"two hours overlap", "Antarctica/Troll", "2020-10-25T01:00:00Z", "2020-10-24T23:00:00Z"},
    {"midnight gap", "America/Sao_Paulo", "2018-11-04T00:00:00Z", "2018-11-04T03:00:00Z"},
    {"midnight overlap", "America/Havana", "2020-11-01T00:00:00Z", "2020-11-01T04:00:00Z"},
    {"overlap over midnight", "America/Santiago", "2022-04-02T23:30:00Z", "2022-04-03T02:30:00Z"},
    {"before the missing day", "Pacific/Apia", "2011-12-29T23:59:59Z", "2011-12-30T09:59:59Z"},
    {"start of the missing day", "Pacific/Apia", "2011-12-30T00:00:00Z", "2011-12-30T10:00:00Z"},
    {"end of the missing day", "Pacific/Apia", "2011-12-30T23:59:59Z", "2011-12-30T10:00:00Z"},
    {"after the missing day", "Pacific/Apia", "2011-12-31T00:00:00Z", "2011-12-30T10:00:00Z"},
    {"another missing day", "Pacific/Kwajalein", "1993-08-21T09:00:00Z", "1993-08-21T12:00:00Z"},
    {"odd seconds", "Africa/Monrovia", "1972-01-07T00:20:00Z", "1972-01-07T00:44:30Z"},
    {"negative saving, gap", "Europe/Dublin", "2020-03-29T01:30:00Z", "2020-03-29T01:00:00Z"},
    {"negative saving, overlap", "Europe/Dublin", "2020-10-25T01:30:00Z", "2020-10-25T00:30:00Z"},
    {"negative saving by rule", "Europe/Dublin", "2300-03-25T01:30:00Z", "2300-03-25T01:00:00Z"},
    {"year 9999", "Asia/Shanghai", "9999-12-31T23:59:59Z", "9999-12-31T15:59:59Z"},
};

static void test_locals (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (local_rows); i++) {
        const struct local_row *row = &local_rows[i];
        struct zone *zone = zone_named (row->zone);
        int64_t got = zone_instant (zone, seconds (row->local));
        zone_destroy (&zone);
        if (got != seconds (row->instant))
            fail_msg ("%s: want %s, got %" PRId64, row->name, row->instant, got);
    }
}

// A TZif file made by hand.
struct file {
    uint8_t bytes[512];
    size_t size;
};

static void put (struct file *file, const void *data, size_t size)
{
    assert_true (size <= sizeof file->bytes - file->size);
    memcpy (file->bytes + file->size, data, size);
    file->size += size;
}

static void put_number (struct file *file, int64_t number, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        uint8_t byte = (uint8_t)((uint64_t)number >> (8 * i));
        put (file, &byte, 1);
    }
}

// A header and a block: at -100 from type 1 to type 0, at 100 back, at 200 to type 0 again. Type 0
// is UTC, type 1 an hour east.
static void put_block (struct file *file, char version, size_t time_size, uint32_t leaps)
{
    const uint32_t counts[] = {2, 2, leaps, 3, 2, 4};
    put (file, "TZif", 4);
    put_number (file, version, 1);
    put_number (file, 0, 8);
    put_number (file, 0, 7);
    for (size_t i = 0; i < ROWS (counts); i++)
        put_number (file, counts[i], 4);
    put_number (file, -100, time_size);
    put_number (file, 100, time_size);
    put_number (file, 200, time_size);
    put (file, "\0\1\0", 3);
    put (file, "\0\0\0\0\0\0", 6);
    put (file, "\0\0\x0e\x10\1\0", 6);
    put (file, "ABC\0", 4);
    for (uint32_t i = 0; i < leaps; i++) {
        put_number (file, 0, time_size);
        put_number (file, 0, 4);
    }
    put (file, "\0\0\0\0", 4);
}

static struct file file_make (const char *footer)
{
    struct file file = {.size = 0};
    put_block (&file, '2', 4, 0);
    put_block (&file, '2', 8, 0);
    put (&file, footer, strlen (footer));
    return file;
}

static struct zone *file_zone (const struct file *file, struct reason *reason)
{
    // An exact copy on the heap, so that the address sanitizer sees each byte read past its end.
    uint8_t *copy = malloc (file->size ? file->size : 1);
    memcpy (copy, file->bytes, file->size);
    struct zone *zone = zone_new (span_of (copy, file->size), reason);
    free (copy);
    return zone;
}

static const struct footer_row {
    const char *footer, *instant;
    int32_t offset;
} footer_rows[] = {
    {"", "2026-01-01T00:00:00Z", 0}, // the type of the last transition
    {"UTC0", "2026-01-01T00:00:00Z", 0},
    {"CST-8", "2026-01-01T00:00:00Z", 28800},
    {"AST4", "2026-01-01T00:00:00Z", -14400},
    {"AST+4", "2026-01-01T00:00:00Z", -14400},
    {"<+0545>-5:45", "2026-01-01T00:00:00Z", 20700},
    {"<-0044>0:44:30", "2026-01-01T00:00:00Z", -2670},
    {"<A+9>-24:59:59", "2026-01-01T00:00:00Z", 89999},
    // the default time of a rule is 02:00, the default saving an hour
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 3600},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7200},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59:59Z", 7200},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3600},
    {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -14400},
    // southern: the year begins in daylight saving time
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39600},
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", 36000},
    // week 5 of a month in which that weekday comes four times
    {"AAA0BBB,M2.5.6,M6.5.3", "2026-02-28T01:59:59Z", 0},
    {"AAA0BBB,M2.5.6,M6.5.3", "2026-02-28T02:00:00Z", 3600},
    // J60 is March 1 in every year, 59 is February 29 in a leap year
    {"AAA0BBB,J60/0,J300", "2024-02-29T23:59:59Z", 0},
    {"AAA0BBB,J60/0,J300", "2024-03-01T00:00:00Z", 3600},
    {"AAA0BBB,J60/0,J300", "2023-03-01T00:00:00Z", 3600},
    {"AAA0BBB,J59/0,J300", "2024-02-28T00:00:00Z", 3600},
    {"AAA0BBB,59/0,300", "2024-02-28T23:59:59Z", 0},
    {"AAA0BBB,59/0,300", "2024-02-29T00:00:00Z", 3600},
    {"AAA0BBB,59/0,300", "2023-02-28T23:59:59Z", 0},
    {"AAA0BBB,59/0,300", "2023-03-01T00:00:00Z", 3600},
    // negative saving: the rule's start is the change to winter
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00Z", 0},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-03-29T01:00:00Z", 3600},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T00:59:59Z", 3600},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T01:00:00Z", 0},
    // times before and after the day
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7200},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600},
    {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59:59Z", 7200},
    {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00Z", 10800},
    {"AAA0BBB,0/167,J365/-167", "2026-01-07T22:59:59Z", 0},
    {"AAA0BBB,0/167,J365/-167", "2026-01-07T23:00:00Z", 3600},
    {"AAA0BBB,0/-167,J100", "2025-12-25T00:59:59Z", 0},
    {"AAA0BBB,0/-167,J100", "2025-12-25T01:00:00Z", 3600},
    {"AAA0BBB,J300,J365/167", "2026-01-06T21:59:59Z", 3600},
    {"AAA0BBB,J300,J365/167", "2026-01-06T22:00:00Z", 0},
    {"AAA0BBB,J360/167,J365/167", "2026-01-01T00:00:00Z", 0},
    {"AAA0BBB,J360/167,J365/167", "2026-01-03T00:00:00Z", 3600},
    // daylight saving time all year
    {"EST5EDT,0/0,J365/25", "2026-01-01T04:59:59Z", -14400},
    {"EST5EDT,0/0,J365/25", "2026-01-01T05:00:00Z", -14400},
    {"EST5EDT,0/0,J365/25", "2026-07-01T00:00:00Z", -14400},
    {"XXX3EDT4,0/0,J365/23", "2026-01-01T02:59:59Z", -14400},
    {"XXX3EDT4,0/0,J365/23", "2026-01-01T03:00:00Z", -14400},
    {"XXX3EDT4,0/0,J365/23", "2024-12-31T12:00:00Z", -14400},
};

static void test_footers (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (footer_rows); i++) {
        const struct footer_row *row = &footer_rows[i];
        char text[80];
        snprintf (text, sizeof text, "\n%s\n", row->footer);
        struct file file = file_make (text);
        struct reason reason = {0};
        struct zone *zone = file_zone (&file, &reason);
        if (!zone)
            fail_msg ("%s: %s", row->footer, reason.text);
        int32_t got = zone_offset (zone, seconds (row->instant));
        zone_destroy (&zone);
        if (got != row->offset)
            fail_msg ("%s at %s: want %d, got %d", row->footer, row->instant, row->offset, got);
    }
}

static const char *const wrong_footers[] = {
    // around the TZ string
    "",
    "\n",
    "UTC0",
    "\nUTC0",
    "UTC0\n",
    " \nUTC0\n",
    // names
    "\n0\n",
    "\nUT0\n",
    "\n<UT>0\n",
    "\n<UTC0\n",
    "\n<>0\n",
    "\nU_C0\n",
    "\n<U C>0\n",
    "\nUTC\n",
    "\n<UTC>\n",
    // offsets
    "\nUTC-\n",
    "\nUTC25\n",
    "\nUTC-25\n",
    "\nUTC0:60\n",
    "\nUTC0:0:60\n",
    "\nUTC0:\n",
    "\nUTC1:2:\n",
    "\nUTC0000\n",
    "\nUTC+-1\n",
    "\nUTC 0\n",
    "\nUTC0 \n",
    "\nUTC99999999999999999999\n",
    // rules
    "\nAAA0BBB\n",
    "\nAAA0BB,J1,J2\n",
    "\nAAA0BBB,\n",
    "\nAAA0BBB,J1\n",
    "\nAAA0BBB,J1,\n",
    "\nAAA0BBB,J1,J2,\n",
    "\nAAA0BBB,J1,J2,J3\n",
    "\nAAA0BBB,J0,J2\n",
    "\nAAA0BBB,J366,J2\n",
    "\nAAA0BBB,366,J2\n",
    "\nAAA0BBB,-1,J2\n",
    "\nAAA0BBB,J,J2\n",
    "\nAAA0BBB,M0.1.0,J2\n",
    "\nAAA0BBB,M13.1.0,J2\n",
    "\nAAA0BBB,M1.0.0,J2\n",
    "\nAAA0BBB,M1.6.0,J2\n",
    "\nAAA0BBB,M1.1.7,J2\n",
    "\nAAA0BBB,M1.1,J2\n",
    "\nAAA0BBB,M1,J2\n",
    "\nAAA0BBB,M,J2\n",
    "\nAAA0BBB,M1.1.0/,J2\n",
    "\nAAA0BBB,M1.1.0/168,J2\n",
    "\nAAA0BBB,M1.1.0/-168,J2\n",
    "\nAAA0BBB,M1.1.0/1:60,J2\n",
    "\nAAA0BBB25,J1,J2\n",
    "\nAAA0BBB1:,J1,J2\n",
    "\n:Europe/Berlin\n",
};

static void test_wrong_footers (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (wrong_footers); i++) {
        struct file file = file_make (wrong_footers[i]);
        struct reason reason = {0};
        if (file_zone (&file, &reason))
            fail_msg ("footer \"%s\" is accepted", wrong_footers[i]);
        assert_true (*reason.text);
    }
    // One that does not end within its bound.
    struct file file = file_make ("\nUTC");
    while (file.size < sizeof file.bytes - 1)
        put (&file, "0", 1);
    put (&file, "\n", 1);
    struct reason reason = {0};
    assert_null (file_zone (&file, &reason));
}

// Before the first transition type 0, then the table, then the footer.
static void test_parts_of_a_file (void **state)
{
    (void)state;
    static const struct {
        int64_t instant;
        int32_t offset;
    } rows[] = {{-101, 0},   {-100, 0},    {99, 0},     {100, 3600},
                {199, 3600}, {200, 18000}, {999, 18000}};
    struct file file = file_make ("\nAAA-5\n");
    struct reason reason = {0};
    struct zone *zone = file_zone (&file, &reason);
    assert_non_null (zone);
    for (size_t i = 0; i < ROWS (rows); i++)
        assert_int_equal (zone_offset (zone, rows[i].instant), rows[i].offset);
    assert_int_equal (zone_instant (zone, 99), 99);
    assert_int_equal (zone_instant (zone, 100), 100); // 100..3699 is a gap
    assert_int_equal (zone_instant (zone, 3699), 100);
    assert_int_equal (zone_instant (zone, 3799), 199);
    assert_int_equal (zone_instant (zone, 3800), 200); // 3800..18199 is one, too
    assert_int_equal (zone_instant (zone, 18201), 201);
    zone_destroy (&zone);
    zone_destroy (&zone);
}

static void test_version_1 (void **state)
{
    (void)state;
    struct file file = {.size = 0};
    put_block (&file, '\0', 4, 0);
    struct reason reason = {0};
    struct zone *zone = file_zone (&file, &reason);
    assert_non_null (zone);
    assert_int_equal (zone_offset (zone, 150), 3600);
    assert_int_equal (zone_offset (zone, 253402300799), 0);
    zone_destroy (&zone);
}

static void test_leap_seconds_are_refused (void **state)
{
    (void)state;
    struct file file = {.size = 0};
    put_block (&file, '2', 4, 3); // only the block that is used counts
    put_block (&file, '2', 8, 0);
    put (&file, "\nUTC0\n", 6);
    struct reason reason = {0};
    struct zone *zone = file_zone (&file, &reason);
    assert_non_null (zone);
    zone_destroy (&zone);

    file.size = 0;
    put_block (&file, '2', 4, 0);
    put_block (&file, '2', 8, 2);
    put (&file, "\nUTC0\n", 6);
    assert_null (file_zone (&file, &reason));
    assert_non_null (strstr (reason.text, "leap seconds"));
}

// One byte of a good file changed. The first block takes 79 bytes; of the second the counts are at
// 99, the times at 123, the type numbers at 147, the types at 150; the footer is at 170.
static const struct byte_row {
    const char *name;
    size_t at;
    uint8_t byte;
} byte_rows[] = {
    {"magic", 0, 't'},
    {"version 1 as a digit", 4, '1'},
    {"a version before 2 that is not 1", 4, 1},
    {"first block longer than the file", 32, 0xff},
    {"first block a little longer", 35, 4},
    {"second magic", 82, 'F'},
    {"UTC indicators", 99, 0xff},
    {"standard indicators", 103, 0xff},
    {"leap seconds", 107, 0xff},
    {"one leap second", 110, 1},
    {"transitions", 111, 0xff},
    {"transitions beyond 32 bits of bytes", 111, 0x20},
    {"one transition more", 114, 4},
    {"types", 115, 0xff},
    {"no types", 118, 0},
    {"one type less", 118, 1},
    {"abbreviations", 119, 0xff},
    {"transitions descend", 123, 0x7f},
    {"transitions are equal", 138, 200},
    {"type 2 of 2", 147, 2},
    {"type 255 of 2", 149, 255},
    {"an offset of centuries", 150, 0x7f},
    {"an offset of centuries, west", 150, 0x80},
    {"an offset of more than 26 hours", 151, 2},
    {"footer without its newline", 170, 'U'},
};

static void test_changed_bytes (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (byte_rows); i++) {
        const struct byte_row *row = &byte_rows[i];
        struct file file = file_make ("\nUTC0\n");
        if (file.bytes[row->at] == row->byte)
            fail_msg ("%s: the row changes nothing", row->name);
        file.bytes[row->at] = row->byte;
        struct reason reason = {0};
        if (file_zone (&file, &reason))
            fail_msg ("%s: the file is accepted", row->name);
        assert_true (*reason.text);
    }
}

static void test_cut_files (void **state)
{
    (void)state;
    struct file file = file_make ("\nUTC0\n");
    for (size_t size = file.size; size-- > 0;) {
        file.size = size;
        struct reason reason = {0};
        if (file_zone (&file, &reason))
            fail_msg ("a file cut to %zu bytes is accepted", size);
    }
}

// Whatever a byte becomes, a zone that is still accepted answers and gives back what it is asked.
static void test_every_byte_changed (void **state)
{
    (void)state;
    for (size_t at = 0; at < 190; at++)
        for (int byte = 0; byte < 256; byte++) {
            struct file file = file_make ("\nAA-5CC,M3.5.0,J99/3\n");
            file.bytes[at < file.size ? at : 0] = (uint8_t)byte;
            struct reason reason = {0};
            struct zone *zone = file_zone (&file, &reason);
            if (!zone)
                continue;
            for (int64_t local = -90000; local < 90000; local += 45000)
                zone_offset (zone, zone_instant (zone, local));
            zone_destroy (&zone);
        }
}

static const char *const wrong_names[] = {
    "",
    "/",
    "/etc/passwd",
    "/usr/share/zoneinfo/UTC",
    "../zoneinfo/UTC",
    "Europe/../UTC",
    "..",
    ".",
    "Europe/Berlin ",
    " UTC",
    "Europe\\Berlin",
    "Europe/B\xc3\xa9rlin",
    "UTC\n",
    "%s",
    "zone.tab",
    "Europe",
    "Europe/",
    "Europe/Atlantis",
    "europe/berlin",
    "UTC/UTC",
    "right/UTC",
    "posixrules/x",
    "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "leapseconds",
    "tzdata_zi",
};

static void test_wrong_names (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (wrong_names); i++) {
        struct reason reason = {0};
        if (zonefile_load (wrong_names[i], &reason))
            fail_msg ("\"%s\" is accepted", wrong_names[i]);
        if (strncmp (reason.text, "timezone: ", 10) != 0)
            fail_msg ("\"%s\": %s", wrong_names[i], reason.text);
    }
}

static void test_another_folder (void **state)
{
    (void)state;
    assert_int_equal (setenv ("ZPLAN_ZONEINFO", "/nonexistent", 1), 0);
    struct reason reason = {0};
    assert_null (zonefile_load ("Europe/Berlin", &reason));
    assert_string_equal (reason.text, "timezone: no zone named 'Europe/Berlin' in /nonexistent");
    struct zone *utc = zonefile_load ("UTC", &reason);
    assert_non_null (utc);
    assert_int_equal (zone_instant (utc, 1), 1);
    zone_destroy (&utc);
    unsetenv ("ZPLAN_ZONEINFO");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_offsets),
        cmocka_unit_test (test_locals),
        cmocka_unit_test (test_footers),
        cmocka_unit_test (test_wrong_footers),
        cmocka_unit_test (test_parts_of_a_file),
        cmocka_unit_test (test_version_1),
        cmocka_unit_test (test_leap_seconds_are_refused),
        cmocka_unit_test (test_changed_bytes),
        cmocka_unit_test (test_cut_files),
        cmocka_unit_test (test_every_byte_changed),
        cmocka_unit_test (test_wrong_names),
        cmocka_unit_test (test_another_folder),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
