// The decision after a run that failed, took too long or was cancelled, by the policy of its plan;
// also while the plan was paused or closed; and for plans that are claimed too late.
// Source: proto 6.3, 7.4; features C023, C024, C026, C041, C042, C043, D004, E018.
#include "codes.h"
#include "engine.h"
#include "in_hand.h"

enum {
    OK = ZERO_STATUS_OK_ID,
    RUNING = ZERO_STATUS_RUNING_ID,
    FAILED = ZERO_STATUS_FAILED_ID,
    TIMEOUT = ZERO_STATUS_TIMEOUT_ID,
    NOT_WORKER = ZERO_STATUS_NOT_WORKER_ID,
    NOT_SUPPORT = ZERO_STATUS_NOT_SUPPORT_ID,
    PLANERROR = ZERO_STATUS_FRAME_PLANERROR_ID,
    SEND_ERROR = ZERO_STATUS_SEND_ERROR_ID,
    RECV_ERROR = ZERO_STATUS_RECV_ERROR_ID,
    CANCELLED = ZERO_STATUS_CANCELLED_ID,
    MISSED = ZERO_STATUS_MISSED_ID
};

#define ONCE   "{\"retry\":{\"strategy\":\"fixed\",\"interval\":7,\"max\":1}}"
#define NEVER  "{\"retry\":{\"strategy\":\"none\"}}"
#define EVER   "{\"retry\":{\"strategy\":\"exponential\",\"interval\":3}}"
#define MANUAL "{\"retry\":{\"strategy\":\"none\",\"need_manual\":true}}"
#define LIMIT  "{\"timeout\":30}"

static struct zone *utc;

static void set_policy (struct plan *plan, const char *policy)
{
    struct reason reason = {""};
    json_t *object = json_loads (policy, 0, NULL);
    plan->policy = object ? policy_read (object, &reason) : NULL;
    if (!plan->policy)
        fail_msg ("%s: %s", policy, reason.text);
    json_decref (object);
    policy_into_schedule (plan->policy, &plan->schedule);
}

// What may happen to a run. A status is the first message of the run's connection. LOST: its lease
// ended, and the plan was claimed again.
enum event { STATUS, RESULT, NOT_SENT, NO_STATUS, TIME_OVER, CANCEL, LOST, DUE };

static struct decision happen (struct plan *plan, enum event event, uint8_t status)
{
    struct reason reason = {""};
    struct run run = {EXEC_ID, event == RESULT ? RUN_RUNNING : RUN_SENT, false};
    struct answer answer = {.status = status, .on_connection = true};
    struct due due = due_now (EXEC_ID + 1);
    due.zone = utc;
    switch (event) {
    case NOT_SENT:
        return engine_handle_not_sent (plan);
    case NO_STATUS:
        return engine_handle_no_status (plan);
    case TIME_OVER:
        return engine_timeout (plan, utc, NOW);
    case CANCEL:
        return engine_cancel (plan, utc, NOW);
    case LOST:
        due = due_after_lease (plan);
        due.zone = utc;
        return engine_due (plan, &due, &reason);
    case DUE:
        return engine_due (plan, &due, &reason);
    case STATUS:
    case RESULT:
        break;
    }
    return engine_answer (plan, &run, &answer, utc, NOW);
}

// -- failures

// clang-format off
static const struct failure_row {
    const char *name, *policy;
    enum event event;
    uint8_t status;
    int64_t failures; // before
    int32_t repeat;   // 1: it is the last occurrence
    enum commit commit;
    int64_t delay_ms;
    enum plan_state state;
    uint8_t last_state;
    int64_t error_count, tries, plan_time, skip_num;
    enum plan_verdict verdict;
} failure_rows[] = {
    {"a first failure", ONCE, RESULT, FAILED, 0, 5, COMMIT_RETRY, 7000, PLAN_RETRY, FAILED, 1, 0, 1010, 0, VERDICT_NONE},
    {"the last one", ONCE, RESULT, FAILED, 1, 5, COMMIT_NEXT, 0, PLAN_QUEUE, FAILED, 0, 0, 1020, 1, VERDICT_NONE},
    {"no retries at all", NEVER, RESULT, FAILED, 0, 5, COMMIT_NEXT, 0, PLAN_QUEUE, FAILED, 0, 0, 1020, 1, VERDICT_NONE},
    {"of the last occurrence", NEVER, RESULT, FAILED, 0, 1, COMMIT_PARK, 0, PLAN_ERROR, FAILED, 1, 0, 1010, 0, VERDICT_FAILURE},
    {"a person decides", MANUAL, RESULT, FAILED, 0, 5, COMMIT_PARK, 0, PLAN_ERROR, FAILED, 1, 0, 1010, 0, VERDICT_PENDING},
    {"a person decides of the last one", MANUAL, RESULT, FAILED, 0, 1, COMMIT_PARK, 0, PLAN_ERROR, FAILED, 1, 0, 1010, 0, VERDICT_PENDING},
    {"for ever", EVER, RESULT, FAILED, 2, 5, COMMIT_RETRY, 12000, PLAN_RETRY, FAILED, 3, 0, 1010, 0, VERDICT_NONE},
    {"none is said", LIMIT, RESULT, FAILED, 2, 5, COMMIT_RETRY, 4000, PLAN_RETRY, FAILED, 3, 0, 1010, 0, VERDICT_NONE},

    {"the target's own error, with a policy", ONCE, STATUS, NOT_SUPPORT, 0, 5, COMMIT_RETRY, 7000, PLAN_RETRY, NOT_SUPPORT, 1, 0, 1010, 0, VERDICT_NONE},
    {"the target's own error, the last", ONCE, STATUS, NOT_SUPPORT, 1, 5, COMMIT_NEXT, 0, PLAN_QUEUE, NOT_SUPPORT, 0, 0, 1020, 1, VERDICT_NONE},
    {"the target's own error, without", LIMIT, STATUS, NOT_SUPPORT, 0, 5, COMMIT_PARK, 0, PLAN_ERROR, NOT_SUPPORT, 0, 0, 1010, 0, VERDICT_NONE},
    {"the right to run is lost, whatever the policy", ONCE, STATUS, PLANERROR, 0, 5, COMMIT_PARK, 0, PLAN_ERROR, PLANERROR, 0, 0, 1010, 0, VERDICT_NONE},
    {"the same as a result", ONCE, RESULT, PLANERROR, 0, 5, COMMIT_PARK, 0, PLAN_ERROR, PLANERROR, 0, 0, 1010, 0, VERDICT_NONE},

    {"no worker uses up none", NEVER, STATUS, NOT_WORKER, 0, 5, COMMIT_RETRY, 1000, PLAN_RETRY, NOT_WORKER, 0, 1, 1010, 0, VERDICT_NONE},
    {"no worker as a result", NEVER, RESULT, NOT_WORKER, 0, 5, COMMIT_RETRY, 1000, PLAN_RETRY, NOT_WORKER, 0, 1, 1010, 0, VERDICT_NONE},
    {"not sent uses up none", NEVER, NOT_SENT, 0, 0, 5, COMMIT_RETRY, 1000, PLAN_RETRY, SEND_ERROR, 0, 1, 1010, 0, VERDICT_NONE},
    {"no status uses up none", NEVER, NO_STATUS, 0, 0, 5, COMMIT_DOUBT, 1000, PLAN_RETRY, RECV_ERROR, 0, 1, 1010, 0, VERDICT_NONE},
    {"not sent, no policy", LIMIT, NOT_SENT, 0, 1, 5, COMMIT_RETRY, 2000, PLAN_RETRY, SEND_ERROR, 2, 1, 1010, 0, VERDICT_NONE},

    {"no status, no policy", LIMIT, NO_STATUS, 0, 1, 5, COMMIT_DOUBT, 2000, PLAN_RETRY, RECV_ERROR, 2, 0, 1010, 0, VERDICT_NONE},

    {"its time is over", LIMIT, TIME_OVER, 0, 0, 5, COMMIT_RETRY, 1000, PLAN_RETRY, TIMEOUT, 1, 0, 1010, 0, VERDICT_NONE},
    {"its time is over, the last", NEVER, TIME_OVER, 0, 0, 5, COMMIT_NEXT, 0, PLAN_QUEUE, TIMEOUT, 0, 0, 1020, 1, VERDICT_NONE},
    {"its lease is over", ONCE, LOST, 0, 0, 5, COMMIT_RETRY, 7000, PLAN_RETRY, TIMEOUT, 1, 0, 1010, 0, VERDICT_NONE},
    {"its lease is over, the last", NEVER, LOST, 0, 0, 5, COMMIT_NEXT, 0, PLAN_QUEUE, TIMEOUT, 0, 0, 1020, 1, VERDICT_NONE},
    {"its lease is over, a person decides", MANUAL, LOST, 0, 0, 5, COMMIT_PARK, 0, PLAN_ERROR, TIMEOUT, 1, 0, 1010, 0, VERDICT_PENDING},
    {"its lease is over, with a timeout", LIMIT, LOST, 0, 0, 5, COMMIT_RETRY, 1000, PLAN_RETRY, TIMEOUT, 1, 0, 1010, 0, VERDICT_NONE},

    {"cancelled", EVER, CANCEL, 0, 2, 5, COMMIT_NEXT, 0, PLAN_QUEUE, CANCELLED, 0, 0, 1020, 1, VERDICT_CANCELLED},
    {"cancelled, a person need not decide", MANUAL, CANCEL, 0, 0, 5, COMMIT_NEXT, 0, PLAN_QUEUE, CANCELLED, 0, 0, 1020, 1, VERDICT_CANCELLED},
    {"cancelled, the last", LIMIT, CANCEL, 0, 0, 1, COMMIT_END, 0, PLAN_CLOSE, CANCELLED, 0, 0, 1010, 0, VERDICT_CANCELLED},

    {"well, after failures", ONCE, RESULT, OK, 1, 5, COMMIT_NEXT, 0, PLAN_QUEUE, OK, 0, 0, 1020, 0, VERDICT_NONE},
};
// clang-format on

static void check_failure (const struct failure_row *row)
{
    struct plan *plan = plan_in_hand ();
    set_policy (plan, row->policy);
    plan->schedule.repeat = row->repeat;
    plan->error_count = row->failures;
    struct decision decision = happen (plan, row->event, row->status);
    CHECK_INT (row->name, decision.commit, row->commit);
    CHECK_INT (row->name, decision.delay_ms, row->delay_ms);
    CHECK_INT (row->name, plan->state, row->state);
    CHECK_INT (row->name, plan->last_state, row->last_state);
    CHECK_INT (row->name, plan->error_count, row->error_count);
    CHECK_INT (row->name, plan->tries, row->tries);
    CHECK_INT (row->name, plan->plan_time, row->plan_time);
    CHECK_INT (row->name, plan->skip_num, row->skip_num);
    CHECK_INT (row->name, plan->verdict, row->verdict);
    bool over = row->commit == COMMIT_NEXT || row->commit == COMMIT_PARK;
    bool exhausted = over && row->last_state != OK && row->last_state != CANCELLED;
    CHECK_INT (row->name, decision.exhausted, exhausted);
    CHECK_INT (row->name, decision.attempts, exhausted ? row->failures + 1 : 0);
    CHECK_INT (row->name, plan->exec_id, EXEC_ID);
    CHECK_INT (row->name, plan->real_repet, row->last_state == OK);
    bool untaken = row->event == NOT_SENT || row->event == NO_STATUS || row->status == NOT_WORKER;
    CHECK_INT (row->name, decision.broadcast, untaken ? BROADCAST_FAILURE : BROADCAST_RESULT);
    plan_destroy (&plan);
}

static void each_failure_has_its_end (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (failure_rows); i++)
        check_failure (&failure_rows[i]);
}

// What a worker requests for the next try.
// clang-format off
static const struct advice_row {
    const char *name, *policy;
    struct advice advice;
    int64_t failures; // before
    int32_t repeat;
    enum commit commit;
    int64_t delay_ms;
    enum plan_state state;
    int64_t error_count;
    enum plan_verdict verdict;
    bool exhausted;
} advice_rows[] = {
    {"final, though it might be retried", EVER, {ADVICE_FINAL, 0}, 0, 1, COMMIT_PARK, 0, PLAN_ERROR, 1, VERDICT_FAILURE, true},
    {"final of one of many", EVER, {ADVICE_FINAL, 0}, 0, 5, COMMIT_NEXT, 0, PLAN_QUEUE, 0, VERDICT_NONE, true},
    {"final without a policy", LIMIT, {ADVICE_FINAL, 0}, 0, 1, COMMIT_PARK, 0, PLAN_ERROR, 1, VERDICT_FAILURE, true},
    {"final, and a person decides", MANUAL, {ADVICE_FINAL, 0}, 0, 1, COMMIT_PARK, 0, PLAN_ERROR, 1, VERDICT_PENDING, true},
    {"not before", ONCE, {ADVICE_AFTER, 90}, 0, 5, COMMIT_RETRY, 90000, PLAN_RETRY, 1, VERDICT_NONE, false},
    {"at once", ONCE, {ADVICE_AFTER, 0}, 0, 5, COMMIT_RETRY, 0, PLAN_RETRY, 1, VERDICT_NONE, false},
    {"not before, but no retry is left", ONCE, {ADVICE_AFTER, 90}, 1, 1, COMMIT_PARK, 0, PLAN_ERROR, 2, VERDICT_FAILURE, true},
    {"no try", ONCE, {ADVICE_RELEASE, 30}, 0, 5, COMMIT_RETRY, 30000, PLAN_QUEUE, 0, VERDICT_NONE, false},
    {"no try, of a retry", ONCE, {ADVICE_RELEASE, 30}, 1, 5, COMMIT_RETRY, 30000, PLAN_RETRY, 1, VERDICT_NONE, false},
};
// clang-format on

static void a_worker_may_say_how_it_is_retried (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (advice_rows); i++) {
        const struct advice_row *row = &advice_rows[i];
        struct plan *plan = plan_in_hand ();
        set_policy (plan, row->policy);
        plan->schedule.repeat = row->repeat;
        plan->error_count = row->failures;
        plan->last_state = OK;
        struct run run = {EXEC_ID, RUN_SENT, false};
        const struct answer answer = {.status = FAILED,
                                      .has_exec_id = true,
                                      .exec_id = EXEC_ID,
                                      .target = TARGET_PULL,
                                      .advice = row->advice};
        struct decision decision = engine_answer (plan, &run, &answer, utc, NOW);
        bool released = row->advice.kind == ADVICE_RELEASE;
        CHECK_INT (row->name, decision.commit, row->commit);
        CHECK_INT (row->name, decision.delay_ms, row->delay_ms);
        CHECK_INT (row->name, decision.exhausted, row->exhausted);
        CHECK_INT (row->name, decision.broadcast, released ? BROADCAST_NONE : BROADCAST_RESULT);
        CHECK_INT (row->name, plan->state, row->state);
        CHECK_INT (row->name, plan->last_state, released ? OK : FAILED);
        CHECK_INT (row->name, plan->error_count, row->error_count);
        CHECK_INT (row->name, plan->verdict, row->verdict);
        plan_destroy (&plan);
    }
}

// max = 3: three retries, so four runs; those that were not taken in between count for nothing.
static void max_is_how_many_retries_there_are (void **state)
{
    (void)state;
    struct plan *plan = plan_in_hand ();
    set_policy (plan, "{\"retry\":{\"strategy\":\"sequence\",\"sequence\":[2,4],\"max\":3}}");
    static const int64_t delays_ms[] = {2000, 4000, 4000};
    for (size_t i = 0; i < ROWS (delays_ms); i++) {
        for (int64_t n = 0; n < 3; n++)
            assert_int_equal (happen (plan, NOT_SENT, 0).delay_ms, INT64_C (1000) << n);
        struct decision decision = happen (plan, RESULT, FAILED);
        assert_int_equal (decision.commit, COMMIT_RETRY);
        assert_int_equal (decision.delay_ms, delays_ms[i]);
        assert_int_equal (plan->error_count, i + 1);
        assert_int_equal (plan->tries, 0);
    }
    assert_int_equal (happen (plan, RESULT, FAILED).commit, COMMIT_NEXT);
    assert_int_equal (plan->plan_time, 1020);
    plan_destroy (&plan);
}

// Occurrences missed meanwhile are reported with the run that ends the retries, and only then.
static void a_failure_for_good_tells_what_was_missed (void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        int32_t repeat;
        int64_t missed;
    } rows[] = {{NEVER, 5, 2}, {NEVER, 3, 0}, {MANUAL, 5, 0}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        set_policy (plan, rows[i].policy);
        plan->schedule.repeat = rows[i].repeat;
        struct decision decision = engine_timeout (plan, utc, 1035);
        CHECK_INT (rows[i].policy, decision.misses.missed.count, rows[i].missed);
        CHECK_INT (rows[i].policy, plan->missed, rows[i].missed);
        plan_destroy (&plan);
    }
}

// -- while management held the plan, or asked for a run besides the schedule

// clang-format off
static const struct held_row {
    const char *name, *policy;
    enum plan_state was;
    enum plan_state extra; // PLAN_NONE: it is a run of the schedule
    int32_t repeat;
    enum event event;
    uint8_t status;
    enum commit commit;
    enum plan_state state;
    int64_t plan_time, error_count;
    enum plan_verdict verdict;
} held_rows[] = {
    {"paused, a failure", ONCE, PLAN_PAUSE, PLAN_NONE, 5, RESULT, FAILED, COMMIT_PARK, PLAN_PAUSE, 1010, 1, VERDICT_NONE},
    {"paused, the last failure", NEVER, PLAN_PAUSE, PLAN_NONE, 5, RESULT, FAILED, COMMIT_PARK, PLAN_PAUSE, 1020, 0, VERDICT_NONE},
    {"paused, a person decides", MANUAL, PLAN_PAUSE, PLAN_NONE, 5, RESULT, FAILED, COMMIT_PARK, PLAN_ERROR, 1010, 1, VERDICT_PENDING},
    {"paused, its time is over", LIMIT, PLAN_PAUSE, PLAN_NONE, 5, TIME_OVER, 0, COMMIT_PARK, PLAN_PAUSE, 1010, 1, VERDICT_NONE},
    {"paused, cancelled", LIMIT, PLAN_PAUSE, PLAN_NONE, 5, CANCEL, 0, COMMIT_PARK, PLAN_PAUSE, 1020, 0, VERDICT_CANCELLED},
    {"paused, the last one cancelled", LIMIT, PLAN_PAUSE, PLAN_NONE, 1, CANCEL, 0, COMMIT_END, PLAN_CLOSE, 1010, 0, VERDICT_CANCELLED},
    {"closed, the last failure", NEVER, PLAN_CLOSE, PLAN_NONE, 5, RESULT, FAILED, COMMIT_PARK, PLAN_CLOSE, 1020, 0, VERDICT_NONE},
    {"closed, a person decides", MANUAL, PLAN_CLOSE, PLAN_NONE, 5, RESULT, FAILED, COMMIT_PARK, PLAN_CLOSE, 1010, 1, VERDICT_PENDING},
    {"closed, cancelled", LIMIT, PLAN_CLOSE, PLAN_NONE, 5, CANCEL, 0, COMMIT_PARK, PLAN_CLOSE, 1020, 0, VERDICT_CANCELLED},
    {"paused, its lease is over", ONCE, PLAN_PAUSE, PLAN_NONE, 5, LOST, 0, COMMIT_PARK, PLAN_PAUSE, 1010, 1, VERDICT_NONE},
    {"besides the schedule, a failure", NEVER, PLAN_EXECUTE, PLAN_QUEUE, 5, RESULT, FAILED, COMMIT_NEXT, PLAN_QUEUE, 1010, 0, VERDICT_NONE},
    {"besides the schedule, its time is over", NEVER, PLAN_EXECUTE, PLAN_QUEUE, 5, TIME_OVER, 0, COMMIT_NEXT, PLAN_QUEUE, 1010, 0, VERDICT_NONE},
    {"besides the schedule, cancelled", NEVER, PLAN_EXECUTE, PLAN_QUEUE, 5, CANCEL, 0, COMMIT_NEXT, PLAN_QUEUE, 1010, 0, VERDICT_NONE},
    {"besides the schedule, a paused plan cancelled", NEVER, PLAN_EXECUTE, PLAN_PAUSE, 5, CANCEL, 0, COMMIT_PARK, PLAN_PAUSE, 1010, 0, VERDICT_NONE},
    {"besides the schedule, its lease is over", NEVER, PLAN_EXECUTE, PLAN_QUEUE, 5, LOST, 0, COMMIT_NEXT, PLAN_QUEUE, 1010, 0, VERDICT_NONE},
    {"besides the schedule, not sent", NEVER, PLAN_EXECUTE, PLAN_QUEUE, 5, NOT_SENT, 0, COMMIT_NEXT, PLAN_QUEUE, 1010, 0, VERDICT_NONE},
};
// clang-format on

static void what_management_did_stays (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (held_rows); i++) {
        const struct held_row *row = &held_rows[i];
        struct plan *plan = plan_in_hand ();
        set_policy (plan, row->policy);
        plan->schedule.repeat = row->repeat;
        plan->state = row->was;
        plan->extra = row->extra;
        struct decision decision = happen (plan, row->event, row->status);
        CHECK_INT (row->name, decision.commit, row->commit);
        CHECK_INT (row->name, plan->state, row->state);
        CHECK_INT (row->name, plan->plan_time, row->plan_time);
        CHECK_INT (row->name, plan->error_count, row->error_count);
        CHECK_INT (row->name, plan->tries, 0);
        CHECK_INT (row->name, plan->verdict, row->verdict);
        // A permanent failure moves the plan to its next time, or stops it for manual action.
        CHECK_INT (row->name, decision.exhausted,
                   !row->extra && row->event == RESULT &&
                       (row->plan_time == 1020 || row->verdict == VERDICT_PENDING));
        plan_destroy (&plan);
    }
}

// A manual run leaves the wait for a retry as it was: after a failure, or when the target did not
// take the plan, which with a policy is counted apart.
static void a_manual_run_returns_to_the_wait_for_a_retry (void **state)
{
    (void)state;
    static const struct {
        const char *name, *policy;
        enum event event;
        uint8_t status;
        int64_t delay_ms;
    } rows[] = {
        {"not sent, with retries", "{\"retry\":{\"strategy\":\"fixed\",\"interval\":60}}", NOT_SENT,
         0, 8000},
        {"not sent, without a policy", "{}", NOT_SENT, 0, 8000},
        {"failed, with retries", "{\"retry\":{\"strategy\":\"fixed\",\"interval\":60}}", RESULT,
         FAILED, 60000},
        {"failed, without a policy", "{}", RESULT, FAILED, 8000},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        set_policy (plan, rows[i].policy);
        for (int n = 0; n < 4; n++)
            happen (plan, rows[i].event, rows[i].status);
        plan->extra = PLAN_QUEUE;
        plan->state = PLAN_EXECUTE;
        struct decision decision = happen (plan, RESULT, OK);
        CHECK_INT (rows[i].name, decision.commit, COMMIT_RETRY);
        CHECK_INT (rows[i].name, decision.delay_ms, rows[i].delay_ms);
        CHECK_INT (rows[i].name, plan->state, PLAN_RETRY);
        plan_destroy (&plan);
    }
}

// -- claimed too late

#define LATEST "{\"misfire\":\"latest\"}"
#define WINDOW "{\"misfire_window\":30}"

// clang-format off
static const struct late_row {
    const char *name, *policy;
    enum plan_state was;
    enum plan_state extra;
    int64_t now, end_time;
    bool again;
    bool send; // then nothing of what follows
    enum commit commit;
    enum plan_state state;
    int64_t plan_time, skip_num, missed;
    const char *reason;
} late_rows[] = {
    {"in time", LATEST, PLAN_EXECUTE, PLAN_NONE, 1011, 0, false, true, 0, 0, 0, 0, 0, ""},
    {"latest", LATEST, PLAN_EXECUTE, PLAN_NONE, 1045, 0, false, false, COMMIT_NEXT, PLAN_QUEUE, 1040, 3, 3, "missed: 3, they are too late"},
    {"latest, paused meanwhile", LATEST, PLAN_PAUSE, PLAN_NONE, 1045, 0, false, false, COMMIT_PARK, PLAN_PAUSE, 1040, 3, 3, "missed: 3, they"},
    {"latest, closed meanwhile", LATEST, PLAN_CLOSE, PLAN_NONE, 1045, 0, false, false, COMMIT_PARK, PLAN_CLOSE, 1040, 3, 3, "missed: 3, they"},
    {"all are over", WINDOW, PLAN_EXECUTE, PLAN_NONE, 1500, 0, false, false, COMMIT_END, PLAN_CLOSE, 1010, 0, 5, "missed: 5, they are too late"},
    {"all are over, closed meanwhile", WINDOW, PLAN_CLOSE, PLAN_NONE, 1500, 0, false, false, COMMIT_PARK, PLAN_CLOSE, 1010, 0, 5, "missed: 5, they"},
    {"besides the schedule nothing is late", WINDOW, PLAN_EXECUTE, PLAN_QUEUE, 1500, 1020, false, true, 0, 0, 0, 0, 0, ""},
    {"an earlier run is out still", WINDOW, PLAN_EXECUTE, PLAN_NONE, 1500, 0, true, true, 0, 0, 0, 0, 0, ""},
    {"behind the end", LATEST, PLAN_EXECUTE, PLAN_NONE, 1045, 1035, false, false, COMMIT_END, PLAN_CLOSE, 1010, 0, 3, "missed: 3, end_time is past"},
    {"behind the end, an earlier run is out still", LATEST, PLAN_EXECUTE, PLAN_NONE, 1045, 1035, true, false, COMMIT_END, PLAN_CLOSE, 1010, 0, 3, "missed: 3, end_time is past"},
    {"in the last second", WINDOW, PLAN_EXECUTE, PLAN_NONE, 1035, 1035, false, true, 0, 0, 0, 0, 0, ""},
};
// clang-format on

static void what_is_too_late_is_passed_over (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (late_rows); i++) {
        const struct late_row *row = &late_rows[i];
        struct reason reason = {""};
        struct plan *plan = plan_in_hand ();
        struct due due = due_now (EXEC_ID + 1);
        set_policy (plan, row->policy);
        plan->schedule.end_time = row->end_time;
        plan->state = row->was;
        plan->extra = row->extra;
        due.zone = utc;
        due.now = row->now;
        due.earlier_may_answer = row->again;
        struct decision decision = engine_due (plan, &due, &reason);
        CHECK_INT (row->name, decision.send, row->send);
        CHECK (row->name, strncmp (reason.text, row->reason, strlen (row->reason)) == 0);
        if (!row->send) {
            CHECK_INT (row->name, decision.commit, row->commit);
            CHECK_INT (row->name, decision.broadcast, BROADCAST_RESULT);
            CHECK_INT (row->name, decision.misses.missed.count, row->missed);
            CHECK_INT (row->name, plan->last_state, MISSED);
            CHECK_INT (row->name, plan->state, row->state);
            CHECK_INT (row->name, plan->plan_time, row->plan_time);
            CHECK_INT (row->name, plan->skip_num, row->skip_num);
            CHECK_INT (row->name, plan->missed, row->missed);
            CHECK_INT (row->name, decision.exhausted, false);
        }
        plan_destroy (&plan);
    }
}

// No retry begins after end_time.
static void a_retry_ends_with_the_window (void **state)
{
    (void)state;
    struct plan *plan = plan_in_hand ();
    set_policy (plan, "{\"retry\":{\"strategy\":\"fixed\",\"interval\":1},\"end_time\":1011}");
    assert_int_equal (happen (plan, RESULT, FAILED).commit, COMMIT_RETRY);
    struct decision decision = happen (plan, DUE, 0);
    assert_true (decision.exhausted);
    assert_int_equal (decision.attempts, 1);
    assert_int_equal (decision.commit, COMMIT_END);
    assert_int_equal (plan->last_state, MISSED);
    assert_string_equal (decision.misses.why, "end_time");
    plan_destroy (&plan);
}

// The timeout of a run, or of its vote, ends it.
static void a_run_ends_with_its_time (void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        int32_t vote_s;
        int64_t end_s; // after the claim; 0 = never
    } rows[] = {{LATEST, 0, 0}, {LIMIT, 0, 30}, {LATEST, 9, 9}, {LIMIT, 9, 9}, {LIMIT, 60, 30}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        set_policy (plan, rows[i].policy);
        plan->vote.deadline_s = rows[i].vote_s;
        int64_t end_us = rows[i].end_s ? EXEC_ID + rows[i].end_s * 1000000 : 0;
        CHECK_INT (rows[i].policy, engine_run_end_us (plan), end_us);
        plan_destroy (&plan);
    }
}

// The plan was stored by another station: the start of its last run is known, but not its end.
static void a_retry_is_at_about_the_same_time (void **state)
{
    static const struct {
        const char *name, *policy;
        int64_t errors, tries, after_s;
    } rows[] = {
        {"fixed", ONCE, 1, 0, 7},
        {"exponential", EVER, 3, 0, 12},
        {"not taken", ONCE, 0, 2, 2},
        {"paced", NULL, 2, 0, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = plan_in_hand ();
        if (rows[i].policy)
            set_policy (plan, rows[i].policy);
        plan->state = PLAN_RETRY;
        plan->exec_time = NOW;
        plan->error_count = rows[i].errors;
        plan->tries = rows[i].tries;
        int64_t after_s = engine_retry_time (plan) - NOW;
        if (after_s != rows[i].after_s)
            fail_msg ("%s: want %d s, got %d", rows[i].name, (int)rows[i].after_s, (int)after_s);
        plan_destroy (&plan);
    }
}

static int set_up (void **state)
{
    (void)state;
    utc = zone_new_utc ();
    return utc ? 0 : -1;
}

static int tear_down (void **state)
{
    (void)state;
    zone_destroy (&utc);
    return 0;
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_failure_has_its_end),
        cmocka_unit_test (a_worker_may_say_how_it_is_retried),
        cmocka_unit_test (max_is_how_many_retries_there_are),
        cmocka_unit_test (a_failure_for_good_tells_what_was_missed),
        cmocka_unit_test (what_management_did_stays),
        cmocka_unit_test (a_manual_run_returns_to_the_wait_for_a_retry),
        cmocka_unit_test (what_is_too_late_is_passed_over),
        cmocka_unit_test (a_retry_ends_with_the_window),
        cmocka_unit_test (a_run_ends_with_its_time),
        cmocka_unit_test (a_retry_is_at_about_the_same_time),
    };
    return cmocka_run_group_tests_name ("failures", tests, set_up, tear_down);
}
