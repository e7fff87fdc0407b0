// Missed occurrences: each kind of schedule under each policy, found when a run ends (misses_next)
// or when a plan is claimed late (misses_skip_late, misses_after_end).
// Source: proto 6.3; features D004, D007.
#include "misses.h"
#include "plan_json.h"
#include "rows.h"

#define TENS  "\"plan_type\":2,\"plan_value\":10,\"base_time\":1000,\"plan_repet\":"
#define CRON  "\"plan_type\":8,\"plan_repet\":-1,\"cron\":\"*/10 * * * * *\""
#define FIRST "\"plan_type\":7,\"plan_value\":1,\"plan_repet\":-1"
#define DAYS                                                                                       \
    "\"plan_type\":5,\"plan_value\":1,\"plan_repet\":-1,\"base_time\":518400,\"no_keep\":true"
#define DAY 86400

static struct plan *plan_of (const char *name, const char *fields, int64_t plan_time)
{
    char text[512];
    struct reason reason = {""};
    snprintf (text, sizeof text,
              "{\"request_id\":\"\",\"station\":\"api1\",\"caller\":\"\",\"description\":\"\","
              "\"messages\":[],\"plan_time\":%lld,%s}",
              (long long)plan_time, fields);
    struct plan *plan = plan_from_stored_json (0x1f, span_text (text), &reason);
    if (!plan)
        fail_msg ("%s: %s", name, reason.text);
    return plan;
}

static void check_missed (const char *name, const struct misses *got, const struct misses *want)
{
    CHECK_INT (name, got->missed.count, want->missed.count);
    CHECK_INT (name, got->missed.first, want->missed.first);
    CHECK_INT (name, got->missed.last, want->missed.last);
    CHECK_INT (name, got->missed.more, want->missed.more);
    CHECK_TEXT (name, got->why ? got->why : "", want->why ? want->why : "");
}

// -- when the plan is submitted, at 1105

// clang-format off
static const struct submit_row {
    const char *name, *fields;
    int64_t next, used;   // 0: it is refused
    struct missed missed; // before the submission
} submit_rows[] = {
    {"nothing is said", TENS "99", 1110, 10, {10, 1010, 1100, false}},
    {"skip", TENS "99,\"misfire\":\"skip\"", 1110, 10, {10, 1010, 1100, false}},
    {"latest", TENS "99,\"misfire\":\"latest\"", 1100, 9, {9, 1010, 1090, false}},
    {"the newest 3", TENS "99,\"misfire\":3", 1080, 7, {7, 1010, 1070, false}},
    {"the newest 10", TENS "99,\"misfire\":10", 1010, 0, {0}},
    {"the newest 1000", TENS "99,\"misfire\":1000", 1010, 0, {0}},
    {"all", TENS "99,\"misfire\":\"all\"", 1010, 0, {0}},
    {"no_keep", TENS "99,\"no_keep\":true", 1010, 0, {0}},
    {"all, within a window", TENS "99,\"misfire\":\"all\",\"misfire_window\":30", 1080, 7, {7, 1010, 1070, false}},
    {"no_keep, within a window", TENS "99,\"no_keep\":true,\"misfire_window\":30", 1080, 7, {7, 1010, 1070, false}},
    {"latest, within a window over none", TENS "99,\"misfire\":\"latest\",\"misfire_window\":4", 1110, 10, {10, 1010, 1100, false}},
    {"skip, with a window over some", TENS "99,\"misfire_window\":30", 1110, 10, {10, 1010, 1100, false}},
    {"what is skipped is not missed", TENS "99,\"misfire\":3,\"skip_set\":2", 1100, 9, {7, 1010, 1070, false}},
    {"the last are missed", TENS "5", 0, 0, {0}},
    {"the last is the newest", TENS "5,\"misfire\":\"latest\"", 1050, 4, {4, 1010, 1040, false}},
    {"the last is behind the window", TENS "5,\"misfire\":\"all\",\"misfire_window\":30", 0, 0, {0}},
    {"only those from start_time on", TENS "99,\"misfire\":\"latest\",\"start_time\":1055", 1100, 4, {4, 1060, 1090, false}},
    {"end_time is past", TENS "99,\"misfire\":\"latest\",\"end_time\":1045", 0, 0, {0}},
    {"time", "\"plan_type\":1,\"base_time\":1010", 0, 0, {0}},
    {"time, latest", "\"plan_type\":1,\"base_time\":1010,\"misfire\":\"latest\"", 1010, 0, {0}},
    {"time, a number", "\"plan_type\":1,\"base_time\":1010,\"misfire\":7", 1010, 0, {0}},
    {"time, within a window", "\"plan_type\":1,\"base_time\":1010,\"misfire\":\"latest\",\"misfire_window\":95", 1010, 0, {0}},
    {"time, behind a window", "\"plan_type\":1,\"base_time\":1010,\"misfire\":\"all\",\"misfire_window\":94", 0, 0, {0}},
    {"none", "\"plan_type\":0,\"misfire\":\"latest\"", 1105, 0, {0}},
    {"value 0", "\"plan_type\":2,\"plan_value\":0,\"plan_repet\":999,\"base_time\":1000", 1105, 105, {105, 1000, 1104, false}},
    {"a cycle, latest", "\"plan_type\":2,\"plan_value\":0,\"plan_repet\":9,\"base_time\":1000,\"cycle\":[10,30],\"misfire\":\"latest\"", 1090, 4, {4, 1010, 1080, false}},
    {"cron begins when it is submitted", CRON ",\"misfire\":\"all\"", 1110, 0, {0}},
    {"month begins when it is submitted", FIRST ",\"misfire\":\"all\",\"start_time\":5", 31 * DAY, 0, {0}},
};
// clang-format on

static void at_the_submission (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (submit_rows); i++) {
        const struct submit_row *row = &submit_rows[i];
        struct plan *plan = plan_of (row->name, row->fields, 0);
        struct misses misses;
        struct occurrence first = {0};
        bool runs = misses_find_first (plan, zone, 1105, &misses, &first);
        CHECK_INT (row->name, runs, row->next != 0);
        CHECK_INT (row->name, first.time, row->next);
        CHECK_INT (row->name, first.used, row->used);
        if (runs)
            check_missed (row->name, &misses,
                          &(struct misses){row->missed, row->missed.count ? "submission" : NULL});
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

// -- when the run of the present occurrence is over

// clang-format off
static const struct next_row {
    const char *name, *fields;
    int64_t plan_time;    // of the run that is over
    struct moments at;
    int64_t next, used;   // 0: that was the last
    struct misses misses; // count, first, last
} next_rows[] = {
    {"nothing is missed", TENS "99", 1010, {1010, 1011}, 1020, 1, {{0}, NULL}},
    {"due in this second", TENS "99", 1010, {1010, 1020}, 1020, 1, {{0}, NULL}},
    {"an outage, by default", TENS "99", 1010, {1105, 1106}, 1110, 10, {{9, 1020, 1100, false}, "misfire"}},
    {"skip", TENS "99,\"misfire\":\"skip\"", 1010, {1105, 1106}, 1110, 10, {{9, 1020, 1100, false}, "misfire"}},
    {"all", TENS "99,\"misfire\":\"all\"", 1010, {1105, 1106}, 1020, 1, {{0}, NULL}},
    {"no_keep is all", TENS "99,\"no_keep\":true", 1010, {1105, 1106}, 1020, 1, {{0}, NULL}},
    {"no_keep beside another policy", TENS "99,\"no_keep\":true,\"timeout\":9", 1010, {1105, 1106}, 1020, 1, {{0}, NULL}},
    {"latest", TENS "99,\"misfire\":\"latest\"", 1010, {1105, 1106}, 1100, 9, {{8, 1020, 1090, false}, "misfire"}},
    {"the newest 3", TENS "99,\"misfire\":3", 1010, {1105, 1106}, 1080, 7, {{6, 1020, 1070, false}, "misfire"}},
    {"the newest 1000", TENS "99,\"misfire\":1000", 1010, {1105, 1106}, 1020, 1, {{0}, NULL}},
    {"all, within a window", TENS "99,\"misfire\":\"all\",\"misfire_window\":30", 1010, {1105, 1106}, 1080, 7, {{6, 1020, 1070, false}, "misfire"}},
    {"no_keep, within a window", TENS "99,\"no_keep\":true,\"misfire_window\":30", 1010, {1105, 1106}, 1080, 7, {{6, 1020, 1070, false}, "misfire"}},
    {"3, within a window of 2", TENS "99,\"misfire\":3,\"misfire_window\":20", 1010, {1105, 1106}, 1090, 8, {{7, 1020, 1080, false}, "misfire"}},
    {"latest, within a window of none", TENS "99,\"misfire\":\"latest\",\"misfire_window\":5", 1010, {1105, 1106}, 1110, 10, {{9, 1020, 1100, false}, "misfire"}},

    {"a long run, by default", TENS "99", 1010, {1010, 1045}, 1050, 4, {{3, 1020, 1040, false}, "overlap"}},
    {"a long run, skip", TENS "99,\"overlap_policy\":\"skip\"", 1010, {1010, 1045}, 1050, 4, {{3, 1020, 1040, false}, "overlap"}},
    {"a long run, queue", TENS "99,\"overlap_policy\":\"queue\"", 1010, {1010, 1045}, 1040, 3, {{2, 1020, 1030, false}, "overlap"}},
    {"a long run, queue of one", TENS "99,\"overlap_policy\":\"queue\"", 1010, {1010, 1025}, 1020, 1, {{0}, NULL}},
    {"a long run, all", TENS "99,\"misfire\":\"all\"", 1010, {1010, 1045}, 1020, 1, {{0}, NULL}},
    {"a long run, all but overlaps", TENS "99,\"misfire\":\"all\",\"overlap_policy\":\"skip\"", 1010, {1010, 1045}, 1050, 4, {{3, 1020, 1040, false}, "overlap"}},
    {"a long run, no_keep but one of the overlaps", TENS "99,\"no_keep\":true,\"overlap_policy\":\"queue\"", 1010, {1010, 1045}, 1040, 3, {{2, 1020, 1030, false}, "overlap"}},
    {"a long run, latest", TENS "99,\"misfire\":\"latest\"", 1010, {1010, 1045}, 1050, 4, {{3, 1020, 1040, false}, "overlap"}},
    {"a late, long run", TENS "99", 1010, {1035, 1065}, 1070, 6, {{5, 1020, 1060, false}, "overlap"}},
    {"a late, long run, latest and queue", TENS "99,\"misfire\":\"latest\",\"overlap_policy\":\"queue\"", 1010, {1035, 1065}, 1030, 2, {{1, 1020, 1020, false}, "misfire"}},
    {"a late, long run, queue", TENS "99,\"overlap_policy\":\"queue\"", 1010, {1035, 1065}, 1060, 5, {{4, 1020, 1050, false}, "overlap"}},
    {"claimed before its time", TENS "99", 1010, {900, 1045}, 1050, 4, {{3, 1020, 1040, false}, "overlap"}},
    {"claimed after now", TENS "99", 1010, {9000, 1045}, 1050, 4, {{3, 1020, 1040, false}, "misfire"}},

    {"the last by misfires", TENS "3", 1010, {1105, 1106}, 0, 0, {{2, 1020, 1030, false}, "misfire"}},
    {"the last by overlaps", TENS "3", 1010, {1010, 1045}, 0, 0, {{2, 1020, 1030, false}, "overlap"}},
    {"the last of all", TENS "1", 1010, {1105, 1106}, 0, 0, {{0}, NULL}},
    {"the last two by latest", TENS "3,\"misfire\":\"latest\"", 1010, {1105, 1106}, 1030, 2, {{1, 1020, 1020, false}, "misfire"}},
    {"nothing behind end_time", TENS "99,\"end_time\":1035", 1010, {1105, 1106}, 0, 0, {{2, 1020, 1030, false}, "misfire"}},
    {"all, up to end_time", TENS "99,\"end_time\":1035,\"misfire\":\"all\",\"skip_num\":2", 1030, {1105, 1106}, 0, 0, {{0}, NULL}},

    {"value 0 has nothing to miss", "\"plan_type\":2,\"plan_value\":0,\"plan_repet\":9,\"base_time\":1000", 1010, {1010, 1045}, 1045, 1, {{0}, NULL}},
    {"value 0, late", "\"plan_type\":4,\"plan_value\":0,\"plan_repet\":9,\"base_time\":1000", 1010, {1105, 1206}, 1206, 1, {{0}, NULL}},
    {"value 0, keep", "\"plan_type\":2,\"plan_value\":0,\"plan_repet\":9,\"base_time\":1000,\"no_keep\":true", 1010, {1010, 1045}, 1045, 1, {{0}, NULL}},
    {"a cycle", "\"plan_type\":2,\"plan_value\":0,\"plan_repet\":9,\"base_time\":1000,\"cycle\":[10,20]", 1010, {1075, 1075}, 1090, 5, {{4, 1030, 1070, false}, "misfire"}},

    {"cron uses up no repeats", CRON, 1010, {1105, 1106}, 1110, 1, {{9, 1020, 1100, false}, "misfire"}},
    {"cron, all", CRON ",\"misfire\":\"all\"", 1010, {1105, 1106}, 1020, 1, {{0}, NULL}},
    {"cron, no_keep says nothing", CRON ",\"no_keep\":true", 1010, {1105, 1106}, 1110, 1, {{9, 1020, 1100, false}, "misfire"}},
    {"cron, latest", CRON ",\"misfire\":\"latest\"", 1010, {1105, 1106}, 1100, 1, {{8, 1020, 1090, false}, "misfire"}},
    {"cron, the newest 3", CRON ",\"misfire\":3", 1010, {1105, 1106}, 1080, 1, {{6, 1020, 1070, false}, "misfire"}},
    {"cron, all within a window", CRON ",\"misfire\":\"all\",\"misfire_window\":30", 1010, {1105, 1106}, 1080, 1, {{6, 1020, 1070, false}, "misfire"}},
    {"cron, a long run", CRON, 1010, {1010, 1045}, 1050, 1, {{3, 1020, 1040, false}, "overlap"}},
    {"cron, a long run, queue", CRON ",\"overlap_policy\":\"queue\"", 1010, {1010, 1045}, 1040, 1, {{2, 1020, 1030, false}, "overlap"}},
    {"cron, more than are counted", CRON, 1010, {1010 + 1100000, 1010 + 1100000}, 1010 + 1100000, 1, {{100000, 1020, 1000 + 1100000, true}, "misfire"}},

    {"month", FIRST, 31 * DAY, {121 * DAY, 121 * DAY}, 151 * DAY, 1, {{3, 59 * DAY, 120 * DAY, false}, "misfire"}},
    {"month, all", FIRST ",\"misfire\":\"all\"", 31 * DAY, {121 * DAY, 121 * DAY}, 59 * DAY, 1, {{0}, NULL}},
    {"month, latest", FIRST ",\"misfire\":\"latest\"", 31 * DAY, {121 * DAY, 121 * DAY}, 120 * DAY, 1, {{2, 59 * DAY, 90 * DAY, false}, "misfire"}},
    {"month, no_keep says nothing", FIRST ",\"no_keep\":true", 31 * DAY, {121 * DAY, 121 * DAY}, 151 * DAY, 1, {{3, 59 * DAY, 120 * DAY, false}, "misfire"}},
    {"days with a timezone, no_keep says nothing", DAYS ",\"timezone\":\"UTC\"", 7 * DAY, {10 * DAY + 9, 10 * DAY + 9}, 11 * DAY, 1, {{3, 8 * DAY, 10 * DAY, false}, "misfire"}},
    {"days with a timezone, a long run, no_keep says nothing", DAYS ",\"timezone\":\"UTC\"", 7 * DAY, {7 * DAY, 10 * DAY + 9}, 11 * DAY, 1, {{3, 8 * DAY, 10 * DAY, false}, "overlap"}},
    {"days without one, no_keep", DAYS, 7 * DAY, {10 * DAY + 9, 10 * DAY + 9}, 8 * DAY, 1, {{0}, NULL}},
    {"week, the newest 2", "\"plan_type\":6,\"plan_value\":4,\"plan_repet\":-1,\"misfire\":2", 7 * DAY, {36 * DAY, 36 * DAY}, 28 * DAY, 1, {{2, 14 * DAY, 21 * DAY, false}, "misfire"}},
    {"none", "\"plan_type\":0", 1010, {1105, 1106}, 0, 0, {{0}, NULL}},
    {"time", "\"plan_type\":1,\"base_time\":1010", 1010, {1105, 1106}, 0, 0, {{0}, NULL}},
};
// clang-format on

static void behind_a_run (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (next_rows); i++) {
        const struct next_row *row = &next_rows[i];
        struct plan *plan = plan_of (row->name, row->fields, row->plan_time);
        struct misses misses;
        struct occurrence next = {0};
        bool more = misses_next (plan, zone, &row->at, &misses, &next);
        CHECK_INT (row->name, more, row->next != 0);
        CHECK_INT (row->name, next.time, row->next);
        CHECK_INT (row->name, next.used, row->used);
        check_missed (row->name, &misses, &row->misses);
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

// -- when the present occurrence is claimed

// clang-format off
static const struct claim_row {
    const char *name, *fields; // the present occurrence is that of 1010
    int64_t now;
    bool passed, ended;
    int64_t next, used;
    struct missed missed;
} claim_rows[] = {
    {"nothing is said", TENS "99", 1105, false, false, 0, 0, {0}},
    {"skip: the one that waits runs late", TENS "99,\"misfire\":\"skip\"", 1105, false, false, 0, 0, {0}},
    {"all: they run in order", TENS "99,\"misfire\":\"all\"", 1105, false, false, 0, 0, {0}},
    {"skip, at the end of the window", TENS "99,\"misfire_window\":30", 1040, false, false, 0, 0, {0}},
    {"skip, behind the window", TENS "99,\"misfire_window\":30", 1041, true, false, 1050, 4, {4, 1010, 1040, false}},
    {"skip, the next is due now", TENS "99,\"misfire_window\":30,\"misfire\":\"skip\"", 1050, true, false, 1050, 4, {4, 1010, 1040, false}},
    {"latest, in time", TENS "99,\"misfire\":\"latest\"", 1010, false, false, 0, 0, {0}},
    {"latest, a little late", TENS "99,\"misfire\":\"latest\"", 1019, false, false, 0, 0, {0}},
    {"latest, the next is due", TENS "99,\"misfire\":\"latest\"", 1020, false, false, 0, 0, {0}},
    {"latest, late", TENS "99,\"misfire\":\"latest\"", 1105, true, false, 1100, 9, {9, 1010, 1090, false}},
    {"latest, late, within a window", TENS "99,\"misfire\":\"latest\",\"misfire_window\":5", 1105, true, false, 1100, 9, {9, 1010, 1090, false}},
    {"latest, behind the window", TENS "99,\"misfire\":\"latest\",\"misfire_window\":4", 1105, true, false, 1110, 10, {10, 1010, 1100, false}},
    {"3", TENS "99,\"misfire\":3", 1105, true, false, 1080, 7, {7, 1010, 1070, false}},
    {"10, of 10", TENS "99,\"misfire\":10", 1105, false, false, 0, 0, {0}},
    {"all, within a window", TENS "99,\"misfire\":\"all\",\"misfire_window\":30", 1105, true, false, 1080, 7, {7, 1010, 1070, false}},
    {"no_keep, within a window", TENS "99,\"no_keep\":true,\"misfire_window\":30", 1105, true, false, 1080, 7, {7, 1010, 1070, false}},
    {"no_keep without one", TENS "99,\"no_keep\":true,\"timeout\":5", 1105, false, false, 0, 0, {0}},
    {"a retry is not late", TENS "99,\"misfire_window\":30,\"error_count\":1", 1105, false, false, 0, 0, {0}},
    {"one that was not taken is", TENS "99,\"misfire\":\"latest\",\"tries\":1", 1105, true, false, 1100, 9, {9, 1010, 1090, false}},
    {"the same without retries", TENS "99,\"misfire\":\"latest\",\"error_count\":2,\"tries\":2,\"last_state\":136", 1105, true, false, 1100, 9, {9, 1010, 1090, false}},
    {"one that failed, and was not taken then, is none", TENS "99,\"misfire\":\"latest\",\"error_count\":2,\"tries\":1,\"last_state\":136", 1105, false, false, 0, 0, {0}},
    {"one that gave no status is none", TENS "99,\"misfire\":\"latest\",\"retry\":{\"strategy\":\"none\"},\"tries\":1,\"last_state\":141", 1105, false, false, 0, 0, {0}},
    {"it was the last", TENS "3,\"misfire_window\":30", 1105, true, true, 0, 0, {3, 1010, 1030, false}},
    {"the last is the newest", TENS "3,\"misfire\":\"latest\"", 1105, true, false, 1030, 2, {2, 1010, 1020, false}},
    {"cron, latest", CRON ",\"misfire\":\"latest\"", 1105, true, false, 1100, 0, {9, 1010, 1090, false}},
    {"cron, skip behind the window", CRON ",\"misfire_window\":30", 1105, true, false, 1110, 0, {10, 1010, 1100, false}},
    {"time, within its window", "\"plan_type\":1,\"misfire_window\":30", 1040, false, false, 0, 0, {0}},
    {"time, behind its window", "\"plan_type\":1,\"misfire_window\":30", 1041, true, true, 0, 0, {1, 1010, 1010, false}},
    {"time, latest", "\"plan_type\":1,\"misfire\":\"latest\"", 9999, false, false, 0, 0, {0}},
    {"none is never too late", "\"plan_type\":0,\"misfire_window\":30", 9999, false, false, 0, 0, {0}},
    {"value 0, behind the window", "\"plan_type\":2,\"plan_value\":0,\"plan_repet\":9,\"misfire_window\":30", 9999, false, false, 0, 0, {0}},
};
// clang-format on

static void at_a_claim (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (claim_rows); i++) {
        const struct claim_row *row = &claim_rows[i];
        struct plan *plan = plan_of (row->name, row->fields, 1010);
        struct misses misses;
        struct occurrence next = {0};
        bool ended;
        bool passed = misses_skip_late (plan, zone, row->now, &misses, &next, &ended);
        CHECK_INT (row->name, passed, row->passed);
        if (passed) {
            CHECK_INT (row->name, ended, row->ended);
            CHECK_INT (row->name, ended ? 0 : next.time, row->next);
            CHECK_INT (row->name, ended ? 0 : next.used, row->used);
            check_missed (row->name, &misses, &(struct misses){row->missed, "misfire"});
        }
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

// An occurrence that jitter delays is not late.
static void jitter_is_not_late (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (uint64_t id = 1; id < 40; id++) {
        struct plan *plan = plan_of ("jitter", TENS "99,\"misfire_window\":30,\"jitter\":9", 1010);
        struct misses misses;
        struct occurrence next;
        bool ended;
        plan->id = id;
        int64_t due = plan_due_time (plan);
        assert_false (misses_skip_late (plan, zone, due + 30, &misses, &next, &ended));
        assert_true (misses_skip_late (plan, zone, due + 31, &misses, &next, &ended));
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

// However long it is: every occurrence is due its offset later, and the next one is due then.
static void an_offset_longer_than_the_interval_loses_nothing (void **state)
{
    (void)state;
    static const char *const kinds[] = {TENS "9999,\"jitter\":3600", CRON ",\"jitter\":3600",
                                        TENS "9999,\"jitter\":86400,\"misfire\":\"latest\"",
                                        TENS "9999,\"jitter\":900,\"misfire_window\":1"};
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (kinds); i++) {
        for (uint64_t id = 1; id < 40; id++) {
            struct plan *plan = plan_of (kinds[i], kinds[i], 1010);
            struct misses misses;
            struct occurrence next;
            bool ended;
            plan->id = id;
            int64_t due = plan_due_time (plan);
            CHECK (kinds[i], !misses_skip_late (plan, zone, due, &misses, &next, &ended));
            // The run takes 9 s: nothing is missed. It takes 25 s: two are.
            CHECK (kinds[i],
                   misses_next (plan, zone, &(struct moments){due, due + 9}, &misses, &next));
            CHECK_INT (kinds[i], next.time, 1020);
            check_missed (kinds[i], &misses, &(struct misses){0});
            CHECK (kinds[i],
                   misses_next (plan, zone, &(struct moments){due, due + 25}, &misses, &next));
            CHECK_INT (kinds[i], next.time, 1040);
            check_missed (kinds[i], &misses, &(struct misses){{2, 1020, 1030, false}, "overlap"});
            plan_destroy (&plan);
        }
    }
    zone_destroy (&zone);
}

// -- after end_time; feature D004

// clang-format off
static const struct rest_row {
    const char *name, *fields;
    int64_t now;
    struct missed missed; // count 0: a run may begin
} rest_rows[] = {
    {"no end", TENS "99", 99999, {0}},
    {"in its last second", TENS "99,\"end_time\":1035", 1035, {0}},
    {"behind it", TENS "99,\"end_time\":1035", 1036, {3, 1010, 1030, false}},
    {"long behind it", TENS "99,\"end_time\":1035", 9999, {3, 1010, 1030, false}},
    {"whatever was to be made up for", TENS "99,\"end_time\":1035,\"misfire\":\"all\"", 9999, {3, 1010, 1030, false}},
    {"a retry too", TENS "99,\"end_time\":1015,\"error_count\":2", 1016, {1, 1010, 1010, false}},
    {"the repeats end before", TENS "2,\"end_time\":1035", 9999, {2, 1010, 1020, false}},
    {"cron", CRON ",\"end_time\":1035", 9999, {3, 1010, 1030, false}},
    {"time", "\"plan_type\":1,\"end_time\":1035", 1036, {1, 1010, 1010, false}},
    {"none", "\"plan_type\":0,\"end_time\":1035", 1036, {1, 1010, 1010, false}},
};
// clang-format on

static void behind_the_end (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (rest_rows); i++) {
        const struct rest_row *row = &rest_rows[i];
        struct plan *plan = plan_of (row->name, row->fields, 1010);
        struct misses misses = {.why = "as it was"};
        bool over = misses_after_end (plan, zone, row->now, &misses);
        CHECK_INT (row->name, over, row->missed.count > 0);
        check_missed (row->name, &misses,
                      &(struct misses){row->missed, over ? "end_time" : "as it was"});
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (at_the_submission),
        cmocka_unit_test (behind_a_run),
        cmocka_unit_test (at_a_claim),
        cmocka_unit_test (jitter_is_not_late),
        cmocka_unit_test (an_offset_longer_than_the_interval_loses_nothing),
        cmocka_unit_test (behind_the_end),
    };
    return cmocka_run_group_tests_name ("misses", tests, NULL, NULL);
}
