// The times of a plan as people say them: what they mean, and how they are refused.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "when.h"

// 2026-11-20T12:00:00Z, and a half second.
#define NOW    INT64_C (1795176000)
#define NOW_US (NOW * 1000000 + 500000)

// 2024-01-15T00:00:00Z: the day that carries a time of day.
#define FIXED INT64_C (1705276800)

enum { EAST = 2 * 3600 }; // the test's zone is two hours east of UTC

// A zone without a file: no transitions, one offset. Header, one local time type, footer.
static struct zone *zone_east (void)
{
#define HEADER "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
#define TYPE   "\0\0\x1c\x20\0\0+02"
    static const char tzif[] = HEADER TYPE "\0" HEADER TYPE "\0"
                                           "\n<+02>-2\n";
    struct reason reason;
    struct zone *zone = zone_new (span_of (tzif, sizeof tzif - 1), &reason);
    if (!zone)
        fail_msg ("zone: %s", reason.text);
    return zone;
}

// -- what is meant

static const struct good {
    const char *name;
    struct when_words words;
    struct schedule rule; // but `received`
    int64_t skip;
    const char *members; // of the PLAN frame beyond these, sorted; NULL: none
} good_rows[] = {
    {"nothing is at once", {0}, {.type = SCHEDULE_NONE, .repeat = 1}, 0, NULL},
    {"--now", {.now = true}, {.type = SCHEDULE_NONE, .repeat = 1}, 0, NULL},
    {"--in is rounded up and kept",
     {.in = "5s"},
     {.type = SCHEDULE_TIME, .repeat = 1, .keep = true, .base_time = NOW + 6},
     0,
     NULL},
    {"--in with all units",
     {.in = "1d2h3m4s"},
     {.type = SCHEDULE_TIME, .repeat = 1, .keep = true, .base_time = NOW + 1 + 93784},
     0,
     NULL},
    {"--in 0s",
     {.in = "0s"},
     {.type = SCHEDULE_TIME, .repeat = 1, .keep = true, .base_time = NOW + 1},
     0,
     NULL},
    {"--at with offset",
     {.at = "2026-12-24T18:00:00+01:00"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798131600},
     0,
     NULL},
    {"--at without seconds",
     {.at = "2026-12-24T18:00+01:00"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798131600},
     0,
     NULL},
    {"--at west of UTC",
     {.at = "2026-12-24T12:00-05:00"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798131600},
     0,
     NULL},
    {"--at in UTC",
     {.at = "2026-12-24T17:00Z"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798131600},
     0,
     NULL},
    {"--at without offset is local",
     {.at = "2026-12-24T19:00"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798131600},
     0,
     NULL},
    {"--at with a blank",
     {.at = "2026-12-24 19:00:00"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798131600},
     0,
     NULL},
    {"--at a date is its local midnight",
     {.at = "2026-12-24"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 1798070400 - EAST},
     0,
     NULL},
    {"--at --keep",
     {.at = "2020-01-01T00:00Z", .keep = true},
     {.type = SCHEDULE_TIME, .repeat = 1, .keep = true, .base_time = 1577836800},
     0,
     NULL},
    {"--every",
     {.every = "10m"},
     {.type = SCHEDULE_MINUTE, .value = 10, .repeat = SCHEDULE_FOREVER},
     0,
     NULL},
    {"--every keeps the unit that was said",
     {.every = "90s"},
     {.type = SCHEDULE_SECOND, .value = 90, .repeat = SCHEDULE_FOREVER},
     0,
     NULL},
    {"--every takes the smallest unit of several",
     {.every = "1d12h"},
     {.type = SCHEDULE_HOUR, .value = 36, .repeat = SCHEDULE_FOREVER},
     0,
     NULL},
    {"--every 0s is one after the other",
     {.every = "0s", .repeat = "3"},
     {.type = SCHEDULE_SECOND, .value = 0, .repeat = 3},
     0,
     NULL},
    {"--every at most",
     {.every = "32766d", .repeat = "forever"},
     {.type = SCHEDULE_DAY, .value = 32766, .repeat = SCHEDULE_FOREVER},
     0,
     NULL},
    {"--every --start --repeat --skip --keep",
     {.every = "2h", .start = "2026-12-24T19:00", .repeat = "9", .skip = "8", .keep = true},
     {.type = SCHEDULE_HOUR, .value = 2, .repeat = 9, .keep = true, .base_time = 1798131600},
     8,
     NULL},
    {"--weekly",
     {.weekly = "mon@08:30"},
     {.type = SCHEDULE_WEEK,
      .value = 1,
      .repeat = SCHEDULE_FOREVER,
      .base_time = FIXED + 30600 - EAST},
     0,
     NULL},
    {"--weekly with seconds and a whole name",
     {.weekly = "Saturday@23:59:59"},
     {.type = SCHEDULE_WEEK,
      .value = 6,
      .repeat = SCHEDULE_FOREVER,
      .base_time = FIXED + 86399 - EAST},
     0,
     NULL},
    {"--weekly without a time is midnight",
     {.weekly = "sun"},
     {.type = SCHEDULE_WEEK, .value = 0, .repeat = SCHEDULE_FOREVER, .base_time = FIXED - EAST},
     0,
     NULL},
    {"--weekly 7 is Sunday",
     {.weekly = "7@00:00"},
     {.type = SCHEDULE_WEEK, .value = 0, .repeat = SCHEDULE_FOREVER, .base_time = FIXED - EAST},
     0,
     NULL},
    {"--weekly 6",
     {.weekly = "6"},
     {.type = SCHEDULE_WEEK, .value = 6, .repeat = SCHEDULE_FOREVER, .base_time = FIXED - EAST},
     0,
     NULL},
    {"--monthly from the end",
     {.monthly = "-1@23:00", .repeat = "12"},
     {.type = SCHEDULE_MONTH, .value = -1, .repeat = 12, .base_time = FIXED + 82800 - EAST},
     0,
     NULL},
    {"--monthly the last day",
     {.monthly = "0"},
     {.type = SCHEDULE_MONTH, .value = 0, .repeat = SCHEDULE_FOREVER, .base_time = FIXED - EAST},
     0,
     NULL},
    {"--type by name",
     {.type = "month", .value = "-31", .time = "2026-01-31T23:00:00Z", .repeat = "5"},
     {.type = SCHEDULE_MONTH, .value = -31, .repeat = 5, .base_time = 1769900400},
     0,
     NULL},
    {"--type by number, --time in seconds",
     {.type = "6", .value = "7", .time = "1769900400"},
     {.type = SCHEDULE_WEEK, .value = 0, .repeat = SCHEDULE_FOREVER, .base_time = 1769900400},
     0,
     NULL},
    {"--time at most",
     {.type = "time", .time = "253402300799"},
     {.type = SCHEDULE_TIME, .repeat = 1, .base_time = 253402300799},
     0,
     NULL},
    {"--time 0 is none",
     {.type = "second", .value = "1", .time = "0"},
     {.type = SCHEDULE_SECOND, .value = 1, .repeat = SCHEDULE_FOREVER},
     0,
     NULL},
    {"any repeat for type none",
     {.type = "none", .repeat = "-7"},
     {.type = SCHEDULE_NONE, .repeat = 1},
     0,
     NULL},
    {"--repeat -1",
     {.type = "hour", .value = "0", .repeat = "-1", .skip = "2147483647"},
     {.type = SCHEDULE_HOUR, .repeat = SCHEDULE_FOREVER},
     INT32_MAX,
     NULL},
    {"--cron",
     {.cron = {{"30 8 * * MON"}, 1}},
     {.type = SCHEDULE_CRON, .repeat = SCHEDULE_FOREVER},
     0,
     "{\"cron\":\"30 8 * * MON\"}"},
    {"--cron twice, with a zone, a window, and beside its type",
     {.cron = {{"@daily", "0 0 L * ?"}, 2},
      .type = "cron",
      .timezone = "Europe/Berlin",
      .repeat = "3",
      .start = "2027-01-01",
      .terms = {.end = "2027-06-30T00:00Z", .gap = "skip", .overlap = "both"}},
     {.type = SCHEDULE_CRON, .repeat = 3},
     0,
     "{\"cron\":[\"@daily\",\"0 0 L * ?\"],\"end_time\":1814313600,\"gap\":\"skip\","
     "\"overlap\":\"both\",\"start_time\":1798754400,\"timezone\":\"Europe/Berlin\"}"},
    {"--wall-clock",
     {.weekly = "mon@08:30", .timezone = "Europe/Berlin", .wall_clock = true},
     {.type = SCHEDULE_WEEK,
      .value = 1,
      .repeat = SCHEDULE_FOREVER,
      .base_time = FIXED + 30600 - EAST},
     0,
     "{\"timezone\":\"Europe/Berlin\"}"},
    {"--timezone is the plan's: weeks",
     {.weekly = "mon@08:30", .timezone = "Europe/Berlin"},
     {.type = SCHEDULE_WEEK,
      .value = 1,
      .repeat = SCHEDULE_FOREVER,
      .base_time = FIXED + 30600 - EAST},
     0,
     "{\"timezone\":\"Europe/Berlin\"}"},
    {"--timezone is the plan's: months",
     {.monthly = "0", .timezone = "Europe/Berlin"},
     {.type = SCHEDULE_MONTH, .repeat = SCHEDULE_FOREVER, .base_time = FIXED - EAST},
     0,
     "{\"timezone\":\"Europe/Berlin\"}"},
    {"--timezone is the plan's: days",
     {.every = "1d", .timezone = "Europe/Berlin"},
     {.type = SCHEDULE_DAY, .value = 1, .repeat = SCHEDULE_FOREVER},
     0,
     "{\"timezone\":\"Europe/Berlin\"}"},
    {"--timezone is the plan's: the wire's own words",
     {.type = "week", .value = "2", .time = "2026-01-01T08:30", .timezone = "Europe/Berlin"},
     {.type = SCHEDULE_WEEK,
      .value = 2,
      .repeat = SCHEDULE_FOREVER,
      .base_time = 1767256200 - EAST},
     0,
     "{\"timezone\":\"Europe/Berlin\"}"},
    {"--timezone of what reads no clock",
     {.every = "10m", .start = "2026-12-24T19:00", .timezone = "Europe/Berlin"},
     {.type = SCHEDULE_MINUTE, .value = 10, .repeat = SCHEDULE_FOREVER, .base_time = 1798131600},
     0,
     NULL},
    {"--iteration and --cycle are the repeats",
     {.every = "5s", .terms = {.iteration = "4", .cycle = "3"}},
     {.type = SCHEDULE_SECOND, .value = 5, .repeat = 12},
     0,
     "{\"cycle\":3,\"iteration\":4}"},
    {"waits in turn are multiples of --every",
     {.every = "10m", .skip = "5", .terms = {.iteration = "2", .cycle = "2,3,5"}},
     {.type = SCHEDULE_MINUTE, .repeat = 6},
     5,
     "{\"cycle\":[20,30,50],\"iteration\":2}"},
    {"waits in turn of a type",
     {.type = "hour", .terms = {.cycle = "2,3"}},
     {.type = SCHEDULE_HOUR, .repeat = SCHEDULE_FOREVER},
     0,
     "{\"cycle\":[2,3]}"},
    {"policies",
     {.every = "1h",
      .terms = {.misfire = "5",
                .misfire_window = "2h",
                .jitter = "90",
                .overlap_policy = "queue",
                .timeout = "1h30m",
                .log = "none"}},
     {.type = SCHEDULE_HOUR, .value = 1, .repeat = SCHEDULE_FOREVER},
     0,
     "{\"jitter\":90,\"log\":\"none\",\"misfire\":5,\"misfire_window\":7200,"
     "\"overlap_policy\":\"queue\",\"timeout\":5400}"},
    {"all that were missed are kept",
     {.every = "1h", .terms = {.misfire = "all"}},
     {.type = SCHEDULE_HOUR, .value = 1, .repeat = SCHEDULE_FOREVER, .keep = true},
     0,
     "{\"misfire\":\"all\"}"},
    {"retry none",
     {.terms = {.retry = "none"}},
     {.type = SCHEDULE_NONE, .repeat = 1},
     0,
     "{\"retry\":{\"strategy\":\"none\"}}"},
    {"retry for ever",
     {.terms = {.retry = "fixed:30s"}},
     {.type = SCHEDULE_NONE, .repeat = 1},
     0,
     "{\"retry\":{\"interval\":30,\"strategy\":\"fixed\"}}"},
    {"retry with all of it",
     {.terms = {.retry = "sequence:1s/2m/4:5,jitter=2s,manual"}},
     {.type = SCHEDULE_NONE, .repeat = 1},
     0,
     "{\"retry\":{\"jitter\":2,\"max\":5,\"need_manual\":true,\"sequence\":[1,120,4],"
     "\"strategy\":\"sequence\"}}"},
    {"retry by hand at once",
     {.terms = {.retry = "none,manual"}},
     {.type = SCHEDULE_NONE, .repeat = 1},
     0,
     "{\"retry\":{\"need_manual\":true,\"strategy\":\"none\"}}"},
};

// What the PLAN frame says beyond the rule.
static void check_members (const struct good *row, const struct when *when)
{
    char *text = json_dumps (when->members, JSON_COMPACT | JSON_SORT_KEYS);
    const char *wanted = row->members ? row->members : "{}";
    if (strcmp (text, wanted) != 0)
        fail_msg ("%s: got %s, want %s", row->name, text, wanted);
    free (text);
}

static bool same_rule (const struct schedule *a, const struct schedule *b)
{
    return a->type == b->type && a->value == b->value && a->repeat == b->repeat &&
           a->keep == b->keep && a->base_time == b->base_time;
}

static void what_is_said_is_meant (void **state)
{
    (void)state;
    struct zone *zone = zone_east ();
    for (size_t i = 0; i < sizeof good_rows / sizeof *good_rows; i++) {
        const struct good *row = &good_rows[i];
        struct when when;
        struct reason reason;
        if (when_read (&row->words, zone, NOW_US, &when, &reason))
            fail_msg ("%s: refused: %s", row->name, reason.text);
        check_members (row, &when);
        if (!same_rule (&when.rule, &row->rule) || when.skip != row->skip ||
            when.rule.received != NOW)
            fail_msg ("%s: got type %d value %d repeat %d keep %d base %lld skip %lld", row->name,
                      when.rule.type, when.rule.value, when.rule.repeat, when.rule.keep,
                      (long long)when.rule.base_time, (long long)when.skip);
        when_clear (&when);
    }
    zone_destroy (&zone);
}

// -- what is refused

static const struct bad {
    const char *name;
    struct when_words words;
    const char *option; // the reason starts with it
    const char *rule;   // and holds this
} bad_rows[] = {
    {"two kinds", {.in = "5s", .at = "2026-12-24"}, "--in and --at", "one kind"},
    {"--now and a kind", {.now = true, .weekly = "mon"}, "--now and --weekly", "one kind"},
    {"a kind and --type", {.every = "5s", .type = "none"}, "--every and --type", "one kind"},
    {"--value alone", {.value = "5"}, "--value", "--type only"},
    {"--time with --every", {.every = "5s", .time = "5"}, "--time", "--type only"},
    {"--start with --in", {.in = "5s", .start = "2026-12-24"}, "--start", "goes with --every"},
    {"--end with --at", {.at = "2026-12-24", .terms = {.end = "2027-01-01"}}, "--end", "only"},
    {"--iteration at once", {.terms = {.iteration = "2"}}, "--iteration", "only"},
    {"an hour that is none",
     {.cron = {{"30 25 * * MON"}, 1}},
     "--cron",
     "column 4: want 0..23, got 25"},
    {"the second expression", {.cron = {{"@daily", "x"}, 2}}, "--cron 2", "column 1"},
    {"no text", {.cron = {{"\xff"}, 1}}, "--cron", "want UTF-8"},
    {"cron and another type",
     {.cron = {{"@daily"}, 1}, .type = "week"},
     "--cron and --type",
     "one kind"},
    {"--value with --cron", {.cron = {{"@daily"}, 1}, .value = "1"}, "--value", "--type only"},
    {"--wall-clock alone", {.every = "1d", .wall_clock = true}, "--wall-clock", "--timezone"},
    {"--keep --misfire",
     {.every = "1d", .keep = true, .terms = {.misfire = "skip"}},
     "--keep and --misfire",
     "one or the other"},
    {"--repeat --iteration",
     {.every = "1d", .repeat = "4", .terms = {.iteration = "2"}},
     "--repeat and --iteration",
     "one or the other"},
    {"waits in turn on a calendar",
     {.weekly = "mon", .terms = {.cycle = "1,2"}},
     "--cycle",
     "durations"},
    {"a wait that is none",
     {.every = "1h", .terms = {.cycle = "1,x"}},
     "--cycle",
     "waits as 2,3,5"},
    {"no number of runs", {.every = "1h", .terms = {.cycle = "x"}}, "--cycle", "want a number"},
    {"more runs than can be said",
     {.every = "1h", .terms = {.iteration = "2147483647", .cycle = "2"}},
     "--iteration",
     "at most"},
    {"skip all of the iterations",
     {.every = "1h", .skip = "4", .terms = {.iteration = "2", .cycle = "2"}},
     "--skip",
     "which is 4"},
    {"an end before the start", {.every = "1h", .terms = {.end = "x"}}, "--end", "want an instant"},
    {"a window that ends before it begins",
     {.weekly = "mon", .start = "2027-01-02", .terms = {.end = "2027-01-01"}},
     "--end",
     "before start_time"},
    {"gap", {.weekly = "mon", .terms = {.gap = "both"}}, "--gap", "shift or skip"},
    {"overlap", {.weekly = "mon", .terms = {.overlap = "shift"}}, "--overlap", "first, last"},
    {"misfire 0", {.every = "1h", .terms = {.misfire = "0"}}, "--misfire", "1..1000"},
    {"misfire window",
     {.every = "1h", .terms = {.misfire_window = "x"}},
     "--misfire-window",
     "want a duration"},
    {"jitter", {.every = "1h", .terms = {.jitter = "2d"}}, "--jitter", "0..86400"},
    {"overlap policy",
     {.every = "1h", .terms = {.overlap_policy = "all"}},
     "--overlap-policy",
     "skip or queue"},
    {"timeout", {.every = "1h", .terms = {.timeout = "0s"}}, "--run-timeout", "1..31536000"},
    {"log", {.every = "1h", .terms = {.log = "all"}}, "--log", "trigger"},
    {"- takes nothing away from a new plan", {.terms = {.retry = "-"}}, "--retry", "want none"},
    {"retry without a pace", {.terms = {.retry = "fixed"}}, "--retry", "want none"},
    {"retry none with a number", {.terms = {.retry = "none:5"}}, "--retry", "want none"},
    {"retry too often",
     {.terms = {.retry = "fixed:1s:1000001"}},
     "--retry",
     "max: want 0..1000000"},
    {"retry with more", {.terms = {.retry = "fixed:1s,later"}}, "--retry", "want none"},
    {"retry with a broken pace", {.terms = {.retry = "sequence:1s//2s"}}, "--retry", "want none"},
    {"--repeat with --in", {.in = "5s", .repeat = "2"}, "--repeat", "only"},
    {"--repeat with nothing", {.repeat = "2"}, "--repeat", "only"},
    {"a duration without a unit", {.in = "5"}, "--in", "want a duration"},
    {"an empty duration", {.in = ""}, "--in", "want a duration"},
    {"a negative duration", {.in = "-5s"}, "--in", "want a duration"},
    {"a unit twice", {.in = "5s5s"}, "--in", "want a duration"},
    {"units upwards", {.in = "5m1h"}, "--in", "want a duration"},
    {"an unknown unit", {.in = "5w"}, "--in", "want a duration"},
    {"a fraction", {.in = "1.5h"}, "--in", "want a duration"},
    {"a unit alone", {.in = "s"}, "--in", "want a duration"},
    {"too many digits", {.in = "9999999999999s"}, "--in", "want a duration"},
    {"past the year 9999", {.in = "251607124799s"}, "--in", "9999"},
    {"more than the years", {.in = "999999999999d"}, "--in", "want a duration"},
    {"--every too long", {.every = "32767s"}, "--every", "plan_value: want 0..32766 seconds"},
    {"--every too fine", {.every = "400d1s"}, "--every", "plan_value: want 0..32766 seconds"},
    {"no date", {.at = "tomorrow"}, "--at", "want an instant"},
    {"Unix seconds", {.at = "1798131600"}, "--at", "want an instant"},
    {"half a time", {.at = "2026-12-24T18"}, "--at", "want an instant"},
    {"a day that is none", {.at = "2026-02-29"}, "--at", "28 days"},
    {"hour 24", {.at = "2026-02-28T24:00"}, "--at", "hour"},
    {"a fraction of a second", {.at = "2026-02-28T12:00:00.5Z"}, "--at", "want an instant"},
    {"a broken offset", {.at = "2026-02-28T12:00+1"}, "--at", "want a time"},
    {"a long offset", {.at = "2026-02-28T12:00+01:00:00"}, "--at", "want an instant"},
    {"local time before 1970", {.at = "1970-01-01T01:00"}, "--at", "1970"},
    {"the instant that means none", {.at = "1970-01-01T02:00"}, "--at", "after 1970"},
    {"a broken start", {.every = "5s", .start = "x"}, "--start", "want an instant"},
    {"no weekday", {.weekly = "xyz"}, "--weekly", "sun..sat or 0..7"},
    {"two letters", {.weekly = "mo"}, "--weekly", "sun..sat or 0..7"},
    {"a name that goes on", {.weekly = "mondays"}, "--weekly", "sun..sat or 0..7"},
    {"weekday 8", {.weekly = "8"}, "--weekly", "sun..sat or 0..7"},
    {"weekday -1", {.weekly = "-1"}, "--weekly", "sun..sat or 0..7"},
    {"a long weekday", {.weekly = "mondaymondaymonday"}, "--weekly", "DAY@HH:MM"},
    {"an empty weekday", {.weekly = "@08:00"}, "--weekly", "sun..sat or 0..7"},
    {"no time", {.weekly = "mon@"}, "--weekly", "DAY@HH:MM"},
    {"hour 24 weekly", {.weekly = "mon@24:00"}, "--weekly", "DAY@HH:MM"},
    {"minute 60", {.weekly = "mon@23:60"}, "--weekly", "DAY@HH:MM"},
    {"one digit", {.weekly = "mon@8:30"}, "--weekly", "DAY@HH:MM"},
    {"a dot", {.weekly = "mon@08.30"}, "--weekly", "DAY@HH:MM"},
    {"day 32", {.monthly = "32"}, "--monthly", "-31..31"},
    {"day -32", {.monthly = "-32@10:00"}, "--monthly", "-31..31"},
    {"no day", {.monthly = "last"}, "--monthly", "-31..31"},
    {"an unknown type", {.type = "year"}, "--type", "plan_type"},
    {"type 8", {.type = "8"}, "--cron", "must be given for type cron"},
    {"type 9", {.type = "9"}, "--type", "plan_type"},
    {"type -1", {.type = "-1"}, "--type", "plan_type"},
    {"no value", {.type = "minute"}, "--value", "plan_value: want 0..32766"},
    {"value too large", {.type = "day", .value = "40000"}, "--value", "want 0..32766"},
    {"value below 0", {.type = "second", .value = "-1"}, "--value", "want 0..32766"},
    {"weekday value", {.type = "week", .value = "8"}, "--value", "want 0..7"},
    {"month value", {.type = "month", .value = "32"}, "--value", "want -31..31"},
    {"value with rubbish", {.type = "day", .value = "1x"}, "--value", "want 0..32766"},
    {"type time without a time", {.type = "time"}, "--time", "plan_time: must be given"},
    {"type time at 0", {.type = "1", .time = "0"}, "--time", "plan_time: must be given"},
    {"time below 0", {.type = "time", .time = "-1"}, "--time", "0..253402300799"},
    {"time too large", {.type = "time", .time = "253402300800"}, "--time", "0..253402300799"},
    {"repeat 0", {.every = "5s", .repeat = "0"}, "--repeat", "plan_repet"},
    {"repeat -2", {.every = "5s", .repeat = "-2"}, "--repeat", "plan_repet"},
    {"repeat too large", {.every = "5s", .repeat = "2147483648"}, "--repeat", "plan_repet"},
    {"repeat in words", {.every = "5s", .repeat = "twice"}, "--repeat", "plan_repet"},
    {"skip all", {.every = "5s", .repeat = "3", .skip = "3"}, "--skip", "less than plan_repet"},
    {"skip the only one", {.in = "5s", .skip = "1"}, "--skip", "less than plan_repet"},
    {"skip below 0", {.every = "5s", .skip = "-1"}, "--skip", "skip_set"},
};

static void what_is_wrong_is_refused_by_name (void **state)
{
    (void)state;
    struct zone *zone = zone_east ();
    for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
        const struct bad *row = &bad_rows[i];
        struct when when = {.skip = 99};
        struct reason reason;
        if (when_read (&row->words, zone, NOW_US, &when, &reason) == 0)
            fail_msg ("%s: taken", row->name);
        if (strncmp (reason.text, row->option, strlen (row->option)) != 0 ||
            !strstr (reason.text, row->rule))
            fail_msg ("%s: told %s", row->name, reason.text);
        if (when.skip != 99)
            fail_msg ("%s: the output was touched", row->name);
    }
    zone_destroy (&zone);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_is_said_is_meant),
        cmocka_unit_test (what_is_wrong_is_refused_by_name),
    };
    return cmocka_run_group_tests_name ("when", tests, NULL, NULL);
}
