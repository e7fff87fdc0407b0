// Whole lives of plans that management pauses, resets, closes, skips and runs, in simulated time.
#include <inttypes.h>

#include "../unit/rows.h"

#include "codes.h"
#include "sim.h"

enum { OK = 0x01, RUNING = 0x03, WAITING = 0x22, ERROR = 0x81, TIMEOUT = 0x86, NOT_WORKER = 0x88 };

#define MS    INT64_C (1000)
#define STEPS 100000

static const char ten_seconds[] = "{\"plan_type\":\"second\",\"plan_value\":10,\"plan_repet\":20}";

static struct sim_plan *start (struct sim *sim, const char *name, const char *plan_frame,
                               void (*target) (struct sim *sim, const struct sim_fire *fire))
{
    sim_start (sim, name, NULL, target);
    struct sim_plan *plan = sim_submit (sim, plan_frame);
    if (!plan)
        fail_msg ("%s: refused: %s", name, plan_frame);
    return plan;
}

static void run_until (struct sim *sim, int64_t seconds)
{
    if (!sim_run_until (sim, sim_at (seconds), STEPS))
        fail_msg ("%s: goes on for ever", sim->name);
}

static void manage (struct sim *sim, struct sim_plan *plan, enum manage_command command,
                    int64_t count)
{
    if (!sim_manage (sim, plan, command, count))
        fail_msg ("%s: command %d is refused", sim->name, command);
}

static void refuse (struct sim *sim, struct sim_plan *plan, enum manage_command command)
{
    if (sim_manage (sim, plan, command, 1))
        fail_msg ("%s: command %d is not refused", sim->name, command);
}

// Dispatches so far, as milliseconds and nominal seconds since the start.
static void check_fires (const struct sim *sim, const int64_t (*wanted)[2], size_t count)
{
    CHECK_INT (sim->name, sim->fire_count, count);
    for (size_t i = 0; i < count; i++) {
        char name[128];
        snprintf (name, sizeof name, "%s: dispatch %zu", sim->name, i);
        CHECK_INT (name, (sim->fires[i].at_us - sim_at (0)) / 1000, wanted[i][0]);
        CHECK_INT (name, sim->fires[i].plan_time - SIM_START_TIME, wanted[i][1]);
    }
}

#define CHECK_FIRES(sim, ...)                                                                      \
    do {                                                                                           \
        static const int64_t wanted_[][2] = {__VA_ARGS__};                                         \
        check_fires (sim, wanted_, ROWS (wanted_));                                                \
    } while (0)

static void check_stored (struct sim *sim, const struct sim_plan *plan, enum plan_state state,
                          uint8_t last_state)
{
    struct plan *stored = sim_stored (sim, plan);
    CHECK_INT (sim->name, stored->state, state);
    CHECK_INT (sim->name, stored->last_state, last_state);
    plan_destroy (&stored);
}

// -- targets

static void work_300_ms (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 300 * MS, OK, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void work_5_s (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 3 * SIM_S, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 5 * SIM_S, OK, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void fail_after_5_s (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 5 * SIM_S, ERROR, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void die_after_runing (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void work_700_s (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 250 * SIM_S, WAITING, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 500 * SIM_S, WAITING, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 700 * SIM_S, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
}

static void answer_late (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 10 * SIM_S, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
}

static void end_after_500_s (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 500 * SIM_S, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
}

static void end_without_a_status (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 3700 * MS, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
}

static void have_no_worker (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, NOT_WORKER, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

// -- pause, reset, close

static void a_paused_plan_is_not_fired_until_it_is_reset (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "pause, reset", ten_seconds, work_300_ms);
    run_until (&sim, 25);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    refuse (&sim, plan, MANAGE_PAUSE);
    run_until (&sim, 95);
    check_stored (&sim, plan, PLAN_PAUSE, OK);
    manage (&sim, plan, MANAGE_RESET, 0);
    refuse (&sim, plan, MANAGE_RESET);
    run_until (&sim, 111);
    // The overdue one runs at once, what is skipped is calculated after it.
    CHECK_FIRES (&sim, {10000, 10}, {20000, 20}, {95000, 30}, {100000, 100}, {110000, 110});
    assert_int_equal (plan->skipped, 6);
    sim_end (&sim);
}

static void a_plan_paused_while_its_run_is_out_counts_it (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "pause, a run is out", ten_seconds, work_5_s);
    run_until (&sim, 12);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    // A heartbeat comes at 13, the result at 15.
    run_until (&sim, 14);
    check_stored (&sim, plan, PLAN_PAUSE, RUNING);
    assert_true (plan->held && !plan->queued);
    refuse (&sim, plan, MANAGE_RUN);
    run_until (&sim, 60);
    check_stored (&sim, plan, PLAN_PAUSE, OK);
    CHECK_FIRES (&sim, {10000, 10});
    assert_int_equal (plan->counted, 1);
    assert_int_equal (plan->results, 1);
    // The station knew the plan as it was before: it decided anew.
    assert_int_equal (sim.redone, 1);
    sim_end (&sim);
}

static void a_plan_reset_while_its_run_is_out_is_not_fired_twice (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "pause and reset, a run is out", ten_seconds, work_5_s);
    run_until (&sim, 11);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    run_until (&sim, 14);
    manage (&sim, plan, MANAGE_RESET, 0);
    check_stored (&sim, plan, PLAN_EXECUTE, RUNING);
    run_until (&sim, 21);
    CHECK_FIRES (&sim, {10000, 10}, {20000, 20});
    assert_int_equal (plan->counted, 1);
    sim_end (&sim);
}

// While the run may be out the reset gives it a new lease; after that it is due at once.
static void a_worker_that_dies_behind_a_pause_is_replaced_after_the_reset (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t reset, fired; // seconds
    } rows[] = {{"pause, the worker dies, reset in its lease", 100, 400},
                {"pause, the worker dies, reset after its lease", 1000, 1000}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        struct sim_plan *plan = start (&sim, rows[i].name, ten_seconds, die_after_runing);
        run_until (&sim, 11);
        manage (&sim, plan, MANAGE_PAUSE, 0);
        run_until (&sim, rows[i].reset);
        manage (&sim, plan, MANAGE_RESET, 0);
        run_until (&sim, rows[i].fired + 1);
        CHECK_INT (rows[i].name, sim.fire_count, 2);
        CHECK_INT (rows[i].name, sim.fires[1].at_us, sim_at (rows[i].fired));
        CHECK (rows[i].name, sim.fires[1].earlier_may_answer);
        sim_end (&sim);
    }
}

// Rule 5: a run is not fired again until its lease ends, here 300 s after 510. The station was
// started anew since and knows only what is stored.
static void a_run_that_is_alive_is_not_lost_behind_a_pause (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "pause, reset, restarted", ten_seconds, work_700_s);
    run_until (&sim, 515);
    sim_restart (&sim, 5 * SIM_S);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    refuse (&sim, plan, MANAGE_RUN);
    manage (&sim, plan, MANAGE_RESET, 0);
    run_until (&sim, 709);
    CHECK_FIRES (&sim, {10000, 10});
    run_until (&sim, 711);
    assert_int_equal (plan->counted, 1);
    sim_end (&sim);
}

// Management is not held up for ever by a run that is lost behind a pause.
static void a_run_is_sent_though_one_was_lost_behind_a_pause (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan =
        start (&sim, "pause, the worker dies, run", ten_seconds, die_after_runing);
    run_until (&sim, 11);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    run_until (&sim, 309);
    refuse (&sim, plan, MANAGE_RUN);
    run_until (&sim, 320);
    sim.target = work_300_ms;
    manage (&sim, plan, MANAGE_RUN, 0);
    run_until (&sim, 330);
    CHECK_FIRES (&sim, {10000, 10}, {320000, 10});
    check_stored (&sim, plan, PLAN_PAUSE, OK);
    assert_int_equal (plan->counted, 0);
    sim_end (&sim);
}

// Between its tries nothing of a silent target is out.
static void a_run_is_sent_between_tries_of_a_silent_target (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "run, no status before", ten_seconds, answer_late);
    run_until (&sim, 23); // sent at 10, 14 and 19, given up at 22
    check_stored (&sim, plan, PLAN_RETRY, ZERO_STATUS_RECV_ERROR_ID);
    assert_true (plan->no_status);
    sim.target = work_300_ms;
    manage (&sim, plan, MANAGE_RUN, 0);
    sim_run_until (&sim, sim.now_us + SIM_S, STEPS);
    struct sim_fire *last = &sim.fires[sim.fire_count - 1];
    assert_true (last->extra && !last->earlier_may_answer);
    assert_int_equal (last->at_us, sim_at (23));
    check_stored (&sim, plan, PLAN_RETRY, OK);
    sim_end (&sim);
}

static void a_late_status_counts_behind_a_pause (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "pause, no status", ten_seconds, answer_late);
    run_until (&sim, 11);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    run_until (&sim, 15);
    check_stored (&sim, plan, PLAN_PAUSE, ZERO_STATUS_RECV_ERROR_ID);
    assert_false (plan->queued || plan->waits);
    // Its answer still counts: no other run has been sent.
    run_until (&sim, 21);
    check_stored (&sim, plan, PLAN_PAUSE, OK);
    assert_int_equal (plan->counted, 1);
    run_until (&sim, 100);
    CHECK_FIRES (&sim, {10000, 10});
    sim_end (&sim);
}

static void a_plan_closed_while_its_run_is_out_is_kept (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "close, a run is out", ten_seconds, work_5_s);
    run_until (&sim, 12);
    manage (&sim, plan, MANAGE_CLOSE, 0);
    manage (&sim, plan, MANAGE_CLOSE, 0);
    run_until (&sim, 60);
    check_stored (&sim, plan, PLAN_CLOSE, OK);
    assert_int_equal (plan->counted, 1);
    static const enum manage_command commands[] = {MANAGE_PAUSE, MANAGE_RESET, MANAGE_SKIP,
                                                   MANAGE_RUN};
    for (size_t i = 0; i < ROWS (commands); i++)
        refuse (&sim, plan, commands[i]);
    run_until (&sim, 600);
    CHECK_FIRES (&sim, {10000, 10});
    sim_end (&sim);
}

static void the_last_run_of_a_paused_plan_ends_it (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan =
        start (&sim, "pause, the last run", "{\"plan_type\":\"none\"}", work_5_s);
    run_until (&sim, 1);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    run_until (&sim, 10);
    assert_null (plan->message);
    assert_int_equal (plan->counted, 1);
    sim_end (&sim);
}

// -- runs besides the schedule

static const char hour[] = "{\"plan_type\":\"hour\",\"plan_value\":1,\"plan_repet\":2}";

static void a_run_besides_the_schedule_counts_for_nothing (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*target) (struct sim *sim, const struct sim_fire *fire);
        uint8_t last_state;
        int64_t over; // seconds after it was asked for
    } rows[] = {{"run, it ends well", work_5_s, OK, 6},
                {"run, it fails", fail_after_5_s, ERROR, 6},
                {"run, there is no worker", have_no_worker, NOT_WORKER, 1},
                {"run, no status comes", answer_late, ZERO_STATUS_RECV_ERROR_ID, 4},
                {"run, its worker dies", die_after_runing, TIMEOUT, 301}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        struct sim_plan *plan = start (&sim, rows[i].name, hour, rows[i].target);
        run_until (&sim, 100);
        manage (&sim, plan, MANAGE_RUN, 0);
        run_until (&sim, 100 + rows[i].over);
        check_stored (&sim, plan, PLAN_QUEUE, rows[i].last_state);
        CHECK_INT (rows[i].name, plan->results, 1);
        CHECK_INT (rows[i].name, plan->held, 0);
        sim.target = work_300_ms;
        run_until (&sim, 8000);
        CHECK_FIRES (&sim, {100000, 3600}, {3600000, 3600}, {7200000, 7200});
        CHECK_INT (rows[i].name, plan->counted, 2);
        CHECK (rows[i].name, !plan->message);
        sim_end (&sim);
    }
}

static void a_run_of_a_paused_plan_leaves_it_paused (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "run of a paused plan", hour, work_5_s);
    run_until (&sim, 100);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    run_until (&sim, 200);
    for (int64_t at = 200; at < 250; at += 10) {
        manage (&sim, plan, MANAGE_RUN, 0);
        run_until (&sim, at + 2);
        check_stored (&sim, plan, PLAN_EXECUTE, RUNING);
        refuse (&sim, plan, MANAGE_RUN);
        run_until (&sim, at + 10);
        check_stored (&sim, plan, PLAN_PAUSE, OK);
    }
    run_until (&sim, 9000);
    assert_int_equal (sim.fire_count, 5);
    assert_int_equal (plan->counted, 0);
    sim_end (&sim);
}

static void a_run_whose_target_is_away_is_over (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "run, the target is away", hour, work_300_ms);
    sim_disconnect (&sim);
    run_until (&sim, 100);
    manage (&sim, plan, MANAGE_RUN, 0);
    run_until (&sim, 101);
    check_stored (&sim, plan, PLAN_QUEUE, ZERO_STATUS_SEND_ERROR_ID);
    sim_connect (&sim);
    run_until (&sim, 3601);
    CHECK_FIRES (&sim, {3600000, 3600});
    sim_end (&sim);
}

// It was lost behind a pause, and given up with the reset: what comes of it still is late.
static void a_lost_run_besides_the_schedule_counts_for_nothing (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "run, pause, reset, then it ends", hour, end_after_500_s);
    run_until (&sim, 100);
    manage (&sim, plan, MANAGE_RUN, 0);
    run_until (&sim, 101);
    manage (&sim, plan, MANAGE_PAUSE, 0);
    run_until (&sim, 410);
    manage (&sim, plan, MANAGE_RESET, 0);
    run_until (&sim, 610);
    assert_int_equal (sim.fire_count, 1);
    struct plan *stored = sim_stored (&sim, plan);
    assert_int_equal (stored->real_repet, 0);
    assert_int_equal (stored->plan_time, SIM_START_TIME + 3600);
    assert_int_equal (plan->score_us, sim_at (3600));
    plan_destroy (&stored);
    sim_end (&sim);
}

// An earlier run of the schedule ran out of its lease: that says nothing of the run that is asked
// for.
static void a_run_is_sent_though_an_earlier_one_may_still_answer (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "run, after a lost run", ten_seconds, die_after_runing);
    run_until (&sim, 11);
    sim.target = have_no_worker;
    // The lease ends at 310; there is no worker then, nor a second later.
    run_until (&sim, 312);
    check_stored (&sim, plan, PLAN_RETRY, NOT_WORKER);
    assert_true (plan->held_again);
    sim.target = work_300_ms;
    manage (&sim, plan, MANAGE_RUN, 0);
    sim_run_until (&sim, sim.now_us + 1 * MS, STEPS);
    CHECK_FIRES (&sim, {10000, 10}, {310001, 10}, {311002, 10}, {312000, 10});
    assert_true (sim.fires[3].extra);
    sim_end (&sim);
}

// -- skip

static void a_skip_goes_on_behind_those_skipped (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "skip", ten_seconds, work_300_ms);
    run_until (&sim, 15);
    manage (&sim, plan, MANAGE_SKIP, 2);
    manage (&sim, plan, MANAGE_SKIP, 1);
    run_until (&sim, 65);
    CHECK_FIRES (&sim, {10000, 10}, {50000, 50}, {60000, 60});
    assert_int_equal (plan->skipped, 3);
    sim_end (&sim);
}

static void a_run_that_is_out_is_not_skipped (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "skip, a run is out", ten_seconds, work_5_s);
    run_until (&sim, 12);
    manage (&sim, plan, MANAGE_SKIP, 2);
    run_until (&sim, 46);
    CHECK_FIRES (&sim, {10000, 10}, {40000, 40});
    assert_int_equal (plan->counted, 2);
    assert_int_equal (plan->skipped, 2);
    sim_end (&sim);
}

static void a_skip_takes_the_retry_away (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "skip, a retry waits", hour, have_no_worker);
    run_until (&sim, 3602);
    manage (&sim, plan, MANAGE_SKIP, 1);
    sim.target = work_300_ms;
    // Nor is it due when its target connects.
    sim_disconnect (&sim);
    sim_connect (&sim);
    run_until (&sim, 7201);
    CHECK_FIRES (&sim, {3600000, 3600}, {3601001, 3600}, {7200000, 7200});
    assert_null (plan->message);
    sim_end (&sim);
}

// Its run was given up, and it is skipped: its answer is not one of the occurrence behind it.
static void a_late_answer_of_one_that_was_skipped_counts_for_nothing (void **state)
{
    (void)state;
    struct sim sim;
    struct sim_plan *plan = start (&sim, "skip, then it ends", ten_seconds, end_without_a_status);
    sim_run_until (&sim, sim_at (13) + 500 * MS, STEPS);
    check_stored (&sim, plan, PLAN_RETRY, ZERO_STATUS_RECV_ERROR_ID);
    manage (&sim, plan, MANAGE_SKIP, 1);
    sim.target = work_300_ms;
    run_until (&sim, 35);
    CHECK_FIRES (&sim, {10000, 10}, {20000, 20}, {30000, 30});
    sim_end (&sim);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_paused_plan_is_not_fired_until_it_is_reset),
        cmocka_unit_test (a_plan_paused_while_its_run_is_out_counts_it),
        cmocka_unit_test (a_plan_reset_while_its_run_is_out_is_not_fired_twice),
        cmocka_unit_test (a_worker_that_dies_behind_a_pause_is_replaced_after_the_reset),
        cmocka_unit_test (a_run_that_is_alive_is_not_lost_behind_a_pause),
        cmocka_unit_test (a_run_is_sent_though_one_was_lost_behind_a_pause),
        cmocka_unit_test (a_run_is_sent_between_tries_of_a_silent_target),
        cmocka_unit_test (a_late_status_counts_behind_a_pause),
        cmocka_unit_test (a_plan_closed_while_its_run_is_out_is_kept),
        cmocka_unit_test (the_last_run_of_a_paused_plan_ends_it),
        cmocka_unit_test (a_run_besides_the_schedule_counts_for_nothing),
        cmocka_unit_test (a_run_of_a_paused_plan_leaves_it_paused),
        cmocka_unit_test (a_run_whose_target_is_away_is_over),
        cmocka_unit_test (a_lost_run_besides_the_schedule_counts_for_nothing),
        cmocka_unit_test (a_run_is_sent_though_an_earlier_one_may_still_answer),
        cmocka_unit_test (a_skip_goes_on_behind_those_skipped),
        cmocka_unit_test (a_run_that_is_out_is_not_skipped),
        cmocka_unit_test (a_skip_takes_the_retry_away),
        cmocka_unit_test (a_late_answer_of_one_that_was_skipped_counts_for_nothing),
    };
    return cmocka_run_group_tests_name ("management in simulated time", tests, NULL, NULL);
}
