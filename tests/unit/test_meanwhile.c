// Admin commands on a plan while its run is in flight, and runs outside the schedule: whatever the
// outcome of the run, the plan keeps the state that the command set. And skips after a run, which
// take effect at its success. Source: proto 6.3 and 9.2.
#include "codes.h"
#include "engine.h"
#include "in_hand.h"
#include "utc.h"

enum {
    OK = 0x01,
    RUNING = 0x03,
    WAITING = 0x22,
    NOT_SUPPORT = 0x84,
    ERROR = 0x81,
    TIMEOUT = 0x86,
    NOT_WORKER = 0x88,
    PLANERROR = 0x8B,
    SEND_ERROR = 0x8C,
    RECV_ERROR = 0x8D
};

// What may happen to a run. A status is the first message of the run's connection.
enum event { STATUS, RESULT, OTHER_RUN, NOT_SENT, NO_STATUS, KEPT, LEASE_OVER };

static struct decision happen (struct plan *plan, struct run *run, enum event event, uint8_t status)
{
    struct reason reason = {""};
    struct answer answer = {.status = status, .on_connection = event == STATUS};
    if (event == NOT_SENT)
        return engine_handle_not_sent (plan);
    if (event == NO_STATUS)
        return engine_handle_no_status (plan);
    if (event == KEPT)
        return engine_keep_run (plan);
    if (event == LEASE_OVER) {
        struct due due = due_after_lease (plan);
        return engine_due (plan, &due, &reason);
    }
    if (event == OTHER_RUN) {
        answer.has_exec_id = true;
        answer.exec_id = EXEC_ID - 1;
    }
    return engine_answer (plan, run, &answer, utc, NOW);
}

// -- paused or closed while a run is out

// clang-format off
static const struct held_row {
    const char *name;
    enum event event;
    uint8_t status;
    enum run_phase phase;
    enum commit commit;
    enum broadcast broadcast;
    bool save_work;
    uint8_t last_state;
    int64_t real_repet, error_count, plan_time;
} held_rows[] = {
    {"heartbeat", STATUS, RUNING, RUN_SENT, COMMIT_LEASE, BROADCAST_NONE, false, RUNING, 0, 0, 1010},
    {"still alive", STATUS, WAITING, RUN_RUNNING, COMMIT_LEASE, BROADCAST_NONE, false, RUNING, 0, 0, 1010},
    {"success as status", STATUS, OK, RUN_SENT, COMMIT_PARK, BROADCAST_RESULT, true, OK, 1, 0, 1020},
    {"success as result", RESULT, OK, RUN_RUNNING, COMMIT_PARK, BROADCAST_RESULT, true, OK, 1, 0, 1020},
    {"failure", RESULT, ERROR, RUN_RUNNING, COMMIT_PARK, BROADCAST_RESULT, true, ERROR, 0, 1, 1010},
    {"no worker as status", STATUS, NOT_WORKER, RUN_SENT, COMMIT_PARK, BROADCAST_FAILURE, false, NOT_WORKER, 0, 1, 1010},
    {"no worker as result", RESULT, NOT_WORKER, RUN_RUNNING, COMMIT_PARK, BROADCAST_FAILURE, true, NOT_WORKER, 0, 1, 1010},
    {"not sent", NOT_SENT, 0, RUN_SENT, COMMIT_PARK, BROADCAST_FAILURE, false, SEND_ERROR, 0, 1, 1010},
    {"no status: it may still come", NO_STATUS, 0, RUN_SENT, COMMIT_DOUBT, BROADCAST_FAILURE, false, RECV_ERROR, 0, 1, 1010},
    {"no status, and its target answers nothing", KEPT, 0, RUN_SENT, COMMIT_LEASE, BROADCAST_NONE, false, RUNING, 0, 0, 1010},
    {"late", OTHER_RUN, OK, RUN_RUNNING, COMMIT_NONE, BROADCAST_NONE, false, RUNING, 0, 0, 1010},
};
// clang-format on

static void check_held (const struct held_row *row, enum plan_state held)
{
    char name[96];
    snprintf (name, sizeof name, "%s: %s", plan_state_name (held), row->name);
    struct plan *plan = plan_in_hand ();
    struct run run = {EXEC_ID, row->phase, false};
    plan->state = held;
    plan->last_state = RUNING;
    struct decision decision = happen (plan, &run, row->event, row->status);
    bool goes_on = row->commit == COMMIT_LEASE || row->commit == COMMIT_DOUBT;
    CHECK_INT (name, decision.commit, row->commit);
    CHECK_INT (name, decision.unqueued, goes_on);
    CHECK_INT (name, decision.broadcast, row->broadcast);
    CHECK_INT (name, decision.save_work, row->save_work);
    CHECK_INT (name, decision.waiting, WAITING_NOT);
    CHECK_INT (name, plan->state, held);
    CHECK_INT (name, plan->last_state, row->last_state);
    CHECK_INT (name, plan->real_repet, row->real_repet);
    CHECK_INT (name, plan->error_count, row->error_count);
    CHECK_INT (name, plan->plan_time, row->plan_time);
    CHECK_INT (name, plan->extra, PLAN_NONE);
    plan_destroy (&plan);
}

static void a_plan_held_meanwhile_stays_so (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (held_rows); i++) {
        check_held (&held_rows[i], PLAN_PAUSE);
        check_held (&held_rows[i], PLAN_CLOSE);
    }
}

static void a_paused_plan_ends_with_its_last_run (void **state)
{
    (void)state;
    static const struct {
        enum plan_state held;
        enum commit commit;
    } rows[] = {{PLAN_PAUSE, COMMIT_END}, {PLAN_CLOSE, COMMIT_PARK}}; // closed: kept until removed
    for (size_t i = 0; i < ROWS (rows); i++) {
        const char *name = plan_state_name (rows[i].held);
        struct plan *plan = plan_in_hand ();
        struct run run = {EXEC_ID, RUN_RUNNING, false};
        plan->schedule.repeat = 1;
        plan->state = rows[i].held;
        struct decision decision = happen (plan, &run, RESULT, OK);
        CHECK_INT (name, decision.commit, rows[i].commit);
        CHECK_INT (name, decision.broadcast, BROADCAST_RESULT);
        CHECK_INT (name, plan->state, PLAN_CLOSE);
        CHECK_INT (name, plan->real_repet, 1);
        plan_destroy (&plan);
    }
}

// The plan is out of the queue either way; the target's reason is the one that is kept.
static void a_paused_plan_that_is_refused_is_parked (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum event event;
        uint8_t status;
        enum plan_state held, want;
    } rows[] = {
        {"refused, paused", STATUS, NOT_SUPPORT, PLAN_PAUSE, PLAN_ERROR},
        {"refused, closed", STATUS, NOT_SUPPORT, PLAN_CLOSE, PLAN_CLOSE},
        {"lost its right, paused", RESULT, PLANERROR, PLAN_PAUSE, PLAN_ERROR},
        {"lost its right, closed", RESULT, PLANERROR, PLAN_CLOSE, PLAN_CLOSE},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        struct run run = {EXEC_ID, RUN_SENT, false};
        plan->state = rows[i].held;
        struct decision decision = happen (plan, &run, rows[i].event, rows[i].status);
        CHECK_INT (rows[i].name, decision.commit, COMMIT_PARK);
        CHECK_INT (rows[i].name, decision.broadcast, BROADCAST_RESULT);
        CHECK_INT (rows[i].name, plan->state, rows[i].want);
        CHECK_INT (rows[i].name, plan->last_state, rows[i].status);
        plan_destroy (&plan);
    }
}

// The run is re-queued as its target has too many runs: that is no failure of the plan.
// clang-format off
static const struct put_back_row {
    const char *name;
    enum plan_state state, extra;
    int64_t error_count;
    enum commit commit;
    enum plan_state want_state, want_extra;
} put_back_rows[] = {
    {"first try", PLAN_EXECUTE, 0, 0, COMMIT_RETRY, PLAN_QUEUE, 0},
    {"a retry", PLAN_EXECUTE, 0, 2, COMMIT_RETRY, PLAN_RETRY, 0},
    {"an extra run is still to be tried", PLAN_EXECUTE, PLAN_PAUSE, 0, COMMIT_RETRY, PLAN_QUEUE, PLAN_PAUSE},
    {"paused", PLAN_PAUSE, 0, 2, COMMIT_PARK, PLAN_PAUSE, 0},
    {"closed", PLAN_CLOSE, 0, 2, COMMIT_PARK, PLAN_CLOSE, 0},
};

static const struct put_back_row put_back_extra_rows[] = {
    {"paused while an extra run was sent", PLAN_PAUSE, PLAN_PAUSE, 2, COMMIT_PARK, PLAN_PAUSE, 0},
    {"closed while an extra run was sent", PLAN_CLOSE, PLAN_CLOSE, 2, COMMIT_PARK, PLAN_CLOSE, 0},
};
// clang-format on

static void check_put_back (const struct put_back_row *row)
{
    struct plan *plan = plan_in_hand ();
    plan->state = row->state;
    plan->extra = row->extra;
    plan->error_count = row->error_count;
    struct decision decision = engine_requeue (plan);
    CHECK_INT (row->name, decision.commit, row->commit);
    if (row->commit == COMMIT_RETRY)
        CHECK_INT (row->name, decision.delay_ms, 1000);
    CHECK_INT (row->name, decision.broadcast, BROADCAST_NONE);
    CHECK_INT (row->name, decision.waiting, WAITING_NOT);
    CHECK_INT (row->name, plan->state, row->want_state);
    CHECK_INT (row->name, plan->extra, row->want_extra);
    CHECK_INT (row->name, plan->error_count, row->error_count);
    CHECK_INT (row->name, plan->plan_time, 1010);
    plan_destroy (&plan);
}

static void a_run_that_is_put_back_is_no_failure (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (put_back_rows); i++)
        check_put_back (&put_back_rows[i]);
}

// Else a reset would queue the next run of the schedule as one besides it, which does not count.
static void an_extra_run_that_is_put_back_and_held_is_over (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (put_back_extra_rows); i++)
        check_put_back (&put_back_extra_rows[i]);
}

// -- runs besides the schedule

// clang-format off
static const struct extra_row {
    const char *name;
    enum event event;
    uint8_t status;
    bool save_work;
    uint8_t last_state;
} extra_rows[] = {
    {"success as status", STATUS, OK, true, OK},
    {"success as result", RESULT, OK, true, OK},
    {"failure", RESULT, ERROR, true, ERROR},
    {"no worker as status", STATUS, NOT_WORKER, false, NOT_WORKER},
    {"no worker as result", RESULT, NOT_WORKER, true, NOT_WORKER},
    {"refused", STATUS, NOT_SUPPORT, true, NOT_SUPPORT},
    {"not sent", NOT_SENT, 0, false, SEND_ERROR},
    {"no status", NO_STATUS, 0, false, RECV_ERROR},
    {"its lease is over", LEASE_OVER, 0, false, TIMEOUT},
};

// Where the plan was, as manage.c keeps it, and where it is when the run is over.
static const struct origin_row {
    const char *name;
    enum plan_state state, extra; // while the run is out
    int64_t error_count;          // of the schedule's runs
    enum commit commit;
    enum plan_state want;
} origin_rows[] = {
    {"from the queue", PLAN_EXECUTE, PLAN_QUEUE, 0, COMMIT_NEXT, PLAN_QUEUE},
    {"from a retry", PLAN_EXECUTE, PLAN_QUEUE, 3, COMMIT_RETRY, PLAN_RETRY},
    {"from pause", PLAN_EXECUTE, PLAN_PAUSE, 3, COMMIT_PARK, PLAN_PAUSE},
    {"from error", PLAN_EXECUTE, PLAN_ERROR, 3, COMMIT_PARK, PLAN_ERROR},
    {"paused meanwhile", PLAN_PAUSE, PLAN_PAUSE, 3, COMMIT_PARK, PLAN_PAUSE},
    {"closed meanwhile", PLAN_CLOSE, PLAN_CLOSE, 3, COMMIT_PARK, PLAN_CLOSE},
};
// clang-format on

static struct plan *plan_in_extra_run (const struct origin_row *origin)
{
    struct plan *plan = plan_in_hand ();
    plan->plan_time = 1030;
    plan->real_repet = 1;
    plan->skip_num = 1;
    plan->skip_wait = 1;
    plan->error_count = origin->error_count;
    plan->state = origin->state;
    plan->extra = origin->extra;
    return plan;
}

static void check_schedule_untouched (const char *name, const struct plan *plan,
                                      const struct origin_row *origin)
{
    CHECK_INT (name, plan->plan_time, 1030);
    CHECK_INT (name, plan->real_repet, 1);
    CHECK_INT (name, plan->skip_num, 1);
    CHECK_INT (name, plan->skip_wait, 1);
    CHECK_INT (name, plan->error_count, origin->error_count);
}

static void check_extra (const struct extra_row *row, const struct origin_row *origin)
{
    char name[96];
    snprintf (name, sizeof name, "%s: %s", origin->name, row->name);
    struct plan *plan = plan_in_extra_run (origin);
    struct run run = {EXEC_ID, row->event == STATUS ? RUN_SENT : RUN_RUNNING, false};
    struct decision decision = happen (plan, &run, row->event, row->status);
    CHECK_INT (name, decision.commit, origin->commit);
    if (origin->commit == COMMIT_RETRY)
        CHECK_INT (name, decision.delay_ms, 4000); // the schedule keeps its pace
    CHECK_INT (name, decision.send, false);
    CHECK_INT (name, decision.save_work, row->save_work);
    CHECK_INT (name, decision.broadcast, BROADCAST_RESULT);
    CHECK_INT (name, decision.waiting, WAITING_NOT);
    CHECK_INT (name, plan->last_state, row->last_state);
    CHECK_INT (name, plan->state, origin->want);
    CHECK_INT (name, plan->extra, PLAN_NONE);
    check_schedule_untouched (name, plan, origin);
    plan_destroy (&plan);
}

static void an_extra_run_is_tried_once_and_counts_for_nothing (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (extra_rows); i++)
        for (size_t k = 0; k < ROWS (origin_rows); k++)
            check_extra (&extra_rows[i], &origin_rows[k]);
}

static void an_extra_run_is_sent_and_kept_alive (void **state)
{
    (void)state;
    for (size_t k = 0; k < ROWS (origin_rows); k++) {
        const struct origin_row *origin = &origin_rows[k];
        const char *name = origin->name;
        bool held = origin->state != PLAN_EXECUTE;
        struct plan *plan = plan_in_extra_run (origin);
        struct run run = {EXEC_ID, RUN_SENT, false};
        struct decision decision = happen (plan, &run, STATUS, RUNING);
        for (int i = 0; i < 2; i++) {
            CHECK_INT (name, decision.commit, COMMIT_LEASE);
            CHECK_INT (name, decision.unqueued, held);
            CHECK_INT (name, plan->state, origin->state);
            CHECK_INT (name, plan->extra, origin->extra);
            CHECK_INT (name, run.phase, RUN_RUNNING);
            check_schedule_untouched (name, plan, origin);
            decision = happen (plan, &run, RESULT, WAITING);
        }
        plan_destroy (&plan);
    }
}

static void an_extra_run_is_due_at_once (void **state)
{
    (void)state;
    for (size_t k = 0; k < ROWS (origin_rows); k++) {
        const struct origin_row *origin = &origin_rows[k];
        struct plan *plan = plan_in_extra_run (origin);
        struct reason reason = {""};
        plan->state = PLAN_QUEUE;
        struct due due = due_now (EXEC_ID + 1);
        struct decision decision = engine_due (plan, &due, &reason);
        CHECK (origin->name, decision.send);
        CHECK_INT (origin->name, plan->state, PLAN_EXECUTE);
        CHECK_INT (origin->name, plan->extra, origin->extra);
        CHECK_INT (origin->name, plan->exec_id, EXEC_ID + 1);
        check_schedule_untouched (origin->name, plan, origin);
        plan_destroy (&plan);
    }
}

static void an_extra_run_is_of_the_moment_it_is_fired (void **state)
{
    (void)state;
    static const struct dispatch_way way = {false, ""};
    static const enum plan_state extras[] = {PLAN_NONE, PLAN_QUEUE, PLAN_PAUSE};
    for (size_t i = 0; i < ROWS (extras); i++) {
        const char *name = extras[i] ? "besides the schedule" : "of the schedule";
        struct plan_texts texts = {0};
        struct message message;
        struct plan *plan = plan_in_hand ();
        plan->plan_time = 5000;
        plan->exec_time = NOW + 11; // its claim was asked twice
        plan->exec_id = 1012000099;
        plan->extra = extras[i];
        plan_dispatch_message (plan, &way, NOW + 300, &texts, &message);
        CHECK (name, span_is (message_frame (&message, ZERO_FRAME_PLAN_TIME, NULL),
                              extras[i] ? "1012" : "5000"));
        free (texts.plan_json.bytes);
        plan_destroy (&plan);
    }
}

// Rule 6: this state takes the right to run, and a plan that has it is not in the queue.
static void an_extra_run_that_takes_the_right_to_run_parks_the_plan (void **state)
{
    (void)state;
    static const enum event events[] = {STATUS, RESULT};
    for (size_t i = 0; i < ROWS (events); i++) {
        const char *name = events[i] == STATUS ? "as status" : "as result";
        const struct origin_row *origin = &origin_rows[0];
        struct plan *plan = plan_in_extra_run (origin);
        struct run run = {EXEC_ID, RUN_SENT, false};
        struct decision decision = happen (plan, &run, events[i], PLANERROR);
        CHECK_INT (name, plan->last_state, PLANERROR);
        CHECK_INT (name, plan->extra, PLAN_NONE);
        CHECK_INT (name, decision.commit, COMMIT_PARK);
        CHECK_INT (name, decision.broadcast, BROADCAST_RESULT);
        CHECK_INT (name, plan->state, PLAN_ERROR);
        check_schedule_untouched (name, plan, origin);
        plan_destroy (&plan);
    }
}

// Else a reset would queue the next run of the schedule as one besides it.
static void an_extra_run_that_is_unfit_is_over (void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        const char *name = origin_rows[k].name;
        struct plan *plan = plan_in_extra_run (&origin_rows[k]);
        struct reason reason = {""};
        plan->message_count = 4;
        struct due due = due_now (EXEC_ID + 1);
        struct decision decision = engine_due (plan, &due, &reason);
        CHECK_INT (name, decision.commit, COMMIT_PARK);
        CHECK_INT (name, plan->last_state, PLANERROR);
        CHECK_INT (name, plan->state, PLAN_ERROR);
        CHECK_INT (name, plan->extra, PLAN_NONE);
        plan_destroy (&plan);
    }
}

// -- skips after a run, at its success

// clang-format off
static const struct wait_row {
    const char *name;
    struct schedule schedule;
    int64_t plan_time, used, skip_wait, now;
    int64_t want_time, want_num; // want_time -1: it is the end
} wait_rows[] = {
    {"none", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1010, 0, 0, 1012, 1020, 0},
    {"two", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1010, 0, 2, 1012, 1040, 2},
    {"behind missed ones", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1010, 0, 2, 1031, 1060, 4},
    {"kept: missed ones are among them", {SCHEDULE_SECOND, 10, 9, true, 1000, 0}, 1010, 0, 2, 1031, 1040, 2},
    {"to the last", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1010, 0, 7, 1012, 1090, 7},
    {"the last was missed meanwhile", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1010, 0, 7, 1021, -1, 0},
    {"none is left", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1090, 8, 2, 1092, -1, 0},
    {"value 0", {SCHEDULE_SECOND, 0, 9, false, 1000, 0}, 1010, 0, 2, 1012, 1012, 2},
    {"value 0, to the last", {SCHEDULE_SECOND, 0, 9, false, 1000, 0}, 1010, 0, 7, 1012, 1012, 7},
    {"value 0, past the last", {SCHEDULE_SECOND, 0, 9, false, 1000, 0}, 1010, 0, 8, 1012, -1, 0},
    {"weeks", {SCHEDULE_WEEK, 4, 9, false, 1000, 0}, 1000, 0, 2, 1012, 3 * 604800 + 1000, 2},
    {"months", {SCHEDULE_MONTH, 31, 9, false, 0, 0}, 30 * 86400, 0, 1, 30 * 86400, 89 * 86400, 1},
    {"for ever", {SCHEDULE_SECOND, 1, -1, false, 1000, 0}, 1010, 9, INT32_MAX, 1010, 1011 + (int64_t)INT32_MAX, INT32_MAX},
};
// clang-format on

static void check_wait (const struct wait_row *row, enum plan_state held)
{
    bool paused = held == PLAN_PAUSE;
    struct plan *plan = plan_in_hand ();
    struct run run = {EXEC_ID, RUN_RUNNING, false};
    struct answer answer = {.status = OK};
    plan->schedule = row->schedule;
    plan->plan_time = row->plan_time;
    plan->real_repet = row->used;
    plan->skip_wait = row->skip_wait;
    plan->state = held;
    struct decision decision = engine_answer (plan, &run, &answer, utc, row->now);
    CHECK_INT (row->name, plan->real_repet, row->used + 1);
    if (row->want_time < 0) {
        CHECK_INT (row->name, decision.commit, COMMIT_END);
        CHECK_INT (row->name, plan->state, PLAN_CLOSE);
    } else {
        CHECK_INT (row->name, decision.commit, paused ? COMMIT_PARK : COMMIT_NEXT);
        CHECK_INT (row->name, plan->state, paused ? PLAN_PAUSE : PLAN_QUEUE);
        CHECK_INT (row->name, plan->plan_time, row->want_time);
        CHECK_INT (row->name, plan->skip_num, row->want_num);
        CHECK_INT (row->name, plan->skip_wait, 0);
    }
    plan_destroy (&plan);
}

static void success_skips_those_behind_the_run (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (wait_rows); i++) {
        check_wait (&wait_rows[i], PLAN_EXECUTE);
        check_wait (&wait_rows[i], PLAN_PAUSE);
    }
}

static void a_failure_leaves_them_to_be_skipped (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum event event;
        uint8_t status;
    } rows[] = {{"heartbeat", STATUS, RUNING},       {"failure", RESULT, ERROR},
                {"no worker", STATUS, NOT_WORKER},   {"refused", STATUS, NOT_SUPPORT},
                {"not sent", NOT_SENT, 0},           {"no status", NO_STATUS, 0},
                {"its lease is over", LEASE_OVER, 0}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        struct run run = {EXEC_ID, RUN_SENT, false};
        plan->skip_wait = 2;
        happen (plan, &run, rows[i].event, rows[i].status);
        CHECK_INT (rows[i].name, plan->skip_wait, 2);
        CHECK_INT (rows[i].name, plan->plan_time, 1010);
        CHECK_INT (rows[i].name, plan->skip_num, 0);
        plan_destroy (&plan);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_plan_held_meanwhile_stays_so),
        cmocka_unit_test (a_paused_plan_ends_with_its_last_run),
        cmocka_unit_test (a_paused_plan_that_is_refused_is_parked),
        cmocka_unit_test (a_run_that_is_put_back_is_no_failure),
        cmocka_unit_test (an_extra_run_that_is_put_back_and_held_is_over),
        cmocka_unit_test (an_extra_run_is_tried_once_and_counts_for_nothing),
        cmocka_unit_test (an_extra_run_is_sent_and_kept_alive),
        cmocka_unit_test (an_extra_run_is_due_at_once),
        cmocka_unit_test (an_extra_run_is_of_the_moment_it_is_fired),
        cmocka_unit_test (an_extra_run_that_takes_the_right_to_run_parks_the_plan),
        cmocka_unit_test (an_extra_run_that_is_unfit_is_over),
        cmocka_unit_test (success_skips_those_behind_the_run),
        cmocka_unit_test (a_failure_leaves_them_to_be_skipped),
    };
    return cmocka_run_group_tests_name ("meanwhile", tests, start_zone, end_zone);
}
