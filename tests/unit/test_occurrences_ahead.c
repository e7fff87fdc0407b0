// Skipped occurrences are counted in UTC, whatever the zone in which they were skipped.
#include <string.h>

#include "occurrences_ahead.h"
#include "rows.h"
#include "zonefile.h"

// 2026-11-20T12:00:00Z
#define NOW INT64_C (1795176000)

enum { HOUR = 3600, DAY = 24 * HOUR };

static struct zone *load (const char *name)
{
    struct reason reason;
    struct zone *zone = zonefile_load (name, &reason);
    if (!zone)
        fail_msg ("%s: %s", name, reason.text);
    return zone;
}

// Check in this zone each number of skips, on each day that a rule can name, at midnight and later.
static void check_zone (const char *name, const struct zone *utc)
{
    struct zone *zone = load (name);
    struct schedule rule = {.repeat = SCHEDULE_FOREVER};
    for (int type = 0; type < SCHEDULE_TYPES; type++) {
        rule.type = (enum schedule_type)type;
        if (!schedule_is_calendar (&rule) || type == SCHEDULE_CRON)
            continue;
        struct value_range values = schedule_value_range (rule.type);
        for (rule.value = values.min; rule.value <= values.max; rule.value++)
            for (int64_t hour = 1; hour < 24; hour += 11)
                for (int64_t skip = 0; skip < 40; skip += 1 + skip / 4) {
                    struct occurrence next;
                    rule.base_time = NOW + hour * HOUR + HOUR / 2;
                    CHECK (name, schedule_first (&rule, zone, NOW, skip, &next));
                    struct schedule copy = {.type = rule.type, .value = rule.value};
                    CHECK_INT (name, occurrences_ahead (&copy, utc, NOW, next.time), skip);
                    CHECK_INT (name, occurrences_ahead (&copy, zone, NOW, next.time), skip);
                }
    }
    zone_destroy (&zone);
}

static void skips_are_counted (void **state)
{
    static const char *const names[] = {
        "UTC",        "Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati",
        "Etc/GMT+12", "Asia/Kolkata"};
    (void)state;
    struct zone *utc = load ("UTC");
    for (size_t i = 0; i < ROWS (names); i++)
        check_zone (names[i], utc);
    zone_destroy (&utc);
}

// Skips are also counted for rules with a zone of their own, and for rules that begin later.
static void skips_of_other_rules_are_counted (void **state)
{
    struct reason reason;
    struct span text = span_text ("30 2 * * MON-FRI");
    struct cron *cron = cron_new (&text, 1, &reason);
    struct cycle cycle = {.count = 2, .durations = {1, 3}};
    const struct {
        const char *name;
        struct schedule rule;
    } rows[] = {
        {"cron", {.type = SCHEDULE_CRON, .cron = cron}},
        {"cron that begins later",
         {.type = SCHEDULE_CRON, .cron = cron, .start_time = NOW + 400 * DAY}},
        {"days of a calendar",
         {.type = SCHEDULE_DAY, .value = 2, .base_time = NOW - 200 * DAY, .wall_clock = true}},
        {"days in turn",
         {.type = SCHEDULE_DAY, .cycle = &cycle, .base_time = NOW - 200 * DAY, .wall_clock = true}},
        {"a week with a zone",
         {.type = SCHEDULE_WEEK, .value = 1, .base_time = NOW, .wall_clock = true}},
        {"a week that begins later",
         {.type = SCHEDULE_WEEK, .value = 1, .base_time = NOW, .start_time = NOW + 400 * DAY}},
    };
    (void)state;
    struct zone *berlin = load ("Europe/Berlin");
    for (size_t i = 0; i < ROWS (rows); i++)
        for (int64_t skip = 0; skip < 200; skip += 1 + skip / 4) {
            struct schedule rule = rows[i].rule;
            struct occurrence next;
            rule.repeat = SCHEDULE_FOREVER;
            CHECK (rows[i].name, schedule_first (&rule, berlin, NOW, skip, &next));
            CHECK_INT (rows[i].name, occurrences_ahead (&rows[i].rule, berlin, NOW, next.time),
                       skip);
        }
    zone_destroy (&berlin);
    cron_destroy (&cron);
}

static void what_is_no_occurrence_has_none_before_it (void **state)
{
    static const struct {
        const char *name;
        struct schedule rule;
        int64_t next;
    } rows[] = {
        {"past", {.type = SCHEDULE_WEEK, .value = 1}, NOW - DAY},
        {"now", {.type = SCHEDULE_WEEK, .value = 5}, NOW},
        {"never", {.type = SCHEDULE_WEEK, .value = 1}, 0},
        {"another weekday", {.type = SCHEDULE_WEEK, .value = 4}, NOW + 10 * DAY},
        {"a weekday that is none", {.type = SCHEDULE_WEEK, .value = 9}, NOW + 10 * DAY},
        {"a day that is none", {.type = SCHEDULE_MONTH, .value = 77}, NOW + 100 * DAY},
        {"an interval", {.type = SCHEDULE_DAY, .value = 1}, NOW + 10 * DAY},
        {"too far", {.type = SCHEDULE_WEEK, .value = 1}, SCHEDULE_TIME_MAX},
    };
    (void)state;
    struct zone *utc = load ("UTC");
    for (size_t i = 0; i < ROWS (rows); i++)
        CHECK_INT (rows[i].name, occurrences_ahead (&rows[i].rule, utc, NOW, rows[i].next), 0);
    zone_destroy (&utc);
}

static void the_last_month_is_reached (void **state)
{
    struct schedule rule = {.type = SCHEDULE_MONTH, .value = 15};
    (void)state;
    struct zone *utc = load ("UTC");
    // 9999-11-15T00:00:00Z, from December 2026 on
    CHECK_INT ("9999", occurrences_ahead (&rule, utc, NOW, INT64_C (253398240000)), 7972 * 12 + 11);
    zone_destroy (&utc);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (skips_are_counted),
        cmocka_unit_test (skips_of_other_rules_are_counted),
        cmocka_unit_test (what_is_no_occurrence_has_none_before_it),
        cmocka_unit_test (the_last_month_is_reached),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
