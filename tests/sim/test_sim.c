// Whole lives of plans in simulated time.
#include <inttypes.h>

#include "../unit/rows.h"

#include "codes.h"
#include "rfc3339.h"
#include "sim.h"

enum {
    OK = 0x01,
    RUNING = 0x03,
    WAITING = 0x22,
    ERROR = 0x81,
    NOT_WORKER = 0x88,
    PLANERROR = 0x8B
};

#define MS         INT64_C (1000)
#define TO_THE_END INT64_MAX
#define STEPS      100000

static void run_until (struct sim *sim, int64_t seconds)
{
    if (!sim_run_until (sim, sim_at (seconds), STEPS))
        fail_msg ("%s: goes on for ever", sim->name);
}

static void run_to_the_end (struct sim *sim)
{
    if (!sim_run_until (sim, TO_THE_END, STEPS))
        fail_msg ("%s: goes on for ever", sim->name);
}

static struct sim_plan *submit (struct sim *sim, const char *plan_frame)
{
    struct sim_plan *plan = sim_submit (sim, plan_frame);
    if (!plan)
        fail_msg ("%s: refused: %s", sim->name, plan_frame);
    return plan;
}

// Seconds since the start of a dispatch, and of its nominal time.
static int64_t fired_ms (const struct sim *sim, size_t index)
{
    assert_true (index < sim->fire_count);
    return (sim->fires[index].at_us - sim_at (0)) / 1000;
}

static int64_t nominal_s (const struct sim *sim, size_t index)
{
    assert_true (index < sim->fire_count);
    return sim->fires[index].plan_time - SIM_START_TIME;
}

static void check_gone (const struct sim *sim, const struct sim_plan *plan)
{
    if (plan->message || plan->queued || plan->held || plan->waits || plan->has_work)
        fail_msg ("%s: plan %" PRIx64 " is not gone", sim->name, plan->id);
}

// -- targets

static void work_300_ms (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 300 * MS, OK, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void never_answer (struct sim *sim, const struct sim_fire *fire)
{
    (void)sim;
    (void)fire;
}

static void die_after_runing (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 100 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

// The plan's first three runs end with an error.
static void fail_three_times (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 500 * MS, fire->plan->fires <= 3 ? ERROR : OK, SIM_REQUEST_SOCKET,
                SIM_WITHOUT_LOCAL_ID);
}

static void work_an_hour (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    for (int64_t at = 299; at < 3600; at += 299)
        sim_answer (sim, fire, at * SIM_S, at % 2 ? WAITING : 0x23, SIM_REQUEST_SOCKET,
                    SIM_WITH_LOCAL_ID);
    sim_answer (sim, fire, 3600 * SIM_S, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
}

// -- the interval kinds

static void one_hertz_runs_1000_times_without_drift (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "1 Hz", NULL, work_300_ms);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"second\",\"plan_value\":1,\"plan_repet\":1000}");
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal (nominal_s (&sim, i), i + 1);
        assert_int_equal (fired_ms (&sim, i), (i + 1) * 1000);
    }
    assert_int_equal (plan->counted, 1000);
    assert_int_equal (plan->results, 1000);
    assert_int_equal (plan->skipped, 0);
    check_gone (&sim, plan);
    sim_end (&sim);
}

// The station is down from 10:30 to 70:30 (minutes). `keep` as no_keep of the plan.
static void check_outage (const char *name, const char *keep, int64_t runs, int64_t skips)
{
    struct sim sim;
    char frame[128];
    sim_start (&sim, name, NULL, work_300_ms);
    snprintf (frame, sizeof frame,
              "{\"plan_type\":\"minute\",\"plan_value\":1,\"plan_repet\":120,\"no_keep\":%s}",
              keep);
    struct sim_plan *plan = submit (&sim, frame);
    run_until (&sim, 10 * 60 + 30);
    CHECK_INT (name, sim.fire_count, 10);
    sim_restart (&sim, 3600 * SIM_S);
    run_to_the_end (&sim);
    // The overdue one runs at once; what is skipped is calculated after it.
    CHECK_INT (name, nominal_s (&sim, 10), 11 * 60);
    CHECK_INT (name, fired_ms (&sim, 10), (70 * 60 + 30) * 1000);
    CHECK_INT (name, plan->counted, runs);
    CHECK_INT (name, plan->fires, runs);
    CHECK_INT (name, plan->skipped, skips);
    CHECK_INT (name, nominal_s (&sim, sim.fire_count - 1), 120 * 60);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void an_outage_is_skipped_or_made_up (void **state)
{
    (void)state;
    check_outage ("an outage, skipped", "false", 61, 59);
    check_outage ("an outage, kept", "true", 120, 0);
}

static void an_outage_over_the_last_repeat_ends_the_plan (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "an outage over the end", NULL, work_300_ms);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"minute\",\"plan_value\":1,\"plan_repet\":20}");
    run_until (&sim, 90);
    sim_restart (&sim, 3600 * SIM_S);
    run_to_the_end (&sim);
    assert_int_equal (plan->counted, 2);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void a_target_that_is_away_is_tried_paced_and_on_connect (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "away", NULL, work_300_ms);
    struct sim_plan *plan = submit (&sim, "{\"plan_type\":\"none\"}");
    sim_disconnect (&sim);
    run_until (&sim, 600);
    assert_int_equal (sim.fire_count, 0);
    struct plan *stored = sim_stored (&sim, plan);
    assert_int_equal (stored->last_state, ZERO_STATUS_SEND_ERROR_ID);
    assert_int_equal (stored->state, PLAN_RETRY);
    // At 0, 1, 3, 7, 15, 31, 63 and then each minute up to 600.
    assert_int_equal (stored->error_count, 7 + 8);
    // A minute or more lies between two broadcasts of the failure.
    assert_in_range (plan->failures, 2, 10);
    plan_destroy (&stored);
    sim_connect (&sim);
    run_until (&sim, 601);
    assert_int_equal (sim.fire_count, 1);
    assert_int_equal (fired_ms (&sim, 0), 600 * 1000);
    check_gone (&sim, plan);
    sim_end (&sim);
}

// -- failures

static void errors_are_retried_with_the_same_plan_time (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "error, then recovery", NULL, fail_three_times);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"hour\",\"plan_value\":1,\"plan_repet\":3}");
    run_to_the_end (&sim);
    // Half a second of work, then paced from the failure: 1, 2 and 4 s.
    static const int64_t fired[] = {3600000, 3601500, 3604000, 3608500, 7200000, 10800000};
    static const int64_t nominal[] = {3600, 3600, 3600, 3600, 7200, 10800};
    assert_int_equal (sim.fire_count, ROWS (fired));
    for (size_t i = 0; i < ROWS (fired); i++) {
        assert_int_equal (fired_ms (&sim, i), fired[i]);
        assert_int_equal (nominal_s (&sim, i), nominal[i]);
        assert_false (sim.fires[i].earlier_may_answer);
    }
    assert_int_equal (plan->counted, 3);
    assert_int_equal (plan->skipped, 0);
    assert_int_equal (plan->results, 6);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void a_worker_that_dies_is_replaced_after_its_lease (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "dies after RUNING", NULL, die_after_runing);
    struct sim_plan *plan = submit (&sim, "{\"plan_type\":\"none\"}");
    run_until (&sim, 1000);
    assert_int_equal (sim.fire_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal (fired_ms (&sim, i), (int64_t)i * 300100);
        assert_int_equal (sim.fires[i].earlier_may_answer, i > 0);
    }
    sim.target = work_300_ms;
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 5);
    assert_int_equal (plan->counted, 1);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void a_silent_target_is_tried_paced (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "silent", NULL, never_answer);
    struct sim_plan *plan = submit (&sim, "{\"plan_type\":\"none\"}");
    run_until (&sim, 60);
    // Each waits 3 s for a status, and then 1, 2, 4, 8, 16 s.
    static const int64_t fired[] = {0, 4000, 9000, 16000, 27000, 46000};
    assert_int_equal (sim.fire_count, ROWS (fired));
    for (size_t i = 0; i < ROWS (fired); i++)
        assert_int_equal (fired_ms (&sim, i), fired[i]);
    struct plan *stored = sim_stored (&sim, plan);
    assert_int_equal (stored->last_state, ZERO_STATUS_RECV_ERROR_ID);
    assert_int_equal (stored->plan_time, SIM_START_TIME);
    plan_destroy (&stored);
    assert_int_equal (plan->failures, 1);
    sim.target = work_300_ms;
    run_to_the_end (&sim);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void answer_after_the_timeout (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 3500 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 20 * SIM_S, OK, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void end_after_the_timeout (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 3500 * MS, OK, SIM_REQUEST_SOCKET, SIM_WITHOUT_LOCAL_ID);
}

static void a_status_before_the_retry_is_still_taken (void **state)
{
    (void)state;
    void (*const targets[]) (struct sim *, const struct sim_fire *) = {answer_after_the_timeout,
                                                                       end_after_the_timeout};
    for (size_t i = 0; i < ROWS (targets); i++) {
        struct sim sim;
        sim_start (&sim, "slow status", NULL, targets[i]);
        struct sim_plan *plan = submit (&sim, "{\"plan_type\":\"none\"}");
        run_to_the_end (&sim);
        assert_int_equal (sim.fire_count, 1);
        assert_int_equal (plan->counted, 1);
        assert_int_equal (plan->failures, 1);
        check_gone (&sim, plan);
        sim_end (&sim);
    }
}

static void waiting_keeps_a_run_for_an_hour (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "WAITING", NULL, work_an_hour);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"second\",\"plan_value\":10,\"plan_repet\":400}");
    run_until (&sim, 3605);
    assert_int_equal (sim.fire_count, 1);
    assert_int_equal (plan->counted, 0);
    run_until (&sim, 3611);
    // It was never fired twice at a time; what was missed meanwhile is skipped.
    assert_int_equal (plan->counted, 1);
    assert_int_equal (plan->skipped, 359);
    assert_int_equal (nominal_s (&sim, 0), 10);
    sim_end (&sim);
}

static void refuse (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, ZERO_STATUS_NOT_SUPPORT_ID, SIM_CONNECTION,
                SIM_WITHOUT_LOCAL_ID);
}

static void answer_planerror (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 9 * MS, PLANERROR, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
}

static void a_refused_plan_is_parked_and_kept (void **state)
{
    (void)state;
    static const struct {
        void (*target) (struct sim *, const struct sim_fire *);
        uint8_t status;
    } rows[] = {{refuse, ZERO_STATUS_NOT_SUPPORT_ID}, {answer_planerror, PLANERROR}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct sim sim;
        sim_start (&sim, "refused", NULL, rows[i].target);
        struct sim_plan *plan =
            submit (&sim, "{\"plan_type\":\"second\",\"plan_value\":1,\"plan_repet\":9}");
        run_until (&sim, 86400);
        assert_int_equal (sim.fire_count, 1);
        assert_false (plan->queued);
        struct plan *stored = sim_stored (&sim, plan);
        assert_int_equal (stored->last_state, rows[i].status);
        assert_int_equal (stored->state, PLAN_ERROR);
        assert_int_equal (stored->real_repet, 0);
        plan_destroy (&stored);
        assert_true (plan->has_work);
        sim_end (&sim);
    }
}

// -- late answers

// The first run says RUNING and ends after its lease: in all ways in which that can be told from
// the second run, which ends well by itself.
static void end_late (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    if (fire->plan->fires > 1) {
        sim_answer (sim, fire, 100 * SIM_S, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
        sim_answer (sim, fire, 101 * SIM_S, OK, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
        return;
    }
    for (int64_t at = 310; at < 390; at += 10) {
        uint8_t status = at % 20 ? OK : ERROR;
        sim_answer (sim, fire, at * SIM_S, status, SIM_REQUEST_SOCKET, SIM_WITH_LOCAL_ID);
        sim_answer (sim, fire, at * SIM_S, status, SIM_REQUEST_SOCKET, SIM_WITHOUT_LOCAL_ID);
        sim_answer (sim, fire, at * SIM_S, status, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    }
}

static void late_answers_count_for_no_run (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "late", NULL, end_late);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"day\",\"plan_value\":1,\"plan_repet\":1}");
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 2);
    assert_true (sim.fires[1].earlier_may_answer && sim.fires[1].exec_id > sim.fires[0].exec_id);
    assert_true (!sim.fires[0].counted && sim.fires[1].counted);
    assert_int_equal (sim.late, 3 * 8);
    assert_int_equal (sim.dropped, 1); // the OK sent twice
    assert_int_equal (plan->results, 1);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void answer_twice (struct sim *sim, const struct sim_fire *fire)
{
    for (int64_t i = 0; i < 3; i++) {
        sim_answer (sim, fire, (1 + i) * MS, OK, SIM_REQUEST_SOCKET, SIM_WITHOUT_LOCAL_ID);
        sim_answer (sim, fire, (1 + i) * MS, OK, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
    }
    // And once more when the next run is in hand.
    sim_answer (sim, fire, 1000 * MS, OK, SIM_CONNECTION, SIM_WITH_LOCAL_ID);
}

static void a_result_sent_twice_counts_once (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "twice", NULL, answer_twice);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"second\",\"plan_value\":1,\"plan_repet\":50}");
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 50);
    assert_int_equal (plan->counted, 50);
    assert_int_equal (plan->results, 50);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void end_over_a_restart (struct sim *sim, const struct sim_fire *fire)
{
    sim_answer (sim, fire, 1 * MS, RUNING, SIM_CONNECTION, SIM_WITHOUT_LOCAL_ID);
    sim_answer (sim, fire, 60 * SIM_S, OK, SIM_REQUEST_SOCKET,
                fire->plan->id % 2 ? SIM_WITH_LOCAL_ID : SIM_WITHOUT_LOCAL_ID);
}

static void a_run_survives_a_restart_of_the_station (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "restart", NULL, end_over_a_restart);
    struct sim_plan *plans[4];
    for (size_t i = 0; i < 4; i++)
        plans[i] = submit (&sim, "{\"plan_type\":\"none\"}");
    run_until (&sim, 30);
    sim_restart (&sim, 5 * SIM_S);
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 4);
    for (size_t i = 0; i < 4; i++)
        check_gone (&sim, plans[i]);
    sim_end (&sim);
}

// -- the calendar kinds

static void check_fired (const struct sim *sim, size_t index, const char *wanted)
{
    char text[RFC3339_SIZE], name[RFC3339_SIZE + 32];
    assert_true (index < sim->fire_count);
    snprintf (name, sizeof name, "occurrence %zu", index);
    rfc3339_format (sim->fires[index].plan_time, text);
    CHECK_TEXT (name, text, wanted);
    assert_int_equal (sim->fires[index].at_us, sim->fires[index].plan_time * SIM_S);
}

static void a_week_plan_keeps_the_wall_clock_over_both_changes (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "week, Berlin", "CET-1CEST,M3.5.0,M10.5.0/3", work_300_ms);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"week\",\"plan_value\":0,\"plan_repet\":52,"
                      "\"plan_time\":\"2026-01-01T02:30:00+01:00\"}");
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, 52);
    check_fired (&sim, 0, "2026-01-04T01:30:00Z");
    check_fired (&sim, 11, "2026-03-22T01:30:00Z");
    check_fired (&sim, 12, "2026-03-29T01:00:00Z"); // 02:30 does not exist: the end of the gap
    check_fired (&sim, 13, "2026-04-05T00:30:00Z");
    check_fired (&sim, 41, "2026-10-18T00:30:00Z");
    check_fired (&sim, 42, "2026-10-25T00:30:00Z"); // 02:30 comes twice: the first
    check_fired (&sim, 43, "2026-11-01T01:30:00Z");
    check_fired (&sim, 51, "2026-12-27T01:30:00Z");
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void month_31_runs_on_every_last_day_of_a_year (void **state)
{
    (void)state;
    static const char *const days[] = {
        "2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z",
        "2026-04-30T12:00:00Z", "2026-05-31T12:00:00Z", "2026-06-30T12:00:00Z",
        "2026-07-31T12:00:00Z", "2026-08-31T12:00:00Z", "2026-09-30T12:00:00Z",
        "2026-10-31T12:00:00Z", "2026-11-30T12:00:00Z", "2026-12-31T12:00:00Z"};
    struct sim sim;
    sim_start (&sim, "month 31", NULL, work_300_ms);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"month\",\"plan_value\":31,\"plan_repet\":12,"
                      "\"plan_time\":\"2026-01-01T12:00:00Z\"}");
    run_to_the_end (&sim);
    assert_int_equal (sim.fire_count, ROWS (days));
    for (size_t i = 0; i < ROWS (days); i++)
        check_fired (&sim, i, days[i]);
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void missed_weeks_use_up_no_repeats (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "missed weeks", NULL, work_300_ms);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"week\",\"plan_value\":1,\"plan_repet\":4}");
    run_until (&sim, 7 * 86400);
    assert_int_equal (plan->counted, 1);
    sim_restart (&sim, 10 * 7 * 86400 * SIM_S);
    run_to_the_end (&sim);
    // One overdue at once, then two more Mondays.
    assert_int_equal (plan->counted, 4);
    assert_int_equal (plan->skipped, 0);
    check_fired (&sim, 0, "2026-01-05T00:00:00Z");
    check_fired (&sim, 2, "2026-03-23T00:00:00Z");
    check_fired (&sim, 3, "2026-03-30T00:00:00Z");
    check_gone (&sim, plan);
    sim_end (&sim);
}

static void value_0_runs_back_to_back_once_a_second_at_most (void **state)
{
    (void)state;
    struct sim sim;
    sim_start (&sim, "value 0", NULL, work_300_ms);
    struct sim_plan *plan =
        submit (&sim, "{\"plan_type\":\"hour\",\"plan_value\":0,\"plan_repet\":10}");
    run_until (&sim, 4);
    assert_int_equal (sim.fire_count, 5);
    sim.target = work_an_hour;
    run_until (&sim, 3600 + 3);
    sim.target = work_300_ms;
    run_to_the_end (&sim);
    static const int64_t fired[] = {0, 1, 2, 3, 4, 5, 3605, 3606, 3607, 3608};
    assert_int_equal (sim.fire_count, ROWS (fired));
    for (size_t i = 0; i < ROWS (fired); i++) {
        assert_int_equal (fired_ms (&sim, i), fired[i] * 1000);
        assert_int_equal (nominal_s (&sim, i), fired[i]);
    }
    assert_int_equal (plan->counted, 10);
    assert_int_equal (plan->skipped, 0);
    check_gone (&sim, plan);
    sim_end (&sim);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (one_hertz_runs_1000_times_without_drift),
        cmocka_unit_test (an_outage_is_skipped_or_made_up),
        cmocka_unit_test (an_outage_over_the_last_repeat_ends_the_plan),
        cmocka_unit_test (a_target_that_is_away_is_tried_paced_and_on_connect),
        cmocka_unit_test (errors_are_retried_with_the_same_plan_time),
        cmocka_unit_test (a_worker_that_dies_is_replaced_after_its_lease),
        cmocka_unit_test (a_silent_target_is_tried_paced),
        cmocka_unit_test (a_status_before_the_retry_is_still_taken),
        cmocka_unit_test (waiting_keeps_a_run_for_an_hour),
        cmocka_unit_test (a_refused_plan_is_parked_and_kept),
        cmocka_unit_test (late_answers_count_for_no_run),
        cmocka_unit_test (a_result_sent_twice_counts_once),
        cmocka_unit_test (a_run_survives_a_restart_of_the_station),
        cmocka_unit_test (a_week_plan_keeps_the_wall_clock_over_both_changes),
        cmocka_unit_test (month_31_runs_on_every_last_day_of_a_year),
        cmocka_unit_test (missed_weeks_use_up_no_repeats),
        cmocka_unit_test (value_0_runs_back_to_back_once_a_second_at_most),
    };
    return cmocka_run_group_tests_name ("simulated time", tests, NULL, NULL);
}
