// Policies in simulated time: what comes of an outage, of failures, of runs that take too long; and
// random policies, of which every occurrence is run or told as missed, and none twice.
// Features C024, C025, C026, C041, C042, C043, D004, D007. ZPLAN_SIM_SEED=N repeats one life.
#include <inttypes.h>
#include <time.h>

#include "../unit/rows.h"

#include "codes.h"
#include "sim.h"

enum { OK = 0x01, RUNING = 0x03, ERROR = 0x81, NOT_WORKER = 0x88 };

enum { STEPS = 100000, MINUTE = 60 };

#define MS    INT64_C (1000)
#define EACH  "{\"plan_type\":3,\"plan_value\":1,\"plan_repet\":30"
#define CRON  "{\"plan_type\":8,\"plan_repet\":30,\"cron\":\"* * * * *\""
#define MONTH "{\"plan_type\":7,\"plan_value\":1,\"plan_repet\":20"

static void run_until (struct sim *sim, int64_t seconds)
{
    if (!sim_run_until (sim, sim_at (seconds), STEPS))
        fail_msg ("%s: goes on for ever", sim->name);
}

static void run_to_the_end (struct sim *sim)
{
    if (!sim_run_until (sim, INT64_MAX, STEPS))
        fail_msg ("%s: goes on for ever", sim->name);
}

static struct sim_plan *submit (struct sim *sim, const char *frame)
{
    struct sim_plan *plan = sim_submit (sim, frame);
    if (!plan)
        fail_msg ("%s: refused: %s", sim->name, frame);
    return plan;
}

static int64_t fired_ms (const struct sim *sim, size_t index)
{
    return (sim->fires[index].at_us - sim_at (0)) / MS;
}

static int64_t nominal_s (const struct sim *sim, size_t index)
{
    return sim->fires[index].plan_time - SIM_START_TIME;
}

// -- targets

static void work_300_ms (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 300 * MS, OK, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
}

static void fail_at_once (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 0, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 0, ERROR, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
}

static void work_150_s (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 150 * SIM_S, OK, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
}

static void work_without_end (struct sim *sim, const struct sim_fire *fire)
{
    for (int64_t at = 0; at < 7200; at += 5)
        sim_answer (sim, fire, at * SIM_S + 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
}

static void die (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
}

// -- an outage of ten slots: the station is down from 10:30 to 20:30; minutes 11 to 20 are missed

// clang-format off
static const struct outage_row {
    const char *name, *frame;
    int64_t first, runs; // minutes of the late runs: so many from this one on
    int64_t missed;
} outage_rows[] = {
    {"by default", EACH "}", 11, 1, 9},
    {"skip", EACH ",\"misfire\":\"skip\"}", 11, 1, 9},
    {"skip, with a window", EACH ",\"misfire_window\":60}", 21, 0, 10},
    {"skip, with a window over all", EACH ",\"misfire_window\":600}", 11, 1, 9},
    {"latest", EACH ",\"misfire\":\"latest\"}", 20, 1, 9},
    {"latest, with a window over none", EACH ",\"misfire\":\"latest\",\"misfire_window\":29}", 21, 0, 10},
    {"the newest 3", EACH ",\"misfire\":3}", 18, 3, 7},
    {"the newest 10", EACH ",\"misfire\":10}", 11, 10, 0},
    {"the newest 11", EACH ",\"misfire\":11}", 11, 10, 0},
    {"all", EACH ",\"misfire\":\"all\"}", 11, 10, 0},
    {"all, with a window over 3", EACH ",\"misfire\":\"all\",\"misfire_window\":150}", 18, 3, 7},
    {"no_keep", EACH ",\"no_keep\":true}", 11, 10, 0},
    {"no_keep, with a window over 3", EACH ",\"no_keep\":true,\"misfire_window\":150}", 18, 3, 7},
    {"cron, by default", CRON "}", 11, 1, 9},
    {"cron, skip with a window", CRON ",\"misfire\":\"skip\",\"misfire_window\":60}", 21, 0, 10},
    {"cron, latest", CRON ",\"misfire\":\"latest\"}", 20, 1, 9},
    {"cron, the newest 3", CRON ",\"misfire\":3}", 18, 3, 7},
    {"cron, all", CRON ",\"misfire\":\"all\"}", 11, 10, 0},
};
// clang-format on

static void check_outage (const struct outage_row *row)
{
    struct sim sim;
    sim_start (&sim, row->name, NULL, work_300_ms);
    struct sim_plan *plan = submit (&sim, row->frame);
    bool cron = strstr (row->frame, "cron") != NULL;
    size_t before = cron ? 11 : 10; // cron runs at minute 0 too
    run_until (&sim, 10 * MINUTE + 30);
    CHECK_INT (row->name, sim.fire_count, before);
    sim_restart (&sim, 600 * SIM_S);
    run_until (&sim, 20 * MINUTE + 59);
    CHECK_INT (row->name, sim.fire_count, before + (size_t)row->runs);
    for (int64_t i = 0; i < row->runs; i++) {
        size_t at = before + (size_t)i;
        CHECK_INT (row->name, nominal_s (&sim, at), (row->first + i) * MINUTE);
        // One after the other, and without a pause.
        CHECK_INT (row->name, fired_ms (&sim, at), (20 * MINUTE + 30) * 1000 + i * 300);
    }
    run_until (&sim, 21 * MINUTE);
    CHECK_INT (row->name, nominal_s (&sim, sim.fire_count - 1), 21 * MINUTE);
    CHECK_INT (row->name, plan->missed, row->missed);
    run_to_the_end (&sim);
    CHECK (row->name, !plan->message);
    // Of an interval the missed ones use up repeats.
    CHECK_INT (row->name, plan->counted, cron ? 30 : 30 - row->missed);
    sim_end (&sim);
}

static void a_flood_after_an_outage_is_what_the_policy_says (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (outage_rows); i++)
        check_outage (&outage_rows[i]);
}

// Minutes with an offset of up to a day: each runs, at its own distance, and none is missed.
static void jitter_that_is_longer_than_the_interval (void **state)
{
    (void)state;
    static const char *const frames[] = {
        EACH ",\"jitter\":86400}", EACH ",\"jitter\":86400,\"misfire\":\"latest\"}",
        EACH ",\"jitter\":1800,\"misfire_window\":5}", CRON ",\"jitter\":3600}"};
    for (size_t i = 0; i < ROWS (frames); i++) {
        struct sim sim;
        sim_start (&sim, frames[i], NULL, work_300_ms);
        struct sim_plan *plan = submit (&sim, frames[i]);
        struct plan *stored = sim_stored (&sim, plan);
        int64_t offset_s = plan_due_time (stored) - stored->plan_time;
        int64_t first = stored->plan_time - SIM_START_TIME;
        plan_destroy (&stored);
        CHECK (frames[i], offset_s > MINUTE);
        run_to_the_end (&sim);
        CHECK_INT (frames[i], sim.fire_count, 30);
        CHECK_INT (frames[i], plan->missed, 0);
        for (size_t n = 0; n < sim.fire_count; n++) {
            CHECK_INT (frames[i], nominal_s (&sim, n), first + (int64_t)n * MINUTE);
            CHECK_INT (frames[i], fired_ms (&sim, n), (nominal_s (&sim, n) + offset_s) * 1000);
        }
        sim_end (&sim);
    }
}

// From 2026-02-15 to 2026-07-15: five months are missed.
static void months_are_made_up_for (void **state)
{
    (void)state;
    static const struct {
        const char *name, *frame;
        int64_t runs, missed;
    } rows[] = {
        {"months, by default", MONTH "}", 1, 4},
        {"months, latest", MONTH ",\"misfire\":\"latest\"}", 1, 4},
        {"months, all", MONTH ",\"misfire\":\"all\"}", 5, 0},
        {"months, skip with a window", MONTH ",\"misfire_window\":3600}", 0, 5},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        sim_start (&sim, rows[i].name, NULL, work_300_ms);
        struct sim_plan *plan = submit (&sim, rows[i].frame);
        run_until (&sim, 45 * 86400);
        CHECK_INT (rows[i].name, sim.fire_count, 2);
        sim_restart (&sim, 150 * 86400 * SIM_S);
        run_until (&sim, 196 * 86400);
        CHECK_INT (rows[i].name, plan->missed, rows[i].missed);
        CHECK_INT (rows[i].name, sim.fire_count, 2 + rows[i].runs);
        run_to_the_end (&sim);
        CHECK_INT (rows[i].name, plan->counted, 20);
        sim_end (&sim);
    }
}

// Each run takes 150 s, of a plan of each minute.
static void runs_that_are_longer_than_their_interval (void **state)
{
    (void)state;
    static const struct {
        const char *name, *frame;
        int64_t nominal[4], fired[4]; // of the first runs, seconds
    } rows[] = {
        {"overlaps, by default", EACH "}", {60, 240, 420, 600}, {60, 240, 420, 600}},
        {"overlaps, skip",
         EACH ",\"misfire\":\"all\",\"overlap_policy\":\"skip\"}",
         {60, 240, 420, 600},
         {60, 240, 420, 600}},
        {"overlaps, queue",
         EACH ",\"overlap_policy\":\"queue\"}",
         {60, 180, 300, 480},
         {60, 210, 360, 510}},
        {"overlaps, all", EACH ",\"misfire\":\"all\"}", {60, 120, 180, 240}, {60, 210, 360, 510}},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        sim_start (&sim, rows[i].name, NULL, work_150_s);
        submit (&sim, rows[i].frame);
        run_until (&sim, 700);
        for (size_t n = 0; n < ROWS (rows[i].nominal); n++) {
            CHECK_INT (rows[i].name, nominal_s (&sim, n), rows[i].nominal[n]);
            CHECK_INT (rows[i].name, fired_ms (&sim, n) / 1000, rows[i].fired[n]);
        }
        run_to_the_end (&sim);
        sim_end (&sim);
    }
}

// -- windows, rounds, pauses

// Minutes from 00:03 to 00:05; a retry of the first that would be due behind the end is none.
static void nothing_runs_outside_its_window (void **state)
{
    (void)state;
    static const char frame[] = "{\"plan_type\":3,\"plan_value\":1,\"plan_repet\":-1,"
                                "\"start_time\":1767225780,\"end_time\":1767225900,\"retry\":"
                                "{\"strategy\":\"fixed\",\"interval\":200,\"max\":3}}";
    struct sim sim;
    sim_start (&sim, "window", NULL, work_300_ms);
    struct sim_plan *plan = submit (&sim, frame);
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 3);
    for (size_t n = 0; n < 3; n++)
        CHECK_INT (sim.name, fired_ms (&sim, n), (int64_t)(3 + n) * MINUTE * 1000);
    assert_null (plan->message);
    sim_end (&sim);

    sim_start (&sim, "retry behind the end", NULL, fail_at_once);
    plan = submit (&sim, frame);
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 1);
    assert_int_equal (plan->missed, 3);
    assert_null (plan->message);
    sim_end (&sim);
}

// Steps of 1 and 2 minutes, twice.
static void rounds_of_steps (void **state)
{
    (void)state;
    static const int64_t minutes[] = {1, 3, 4, 6};
    struct sim sim;
    sim_start (&sim, "rounds", NULL, work_300_ms);
    struct sim_plan *plan = submit (&sim, "{\"plan_type\":3,\"cycle\":[1,2],\"iteration\":2,"
                                          "\"misfire\":\"all\"}");
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, ROWS (minutes));
    for (size_t n = 0; n < ROWS (minutes); n++)
        CHECK_INT (sim.name, nominal_s (&sim, n), minutes[n] * MINUTE);
    assert_null (plan->message);
    sim_end (&sim);
}

// Paused from 2:30 to 12:30: what comes late is one run, or none, and never a flood.
static void a_pause_is_no_flood (void **state)
{
    (void)state;
    static const struct {
        const char *name, *frame;
        int64_t nominal; // minute of the run at the reset; 0 = none
    } rows[] = {
        {"paused, by default", EACH "}", 3},
        {"paused, latest", EACH ",\"misfire\":\"latest\"}", 12},
        {"paused, a window", EACH ",\"misfire_window\":10}", 0},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        sim_start (&sim, rows[i].name, NULL, work_300_ms);
        struct sim_plan *plan = submit (&sim, rows[i].frame);
        run_until (&sim, 2 * MINUTE + 30);
        CHECK (rows[i].name, sim_manage (&sim, plan, MANAGE_PAUSE, 0));
        run_until (&sim, 12 * MINUTE + 30);
        CHECK_INT (rows[i].name, sim.fire_count, 2);
        CHECK (rows[i].name, sim_manage (&sim, plan, MANAGE_RESET, 0));
        run_until (&sim, 13 * MINUTE + 30);
        size_t late = rows[i].nominal != 0;
        CHECK_INT (rows[i].name, sim.fire_count, 3 + late);
        CHECK_INT (rows[i].name, nominal_s (&sim, 2 + late), 13 * MINUTE);
        if (late)
            CHECK_INT (rows[i].name, nominal_s (&sim, 2), rows[i].nominal * MINUTE);
        run_to_the_end (&sim);
        sim_end (&sim);
    }
}

// -- failures

#define HOURLY(retry) "{\"plan_type\":4,\"plan_value\":1,\"plan_repet\":2,\"retry\":{" retry "}}"

static void failures_are_retried_as_the_policy_says (void **state)
{
    (void)state;
    static const struct {
        const char *name, *frame;
        int64_t gaps_s[5]; // between the runs of the first occurrence; 0: there is none more
    } rows[] = {
        {"none", HOURLY ("\"strategy\":\"none\""), {0}},
        {"fixed", HOURLY ("\"strategy\":\"fixed\",\"interval\":30,\"max\":3"), {30, 30, 30}},
        {"past the end of a sequence",
         HOURLY ("\"strategy\":\"sequence\",\"sequence\":[0,5,9],\"max\":5"),
         {0, 5, 9, 9, 9}},
        {"exponential",
         HOURLY ("\"strategy\":\"exponential\",\"interval\":3,\"max\":4"),
         {3, 6, 12, 24}},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        size_t runs = 1;
        while (runs <= 5 && (rows[i].gaps_s[runs - 1] || (i == 2 && runs == 1)))
            runs++;
        sim_start (&sim, rows[i].name, NULL, fail_at_once);
        struct sim_plan *plan = submit (&sim, rows[i].frame);
        run_until (&sim, 7199);
        CHECK_INT (rows[i].name, sim.fire_count, runs);
        for (size_t n = 1; n < runs; n++)
            CHECK_INT (rows[i].name, fired_ms (&sim, n) - fired_ms (&sim, n - 1),
                       rows[i].gaps_s[n - 1] * 1000);
        // The next one's turn; it is the last, and the plan is dead.
        run_to_the_end (&sim);
        CHECK_INT (rows[i].name, sim.fire_count, 2 * runs);
        CHECK_INT (rows[i].name, nominal_s (&sim, runs), 7200);
        struct plan *stored = sim_stored (&sim, plan);
        CHECK_INT (rows[i].name, stored->state, PLAN_ERROR);
        CHECK_INT (rows[i].name, stored->verdict, VERDICT_FAILURE);
        CHECK_INT (rows[i].name, stored->skip_num, 1);
        plan_destroy (&stored);
        // A plan that failed permanently is reset: missed occurrences do not all run at once.
        sim.target = work_300_ms;
        CHECK (rows[i].name, sim_manage (&sim, plan, MANAGE_RESET, 0));
        run_to_the_end (&sim);
        CHECK_INT (rows[i].name, plan->counted, 1);
        CHECK (rows[i].name, !plan->message);
        sim_end (&sim);
    }
}

static void a_person_decides (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "need_manual", NULL, fail_at_once);
    struct sim_plan *plan = submit (&sim, HOURLY ("\"strategy\":\"none\",\"need_manual\":true"));
    run_until (&sim, 3 * 3600);
    assert_int_equal (sim.fire_count, 1);
    struct plan *stored = sim_stored (&sim, plan);
    assert_int_equal (stored->state, PLAN_ERROR);
    assert_int_equal (stored->verdict, VERDICT_PENDING);
    plan_destroy (&stored);
    // The second and last occurrence is past: nothing is left, the plan is closed.
    assert_true (sim_manage (&sim, plan, MANAGE_DONE, 0));
    stored = sim_stored (&sim, plan);
    assert_int_equal (stored->state, PLAN_CLOSE);
    assert_int_equal (stored->verdict, VERDICT_MANUAL);
    plan_destroy (&stored);
    assert_false (sim_manage (&sim, plan, MANAGE_DONE, 0));
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 1);
    sim_end (&sim);
}

// 20 s, whatever signs of life there are, whether the station is there or not.
static void a_run_has_its_time (void **state)
{
    (void)state;
    void (*const targets[]) (struct sim *, const struct sim_fire *) = {work_without_end, die};
    for (size_t i = 0; i < ROWS (targets); i++) {
        struct sim sim;
        sim_start (&sim, "timeout", NULL, targets[i]);
        submit (&sim, "{\"plan_type\":0,\"timeout\":20,\"retry\":{\"strategy\":\"fixed\","
                      "\"interval\":5,\"max\":2}}");
        run_until (&sim, 300);
        assert_int_equal (sim.fire_count, 3);
        assert_int_equal (fired_ms (&sim, 1), 25000);
        assert_int_equal (fired_ms (&sim, 2), 50000);
        sim_end (&sim);
    }
}

// A run that was lost with its station is a failure when its lease is over.
static void a_lost_run_is_a_failure (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "lost", NULL, die);
    struct sim_plan *plan = submit (&sim, "{\"plan_type\":0,\"retry\":{\"strategy\":\"fixed\","
                                          "\"interval\":10,\"max\":1}}");
    run_until (&sim, 30);
    sim_restart (&sim, SIM_S);
    run_until (&sim, 2000);
    assert_int_equal (sim.fire_count, 2);
    assert_int_equal (fired_ms (&sim, 1), 310001); // the lease is of RUNING
    struct plan *stored = sim_stored (&sim, plan);
    assert_int_equal (stored->verdict, VERDICT_FAILURE);
    assert_int_equal (stored->last_state, ZERO_STATUS_TIMEOUT_ID);
    plan_destroy (&stored);
    sim_end (&sim);
}

static void a_cancelled_run_gives_way_to_the_next (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "cancel", NULL, work_150_s);
    struct sim_plan *plan = submit (&sim, "{\"plan_type\":3,\"plan_value\":5,\"plan_repet\":2,"
                                          "\"retry\":{\"strategy\":\"fixed\",\"interval\":1}}");
    assert_false (sim_cancel (&sim, plan));
    run_until (&sim, 310);
    assert_true (sim_cancel (&sim, plan));
    assert_false (sim_cancel (&sim, plan));
    run_until (&sim, 599); // its result comes, and is late
    assert_int_equal (plan->counted, 0);
    assert_int_equal (sim.fire_count, 1);
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 2);
    assert_int_equal (plan->counted, 1);
    assert_null (plan->message);
    sim_end (&sim);
}

// -- random policies

enum { LIVES = 6, PLANS = 12, TURNS = 40 };

static int64_t pick (struct sim *sim, int64_t below)
{
    return (int64_t)(next_random (&sim->random) % (uint64_t)below);
}

static void behave_at_random (struct sim *sim, const struct sim_fire *fire)
{
    static const int64_t works_ms[] = {0, 300, 300, 2000, 9000, 40000, 200000, 350000};
    int64_t work_ms = works_ms[pick (sim, ROWS (works_ms))];
    int64_t luck = pick (sim, 20);
    if (luck == 0)
        return;
    if (luck == 1) {
        sim_answer (sim, fire, 1 * MS, NOT_WORKER, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
        return;
    }
    sim_answer (sim, fire, 0, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    if (luck > 2)
        sim_answer (sim, fire, work_ms * MS, luck < 8 ? ERROR : OK, SIM_CONNECTION,
                    SIM_WITH_LOCAL_ID);
}

// The fields of one policy, each with what to choose from; one of "" says nothing of it.
static void submit_at_random (struct sim *sim)
{
    static const struct {
        const char *said[7];
        int64_t count;
    } choices[] = {
        {{"\"plan_type\":2,\"plan_value\":10", "\"plan_type\":3,\"plan_value\":1",
          "\"plan_type\":8,\"cron\":\"*/10 * * * * *\"", "\"plan_type\":8,\"cron\":\"* * * * *\""},
         4},
        {{"", "", ",\"misfire\":\"skip\"", ",\"misfire\":\"latest\"", ",\"misfire\":3",
          ",\"misfire\":\"all\"", ",\"no_keep\":true"},
         7},
        {{"", "", ",\"misfire_window\":1", ",\"misfire_window\":45", ",\"misfire_window\":300"}, 5},
        {{"", "", ",\"overlap_policy\":\"skip\"", ",\"overlap_policy\":\"queue\""}, 4},
        {{"", "", ",\"jitter\":7", ",\"jitter\":90"}, 4},
        {{"", "", ",\"retry\":{\"strategy\":\"none\"}",
          ",\"retry\":{\"strategy\":\"fixed\",\"interval\":15,\"max\":2}",
          ",\"retry\":{\"strategy\":\"sequence\",\"sequence\":[0,5],\"max\":3,\"jitter\":4}",
          ",\"retry\":{\"strategy\":\"exponential\",\"interval\":1,\"max\":3,"
          "\"need_manual\":true}"},
         6},
        {{"", "", ",\"timeout\":5", ",\"timeout\":60"}, 4},
        {{",\"plan_repet\":-1", ",\"plan_repet\":50", ",\"plan_repet\":300"}, 3},
    };
    char frame[512] = "{";
    for (size_t i = 0; i < ROWS (choices); i++) {
        const char *said = choices[i].said[pick (sim, choices[i].count)];
        snprintf (frame + strlen (frame), sizeof frame - strlen (frame), "%s", said);
    }
    size_t size = strlen (frame);
    int64_t ahead = 600 + pick (sim, 7200);
    if (pick (sim, 3) == 0)
        size += (size_t)snprintf (frame + size, sizeof frame - size, ",\"end_time\":%" PRId64,
                                  sim->now_us / SIM_S + ahead);
    snprintf (frame + size, sizeof frame - size, "}");
    submit (sim, frame);
}

static void disturb_at_random (struct sim *sim)
{
    static const enum manage_command commands[] = {MANAGE_PAUSE, MANAGE_RESET, MANAGE_RESET,
                                                   MANAGE_DONE};
    struct sim_plan *plan = &sim->plans[pick (sim, (int64_t)sim->plan_count)];
    switch (pick (sim, 8)) {
    case 0:
        sim_disconnect (sim);
        break;
    case 1:
    case 2:
        sim_connect (sim);
        break;
    case 3:
        sim_restart (sim, pick (sim, 900) * SIM_S + pick (sim, 1000000));
        break;
    case 4:
        sim_cancel (sim, plan);
        break;
    default:
        sim_manage (sim, plan, commands[pick (sim, ROWS (commands))], 1);
    }
}

// The grid's occurrences from the first one to the one that the plan stands at, or all of them.
static int64_t occurrences (const struct plan *plan, int64_t first, int64_t upto)
{
    int64_t step = plan->schedule.value ? plan->schedule.value : plan->schedule.cron ? 10 : 1;
    if (plan->schedule.type == SCHEDULE_MINUTE)
        step *= MINUTE;
    return (upto - first) / step;
}

// Each occurrence before the one that a plan stands at was run or missed, once; the checks of each
// step have seen that none was both, or came twice.
static void check_accounts (struct sim *sim, const struct sim_plan *sim_plan,
                            const struct plan *first)
{
    if (!sim_plan->message || sim_plan->closed)
        return; // it stands nowhere
    struct plan *plan = sim_stored (sim, sim_plan);
    bool minutes = strstr (sim_plan->message, "\"* * * * *\"") != NULL;
    int64_t count = occurrences (plan, first->plan_time, plan->plan_time);
    // The one that it stands at may have been fired already.
    int64_t seen = sim_plan->seen - (sim_plan->run_last == plan->plan_time);
    CHECK_INT (sim->name, seen, minutes ? count / 6 : count);
    plan_destroy (&plan);
}

static void live_at_random (uint64_t seed)
{
    struct sim sim;
    char name[64];
    struct plan *first[PLANS];
    snprintf (name, sizeof name, "policies, ZPLAN_SIM_SEED=%" PRIu64, seed);
    sim_start (&sim, name, NULL, behave_at_random);
    sim.random = seed * 2685821657736338717U | 1;
    while (sim.plan_count < PLANS) {
        submit_at_random (&sim);
        first[sim.plan_count - 1] = sim_stored (&sim, &sim.plans[sim.plan_count - 1]);
    }
    for (size_t turn = 0; turn < TURNS; turn++) {
        int64_t ahead_us = pick (&sim, turn % 4 ? 60 : 900) * SIM_S + pick (&sim, 1000000);
        if (!sim_run_until (&sim, sim.now_us + ahead_us, STEPS))
            fail_msg ("%s: goes on for ever", name);
        for (size_t i = 0; i < PLANS; i++)
            check_accounts (&sim, &sim.plans[i], first[i]);
        disturb_at_random (&sim);
    }
    for (size_t i = 0; i < PLANS; i++)
        plan_destroy (&first[i]);
    sim_end (&sim);
}

static void each_occurrence_is_run_or_missed_once (void **state)
{
    (void)state;
    const char *given = getenv ("ZPLAN_SIM_SEED");
    if (given) {
        live_at_random (strtoull (given, NULL, 10));
        return;
    }
    uint64_t first = (uint64_t)time (NULL);
    fprintf (stderr, "# ZPLAN_SIM_SEED=%" PRIu64 " and the %d after it\n", first, LIVES - 1);
    for (uint64_t seed = 1; seed <= LIVES; seed++)
        live_at_random (seed);
    for (uint64_t seed = first; seed < first + LIVES; seed++)
        live_at_random (seed);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_flood_after_an_outage_is_what_the_policy_says),
        cmocka_unit_test (jitter_that_is_longer_than_the_interval),
        cmocka_unit_test (months_are_made_up_for),
        cmocka_unit_test (runs_that_are_longer_than_their_interval),
        cmocka_unit_test (nothing_runs_outside_its_window),
        cmocka_unit_test (rounds_of_steps),
        cmocka_unit_test (a_pause_is_no_flood),
        cmocka_unit_test (failures_are_retried_as_the_policy_says),
        cmocka_unit_test (a_person_decides),
        cmocka_unit_test (a_run_has_its_time),
        cmocka_unit_test (a_lost_run_is_a_failure),
        cmocka_unit_test (a_cancelled_run_gives_way_to_the_next),
        cmocka_unit_test (each_occurrence_is_run_or_missed_once),
    };
    return cmocka_run_group_tests_name ("policies in simulated time", tests, NULL, NULL);
}
