// Rows for missed occurrences: which still run, which are dropped, and which are counted.
#include <inttypes.h>

#include "instants.h"
#include "schedule.h"

#define ALL INT64_MAX

enum call { AFTER, STILL, CALLS };

// The dropped occurrences are a count, the first and the last: "3 2026-01-01 .. 2026-01-03".
struct late_row {
    const char *name;
    enum call call;
    struct schedule plan;
    const char *base; // and of which the plan was received
    const char *current;
    int64_t used;
    const char *now;
    int64_t keep;
    const char *oldest;   // NULL: any
    const char *expected; // NULL: never again
    int64_t expected_used;
    int64_t dropped;
    const char *first, *last;
};

// clang-format off
#define HOURS(times) {.type = SCHEDULE_HOUR, .value = 1, .repeat = times}
#define HOURS_TO(times, end) {.type = SCHEDULE_HOUR, .value = 1, .repeat = times, .end_time = end}
#define TURNS {.type = SCHEDULE_HOUR, .repeat = -1, .cycle = &two_one}
#define DAYS(times) {.type = SCHEDULE_DAY, .value = 1, .repeat = times, .wall_clock = true}
#define DAYS_TO(times, end) {.type = SCHEDULE_DAY, .value = 1, .repeat = times, .wall_clock = true, .end_time = end}
#define WEEKS(times) {.type = SCHEDULE_WEEK, .value = 4, .repeat = times}
#define SOON(times) {.type = SCHEDULE_SECOND, .repeat = times}
#define ONCE(kind) {.type = SCHEDULE_##kind, .repeat = 1}

enum { JAN_1 = 1767225600, HOUR = 3600, DAY = 86400 };
#define BASE "2026-01-01"

static const struct cycle two_one = {2, {2, 1}};

// Base 2026-01-01T00:00: number n is at n + 1 o'clock.
static const struct late_row interval_rows[] = {
    {"in time", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T01:00", 0, NULL, "2026-01-01T02:00", 1, 0, NULL, NULL},
    {"now is not missed", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T02:00", 0, NULL, "2026-01-01T02:00", 1, 0, NULL, NULL},
    {"one dropped", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T02:00:01Z", 0, NULL, "2026-01-01T03:00", 2, 1, "2026-01-01T02:00", "2026-01-01T02:00"},
    {"one kept", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T02:00:01Z", 1, NULL, "2026-01-01T02:00", 1, 0, NULL, NULL},
    {"five missed, none kept", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 0, NULL, "2026-01-01T07:00", 6, 5, "2026-01-01T02:00", "2026-01-01T06:00"},
    {"five missed, two kept", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 2, NULL, "2026-01-01T05:00", 4, 3, "2026-01-01T02:00", "2026-01-01T04:00"},
    {"five missed, five kept", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 5, NULL, "2026-01-01T02:00", 1, 0, NULL, NULL},
    {"five missed, more kept", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 6, NULL, "2026-01-01T02:00", 1, 0, NULL, NULL},
    {"five missed, all kept", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", ALL, NULL, "2026-01-01T02:00", 1, 0, NULL, NULL},
    {"all that are not too old", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", ALL, "2026-01-01T04:00", "2026-01-01T04:00", 3, 2, "2026-01-01T02:00", "2026-01-01T03:00"},
    {"too old by a second", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", ALL, "2026-01-01T04:00:01Z", "2026-01-01T05:00", 4, 3, "2026-01-01T02:00", "2026-01-01T04:00"},
    {"two of those", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 2, "2026-01-01T04:00", "2026-01-01T05:00", 4, 3, "2026-01-01T02:00", "2026-01-01T04:00"},
    {"all are too old", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", ALL, "2026-01-01T06:10", "2026-01-01T07:00", 6, 5, "2026-01-01T02:00", "2026-01-01T06:00"},
    {"what is to come is never too old", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", ALL, "2027-01-01", "2026-01-01T07:00", 6, 5, "2026-01-01T02:00", "2026-01-01T06:00"},
    {"dropped ones use up repeats", AFTER, HOURS (6), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 0, NULL, NULL, 0, 5, "2026-01-01T02:00", "2026-01-01T06:00"},
    {"of those there are", AFTER, HOURS (4), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 1, NULL, "2026-01-01T04:00", 3, 2, "2026-01-01T02:00", "2026-01-01T03:00"},
    {"the last one ran", AFTER, HOURS (1), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", ALL, NULL, NULL, 0, 0, NULL, NULL},
    {"the window ended", AFTER, HOURS_TO (-1, JAN_1 + 3 * HOUR), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 0, NULL, NULL, 0, 2, "2026-01-01T02:00", "2026-01-01T03:00"},
    {"the window ended, one is kept", AFTER, HOURS_TO (-1, JAN_1 + 3 * HOUR), BASE, "2026-01-01T01:00", 0, "2026-01-01T06:30", 1, NULL, "2026-01-01T03:00", 2, 1, "2026-01-01T02:00", "2026-01-01T02:00"},
    {"a century is no walk", AFTER, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2126-01-01", 10, NULL, "2125-12-31T14:00", 876565, 876564, "2026-01-01T02:00", "2125-12-31T13:00"},
    {"turns", AFTER, TURNS, BASE, "2026-01-01T02:00", 0, "2026-01-01T08:30", 1, NULL, "2026-01-01T08:00", 4, 3, "2026-01-01T03:00", "2026-01-01T06:00"},
    {"soon: at once", AFTER, SOON (-1), BASE, "2026-01-01T01:00", 5, "2026-01-01T06:30", 0, NULL, "2026-01-01T06:30", 6, 0, NULL, NULL},

    {"still: in time", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T01:00", 0, NULL, "2026-01-01T01:00", 0, 0, NULL, NULL},
    {"still: late", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T01:00:01Z", 0, NULL, "2026-01-01T02:00", 1, 1, "2026-01-01T01:00", "2026-01-01T01:00"},
    {"still: late, and kept", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T01:00:01Z", 1, NULL, "2026-01-01T01:00", 0, 0, NULL, NULL},
    {"still: late, but not too old", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T01:00:30Z", ALL, "2026-01-01T01:00", "2026-01-01T01:00", 0, 0, NULL, NULL},
    {"still: too old", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T01:00:30Z", ALL, "2026-01-01T01:00:01Z", "2026-01-01T02:00", 1, 1, "2026-01-01T01:00", "2026-01-01T01:00"},
    {"still: the newest is another", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T03:30", 1, NULL, "2026-01-01T03:00", 2, 2, "2026-01-01T01:00", "2026-01-01T02:00"},
    {"still: of the newest three", STILL, HOURS (-1), BASE, "2026-01-01T01:00", 0, "2026-01-01T03:30", 3, NULL, "2026-01-01T01:00", 0, 0, NULL, NULL},
    {"still: the last one is dropped", STILL, HOURS (2), BASE, "2026-01-01T02:00", 1, "2026-01-01T03:30", 0, NULL, NULL, 0, 1, "2026-01-01T02:00", "2026-01-01T02:00"},
    {"still: soon is never missed", STILL, SOON (-1), BASE, "2026-01-01T02:00", 7, "2026-01-01T03:30", 0, NULL, "2026-01-01T02:00", 7, 0, NULL, NULL},
    {"still: off the grid, and kept", STILL, HOURS (-1), BASE, "2026-01-01T01:07", 0, "2026-01-01T01:30", 1, NULL, "2026-01-01T01:07", 0, 0, NULL, NULL},

    {"none ran", AFTER, ONCE (NONE), NULL, BASE, 0, "2026-01-02", ALL, NULL, NULL, 0, 0, NULL, NULL},
    {"time ran", AFTER, ONCE (TIME), BASE, BASE, 0, "2026-01-02", ALL, NULL, NULL, 0, 0, NULL, NULL},
    {"none is never missed", STILL, ONCE (NONE), NULL, BASE, 0, "2026-01-02", 0, NULL, BASE, 0, 0, NULL, NULL},
    {"time is missed", STILL, ONCE (TIME), BASE, BASE, 0, "2026-01-02", 0, NULL, NULL, 0, 1, BASE, BASE},
    {"time is kept", STILL, ONCE (TIME), BASE, BASE, 0, "2026-01-02", 1, NULL, BASE, 0, 0, NULL, NULL},
    {"time is too old", STILL, ONCE (TIME), BASE, BASE, 0, "2026-01-02", ALL, "2026-01-01T00:00:01Z", NULL, 0, 1, BASE, BASE},
    {"time is in time", STILL, ONCE (TIME), BASE, BASE, 0, BASE, 0, NULL, BASE, 0, 0, NULL, NULL},
};

// 2026-01-01 is a Thursday. Dropped ones use up no repeats.
static const struct late_row calendar_rows[] = {
    {"days: in time", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-02", 0, NULL, "2026-01-03", 1, 0, NULL, NULL},
    {"days: now is not missed", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-03", 0, NULL, "2026-01-03", 1, 0, NULL, NULL},
    {"days: one dropped", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-03T00:00:01Z", 0, NULL, "2026-01-04", 1, 1, "2026-01-03", "2026-01-03"},
    {"days: five missed, two kept", AFTER, DAYS (2), BASE, "2026-01-02", 0, "2026-01-07T12:00", 2, NULL, "2026-01-06", 1, 3, "2026-01-03", "2026-01-05"},
    {"days: five missed, five kept", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", 5, NULL, "2026-01-03", 1, 0, NULL, NULL},
    {"days: five missed, more kept", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", 1000, NULL, "2026-01-03", 1, 0, NULL, NULL},
    {"days: five missed, all kept", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", ALL, NULL, "2026-01-03", 1, 0, NULL, NULL},
    {"days: not too old", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", ALL, "2026-01-05", "2026-01-05", 1, 2, "2026-01-03", "2026-01-04"},
    {"days: two of those", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", 2, "2026-01-05", "2026-01-06", 1, 3, "2026-01-03", "2026-01-05"},
    {"days: all are too old", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", 9, "2026-01-07T00:00:01Z", "2026-01-08", 1, 5, "2026-01-03", "2026-01-07"},
    {"days: what is to come is never too old", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2026-01-07T12:00", ALL, "2027-01-01", "2026-01-08", 1, 5, "2026-01-03", "2026-01-07"},
    {"days: the last one ran", AFTER, DAYS (1), BASE, "2026-01-02", 0, "2026-01-07T12:00", ALL, NULL, NULL, 0, 0, NULL, NULL},
    {"days: the window ended", AFTER, DAYS_TO (-1, JAN_1 + 3 * DAY), BASE, "2026-01-02", 0, "2026-01-07T12:00", 0, NULL, NULL, 0, 2, "2026-01-03", "2026-01-04"},
    {"days: the window ended, one is kept", AFTER, DAYS_TO (-1, JAN_1 + 3 * DAY), BASE, "2026-01-02", 0, "2026-01-07T12:00", 1, NULL, "2026-01-04", 1, 1, "2026-01-03", "2026-01-03"},
    {"days: the window ended, all are too old", AFTER, DAYS_TO (-1, JAN_1 + 3 * DAY), BASE, "2026-01-02", 0, "2026-01-07T12:00", ALL, "2026-01-06", NULL, 0, 2, "2026-01-03", "2026-01-04"},
    {"days: the window will begin", AFTER, {.type = SCHEDULE_DAY, .value = 1, .repeat = -1, .wall_clock = true, .start_time = JAN_1 + 9 * DAY}, BASE, "2026-01-02", 0, "2026-01-07T12:00", 0, NULL, "2026-01-10", 1, 0, NULL, NULL},
    {"weeks", AFTER, WEEKS (2), NULL, BASE, 0, "2026-02-01", 1, NULL, "2026-01-29", 1, 3, "2026-01-08", "2026-01-22"},
    {"weeks of a century", AFTER, WEEKS (-1), NULL, BASE, 0, "2126-01-01", 0, NULL, "2126-01-03", 1, 5217, "2026-01-08", "2125-12-27"},
    {"more than are counted", AFTER, DAYS (-1), BASE, "2026-01-02", 0, "2326-01-01", 2, NULL, "2325-12-30", 1, -SCHEDULE_WALK_MAX, "2026-01-03", "2325-12-29"},

    {"still: days, in time", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-02", 0, NULL, "2026-01-02", 4, 0, NULL, NULL},
    {"still: days, late", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-02T00:00:01Z", 0, NULL, "2026-01-03", 4, 1, "2026-01-02", "2026-01-02"},
    {"still: days, late, and kept", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-02T00:00:01Z", 1, NULL, "2026-01-02", 4, 0, NULL, NULL},
    {"still: days, not too old", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-02T00:00:30Z", ALL, "2026-01-02", "2026-01-02", 4, 0, NULL, NULL},
    {"still: days, too old", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-02T00:00:30Z", ALL, "2026-01-02T00:00:01Z", "2026-01-03", 4, 1, "2026-01-02", "2026-01-02"},
    {"still: days, the newest is another", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-04T12:00", 1, NULL, "2026-01-04", 4, 2, "2026-01-02", "2026-01-03"},
    {"still: days, of the newest three", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-04T12:00", 3, NULL, "2026-01-02", 4, 0, NULL, NULL},
    {"still: days, two of three", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-04T12:00", 2, NULL, "2026-01-03", 4, 1, "2026-01-02", "2026-01-02"},
    {"still: days, it alone is too old", STILL, DAYS (-1), BASE, "2026-01-02", 4, "2026-01-04T12:00", ALL, "2026-01-03", "2026-01-03", 4, 1, "2026-01-02", "2026-01-02"},
    {"still: the last repeat is not used up", STILL, DAYS (5), BASE, "2026-01-02", 4, "2026-01-04T12:00", 0, NULL, "2026-01-05", 4, 3, "2026-01-02", "2026-01-04"},
    {"still: the window ended", STILL, DAYS_TO (-1, JAN_1 + 3 * DAY), BASE, "2026-01-02", 0, "2026-01-07T12:00", 0, NULL, NULL, 0, 3, "2026-01-02", "2026-01-04"},
    {"still: more than are counted", STILL, DAYS (-1), BASE, "2026-01-02", 0, "2326-01-01", 0, NULL, "2326-01-01", 0, -SCHEDULE_WALK_MAX - 1, "2026-01-02", "2325-12-31"},
};
// clang-format on

static void check_row (const struct late_row *row)
{
    struct zone *zone = zone_named (NULL);
    struct schedule plan = row->plan;
    plan.base_time = plan.received = instant (row->base);
    const struct occurrence current = {instant (row->current), row->used};
    const struct catch_up catch_up = {row->keep, instant (row->oldest)};
    struct missed missed = {-1, -1, -1, true};
    struct occurrence got = {-1, -1}, silent = {-1, -1};
    bool (*const calls[CALLS]) (const struct schedule *, const struct zone *,
                                const struct occurrence *, int64_t, const struct catch_up *,
                                struct missed *,
                                struct occurrence *) = {schedule_after, schedule_at_or_after};
    bool more =
        calls[row->call](&plan, zone, &current, instant (row->now), &catch_up, &missed, &got);
    calls[row->call](&plan, zone, &current, instant (row->now), &catch_up, NULL, &silent);
    CHECK_INT (row->name, more, row->expected != NULL);
    CHECK_INT (row->name, got.time, row->expected ? instant (row->expected) : -1);
    CHECK_INT (row->name, got.used, row->expected ? row->expected_used : -1);
    CHECK_INT (row->name, silent.time, got.time);
    CHECK_INT (row->name, silent.used, got.used);
    // A negative number: so many were counted, and there are more.
    CHECK_INT (row->name, missed.count, row->dropped < 0 ? -row->dropped : row->dropped);
    CHECK_INT (row->name, missed.more, row->dropped < 0);
    CHECK_INT (row->name, missed.first, instant (row->first));
    CHECK_INT (row->name, missed.last, instant (row->last));
    zone_destroy (&zone);
}

static void test_intervals (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (interval_rows); i++)
        check_row (&interval_rows[i]);
}

static void test_calendar (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (calendar_rows); i++)
        check_row (&calendar_rows[i]);
}

// -- the whole, against a list of all occurrences

enum { LISTED_MAX = 400 };

// What a list of occurrences from `current` on, first to last, says.
static void check_by_list (const char *name, const struct schedule *plan, const struct zone *zone,
                           const struct occurrence *all, size_t count, uint64_t *random)
{
    size_t at = next_random (random) % count;
    int64_t span = all[count - 1].time - all[at].time + 2;
    int64_t now = all[at].time + (int64_t)(next_random (random) % (uint64_t)span);
    int64_t keep = next_random (random) % 4 ? (int64_t)(*random / 4 % 12) : ALL;
    int64_t oldest = next_random (random) % 2 ? 0 : now - (int64_t)(*random / 2 % (uint64_t)span);
    bool still = next_random (random) % 2;
    size_t first = at + !still, past = first;
    while (past < count && all[past].time < now)
        past++;
    size_t kept = past;
    for (int64_t left = keep; kept > first && left > 0 && all[kept - 1].time >= oldest; left--)
        kept--;
    struct catch_up catch_up = {keep, oldest};
    struct missed missed;
    struct occurrence got = {-1, -1};
    (still ? schedule_at_or_after : schedule_after) (plan, zone, &all[at], now, &catch_up, &missed,
                                                     &got);
    if (kept == count) // occurrences after the list are unknown
        return;
    CHECK_INT (name, got.time, all[kept].time);
    CHECK_INT (name, missed.count, (int64_t)(kept - first));
    CHECK_INT (name, missed.first, kept > first ? all[first].time : 0);
    CHECK_INT (name, missed.last, kept > first ? all[kept - 1].time : 0);
}

static void test_by_list (void **state)
{
    (void)state;
    static const char *const zones[] = {"UTC", "Europe/Berlin", "Pacific/Apia"};
    struct reason reason = {""};
    struct span text = span_text ("*/20 1-3 * * *");
    struct cron *cron = cron_new (&text, 1, &reason);
    uint64_t random = 88172645463325252U;
    for (size_t round = 0; round < 600; round++) {
        struct zone *zone = zone_named (zones[round % ROWS (zones)]);
        struct schedule plan = {
            .type = SCHEDULE_SECOND + (enum schedule_type) (next_random (&random) % 7),
            .repeat = SCHEDULE_FOREVER,
            .wall_clock = next_random (&random) % 2,
            .gap = (enum zone_gap) (next_random (&random) % 2),
            .overlap = (enum zone_overlap) (next_random (&random) % 3),
            .cycle = next_random (&random) % 4 ? NULL : &two_one,
            .cron = cron,
            .received = instant (round % 2 ? "2011-11-28" : "2026-02-27T01:30"),
        };
        plan.value = plan.type == SCHEDULE_CRON ? 0 : 1 + (int32_t)(next_random (&random) % 6);
        struct occurrence all[LISTED_MAX];
        size_t count = 1;
        char name[64];
        snprintf (name, sizeof name, "round %zu, type %s", round, schedule_type_name (plan.type));
        assert_true (schedule_first (&plan, zone, plan.received, 0, &all[0]));
        for (; count < LISTED_MAX; count++)
            assert_true (
                schedule_next (&plan, zone, &all[count - 1], all[count - 1].time, &all[count]));
        for (int i = 0; i < 20; i++)
            check_by_list (name, &plan, zone, all, count, &random);
        zone_destroy (&zone);
    }
    cron_destroy (&cron);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_intervals),
        cmocka_unit_test (test_calendar),
        cmocka_unit_test (test_by_list),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
