// Random lives of plans in simulated time, with a target, connections and a station that fail at
// random, and management that pauses, resets, closes, skips and runs at random. The invariants are
// checked after each step; ZPLAN_SIM_SEED=N repeats one life.
#include <inttypes.h>
#include <time.h>

#include "../unit/rows.h"

#include "codes.h"
#include "sim.h"

enum {
    OK = 0x01,
    RUNING = 0x03,
    WAITING = 0x22,
    ERROR = 0x81,
    NOT_WORKER = 0x88,
    PLANERROR = 0x8B
};

enum { RANDOM_PLANS = 24, RANDOM_TURNS = 90, LIVES = 20, STEPS = 100000 };

#define MS INT64_C (1000)

static int64_t pick (struct sim *sim, int64_t below)
{
    return (int64_t)(next_random (&sim->random) % (uint64_t)below);
}

// How a target behaves in one run: status and result with their delays in ms; 0 is nothing.
static const struct behaviour {
    uint8_t status;
    int64_t status_ms;
    uint8_t life; // a heartbeat every 250 s until the result
    uint8_t result;
    int64_t result_ms;
} behaviours[] = {
    {OK, 1, 0, 0, 0},
    {RUNING, 1, 0, OK, 400},
    {RUNING, 1, 0, OK, 20000},
    {RUNING, 5, 0, 0x20, 400},
    {RUNING, 1, WAITING, OK, 1500000},
    {RUNING, 1, 0x23, OK, 700000},
    {RUNING, 1, 0, ERROR, 700},
    {RUNING, 1, 0, ERROR, 400000},
    {RUNING, 1, 0, OK, 300001},
    {RUNING, 1, 0, OK, 900000},
    {RUNING, 1, 0, 0, 0},
    {RUNING, 3500, 0, OK, 9000},
    {RUNING, 4100, 0, OK, 9000},
    {0, 0, 0, OK, 3900},
    {0, 0, 0, OK, 500000},
    {0, 0, 0, 0, 0},
    {WAITING, 1, 0, OK, 500},
    {NOT_WORKER, 1, 0, 0, 0},
    {NOT_WORKER, 1, 0, OK, 1000},
    {0, 1, 0, RUNING, 2999},
};

// Rare ones: they park the plan.
static const struct behaviour parking[] = {
    {ZERO_STATUS_NOT_SUPPORT_ID, 1, 0, 0, 0},
    {RUNING, 1, 0, PLANERROR, 300},
};

static void behave_at_random (struct sim *sim, const struct sim_fire *fire)
{
    const struct behaviour *way = &behaviours[pick (sim, ROWS (behaviours))];
    if (pick (sim, 200) == 0)
        way = &parking[pick (sim, ROWS (parking))];
    enum sim_local_id local_id = pick (sim, 2) ? SIM_WITH_LOCAL_ID : SIM_WITHOUT_LOCAL_ID;
    enum sim_way result_way = pick (sim, 2) ? SIM_CONNECTION : SIM_REQUEST_SOCKET;
    int64_t more_us = pick (sim, 1000000);
    if (way->status)
        sim_answer (sim, fire, way->status_ms * MS, way->status, SIM_CONNECTION, local_id);
    for (int64_t at_ms = 250000; way->life && at_ms < way->result_ms; at_ms += 250000)
        sim_answer (sim, fire, at_ms * MS, way->life, result_way, local_id);
    for (int64_t copies = 1 + (pick (sim, 10) == 0); way->result && copies > 0; copies--)
        sim_answer (sim, fire, way->result_ms * MS + more_us, way->result, result_way, local_id);
}

static void submit_at_random (struct sim *sim)
{
    static const char *const types[] = {"none", "second", "second", "minute",
                                        "hour", "day",    "week",   "month"};
    const char *type = types[pick (sim, ROWS (types))];
    char frame[256];
    int64_t value = pick (sim, 7), repeat = 1 + pick (sim, 40);
    int64_t base = SIM_START_TIME - 7200 + pick (sim, 14400);
    snprintf (frame, sizeof frame,
              "{\"plan_type\":\"%s\",\"plan_value\":%" PRId64 ",\"plan_repet\":%" PRId64
              ",\"no_keep\":%s,\"plan_time\":%" PRId64 ",\"skip_set\":%" PRId64 "}",
              type, value, repeat, pick (sim, 2) ? "true" : "false", pick (sim, 3) ? base : 0,
              strcmp (type, "none") == 0 ? 0 : pick (sim, repeat));
    sim_submit (sim, frame); // one whose last occurrence is past is refused
}

static void disturb_at_random (struct sim *sim)
{
    switch (pick (sim, 6)) {
    case 0:
        sim_disconnect (sim);
        break;
    case 1:
    case 2:
        sim_connect (sim);
        break;
    case 3:
        sim_restart (sim, pick (sim, 600) * SIM_S + pick (sim, 1000000));
        break;
    default:
        if (sim->plan_count < SIM_PLANS_MAX)
            submit_at_random (sim);
    }
}

// Some commands are given twice as often as others; one plan is often spoken of more than once.
static void manage_at_random (struct sim *sim)
{
    static const enum manage_command commands[] = {
        MANAGE_PAUSE, MANAGE_PAUSE, MANAGE_RESET, MANAGE_RESET, MANAGE_RESET,
        MANAGE_SKIP,  MANAGE_SKIP,  MANAGE_RUN,   MANAGE_RUN,   MANAGE_RUN};
    struct sim_plan *plan = &sim->plans[pick (sim, (int64_t)sim->plan_count)];
    for (int64_t said = 1 + pick (sim, 3); said > 0; said--) {
        enum manage_command command = commands[pick (sim, ROWS (commands))];
        if (pick (sim, 60) == 0)
            command = MANAGE_CLOSE;
        sim_manage (sim, plan, command, 1 + pick (sim, 4));
        if (pick (sim, 2))
            sim_run_until (sim, sim->now_us + pick (sim, 3000) * MS, STEPS);
    }
}

static void work_300_ms (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 300 * MS, OK, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

// With a good target every plan comes to its end, except those that were closed: they are kept.
static void check_nothing_is_lost (struct sim *sim)
{
    sim_connect (sim);
    sim->target = work_300_ms;
    // All that is out comes to its end, at the latest with its lease.
    sim_run_until (sim, sim->now_us + 3600 * SIM_S, STEPS);
    for (size_t i = 0; i < sim->plan_count; i++) {
        struct sim_plan *plan = &sim->plans[i];
        if (plan->message && plan->stopped && !plan->closed &&
            !sim_manage (sim, plan, MANAGE_RESET, 0))
            fail_msg ("%s: plan %" PRIx64 " cannot be reset", sim->name, plan->id);
    }
    if (!sim_run_until (sim, INT64_MAX, STEPS))
        fail_msg ("%s: goes on for ever", sim->name);
    for (size_t i = 0; i < sim->plan_count; i++)
        if (sim->plans[i].message && !sim->plans[i].closed)
            fail_msg ("%s: plan %" PRIx64 " has not ended", sim->name, sim->plans[i].id);
}

static void live_at_random (uint64_t seed)
{
    struct sim sim;
    char name[64];
    snprintf (name, sizeof name, "random, ZPLAN_SIM_SEED=%" PRIu64, seed);
    sim_start (&sim, name, NULL, behave_at_random);
    sim.random = seed * 2685821657736338717U | 1;
    sim.target_type = (enum target_type)pick (&sim, TARGET_TYPES);
    while (sim.plan_count < RANDOM_PLANS)
        submit_at_random (&sim);
    for (size_t turn = 0; turn < RANDOM_TURNS; turn++) {
        int64_t ahead_us = pick (&sim, turn % 2 ? 100 : 3600) * SIM_S + pick (&sim, 1000000);
        sim_run_until (&sim, sim.now_us + ahead_us, STEPS);
        disturb_at_random (&sim);
        for (int64_t plans = pick (&sim, 6); plans > 0; plans--)
            manage_at_random (&sim);
    }
    check_nothing_is_lost (&sim);
    sim_end (&sim);
}

static void random_lives_keep_the_invariants (void **state)
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
        cmocka_unit_test (random_lives_keep_the_invariants),
    };
    return cmocka_run_group_tests_name ("random lives in simulated time", tests, NULL, NULL);
}
