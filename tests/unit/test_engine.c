// The engine, rule by rule: submit, due, what an answer does as a status and as a result, late
// answers, pacing, skips and repeats. Source: proto 6 and 7.
#include "codes.h"
#include "engine.h"
#include "in_hand.h"
#include "retry.h"
#include "plan_json.h"

// -- submit

// clang-format off
static const struct submit_row {
    const char *name;
    struct schedule schedule; // received is `now`
    int64_t now, skip_set;
    int64_t plan_time, skip_num;
    const char *reason; // NULL: it is taken
} submit_rows[] = {
    {"none: at once", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 1000, 0, 1000, 0, NULL},
    {"none: at once, whatever plan_time", {SCHEDULE_NONE, 0, 9, false, 5000, 0}, 1000, 0, 1000, 0, NULL},
    {"time: at plan_time", {SCHEDULE_TIME, 0, 0, false, 1001, 0}, 1000, 0, 1001, 0, NULL},
    {"time: now is not past", {SCHEDULE_TIME, 0, 0, false, 1000, 0}, 1000, 0, 1000, 0, NULL},
    {"time: past, refused", {SCHEDULE_TIME, 0, 0, false, 999, 0}, 1000, 0, 0, 0, "plan_time: is past"},
    {"cron: without a time", {SCHEDULE_CRON, 0, -1, false, 0, 0}, 1000, 0, 0, 0, "cron: matches no local time"},
    {"time: past, no_keep", {SCHEDULE_TIME, 0, 0, true, 999, 0}, 1000, 0, 999, 0, NULL},
    {"time: past, and so is the end", {SCHEDULE_TIME, 0, 0, false, 900, 0, .end_time = 950}, 1000, 0, 0, 0, "end_time: is past"},
    {"time: later than the end", {SCHEDULE_TIME, 0, 0, false, 3000, 0, .end_time = 2000}, 1000, 0, 0, 0, "end_time: the first "},
    {"time: before the start", {SCHEDULE_TIME, 0, 0, false, 2000, 0, .start_time = 3000}, 1000, 0, 0, 0, "start_time: is later than plan_time"},
    {"time: past, before the start", {SCHEDULE_TIME, 0, 0, false, 900, 0, .start_time = 3000}, 1000, 0, 0, 0, "plan_time: is past"},
    {"time: past, no_keep, the end too", {SCHEDULE_TIME, 0, 0, true, 900, 0, .end_time = 950}, 1000, 0, 0, 0, "end_time: is past"},
    {"none: the end is past", {SCHEDULE_NONE, 0, -1, false, 0, 0, .end_time = 999}, 1000, 0, 0, 0, "end_time: is past"},
    {"hour: the end is past", {SCHEDULE_HOUR, 1, -1, false, 0, 0, .end_time = 999}, 1000, 0, 0, 0, "end_time: is past"},
    {"hour: the first would be later than the end", {SCHEDULE_HOUR, 1, -1, false, 0, 0, .end_time = 2000}, 1000, 0, 0, 0, "end_time: the first "},
    {"week: the end is past", {SCHEDULE_WEEK, 1, -1, false, 0, 0, .end_time = 999}, 1000, 0, 0, 0, "end_time: is past"},
    {"second: the last one is past, before the end", {SCHEDULE_SECOND, 10, 5, false, 949, 0, .end_time = 9999}, 1000, 0, 0, 0, "plan_repet: "},
    {"second: from the receipt", {SCHEDULE_SECOND, 10, 3, false, 0, 0}, 1000, 0, 1010, 0, NULL},
    {"second: from plan_time", {SCHEDULE_SECOND, 10, 3, false, 2000, 0}, 1000, 0, 2010, 0, NULL},
    {"minute", {SCHEDULE_MINUTE, 2, 3, false, 0, 0}, 1000, 0, 1120, 0, NULL},
    {"hour", {SCHEDULE_HOUR, 1, 3, false, 0, 0}, 1000, 0, 4600, 0, NULL},
    {"day", {SCHEDULE_DAY, 1, 3, false, 0, 0}, 1000, 0, 87400, 0, NULL},
    {"missed ones use up repeats", {SCHEDULE_SECOND, 10, 9, false, 955, 0}, 1000, 0, 1005, 4, NULL},
    {"missed ones are kept", {SCHEDULE_SECOND, 10, 9, true, 955, 0}, 1000, 0, 965, 0, NULL},
    {"the last one is now", {SCHEDULE_SECOND, 10, 5, false, 950, 0}, 1000, 0, 1000, 4, NULL},
    {"the last one is past", {SCHEDULE_SECOND, 10, 5, false, 949, 0}, 1000, 0, 0, 0, "plan_repet: "},
    {"all past, kept", {SCHEDULE_SECOND, 10, 5, true, 900, 0}, 1000, 0, 910, 0, NULL},
    {"skip_set", {SCHEDULE_SECOND, 10, 5, false, 0, 0}, 1000, 2, 1030, 2, NULL},
    {"skip_set after missed ones", {SCHEDULE_SECOND, 10, 9, false, 955, 0}, 1000, 2, 1025, 6, NULL},
    {"skip_set and missed ones use up all", {SCHEDULE_SECOND, 10, 6, false, 955, 0}, 1000, 2, 0, 0, "plan_repet: "},
    {"plan_time = 1, plan_value = 1", {SCHEDULE_SECOND, 1, -1, false, 1, 0}, 253402300000, 0, 253402300000, 253402299998, NULL},
    {"value 0 at the receipt", {SCHEDULE_SECOND, 0, 3, false, 0, 0}, 1000, 0, 1000, 0, NULL},
    {"value 0 at plan_time", {SCHEDULE_DAY, 0, 3, false, 1500, 0}, 1000, 0, 1500, 0, NULL},
    {"after the year 9999", {SCHEDULE_DAY, 32766, 3, false, 253402300799, 0}, 1000, 0, 0, 0, "plan_repet: "},
    {"week: Thursday 00:16:40 was it", {SCHEDULE_WEEK, 4, 3, false, 0, 0}, 1000, 0, 604800, 0, NULL},
    {"week: time of day of plan_time", {SCHEDULE_WEEK, 4, 3, false, 1000, 0}, 1000, 0, 1000, 0, NULL},
    {"week: missed ones use up nothing", {SCHEDULE_WEEK, 4, 1, false, 1, 0}, 10 * 604800 + 2, 0, 11 * 604800 + 1, 0, NULL},
    {"week: skip_set", {SCHEDULE_WEEK, 4, 3, false, 1000, 0}, 1000, 2, 2 * 604800 + 1000, 2, NULL},
    {"month: the last day", {SCHEDULE_MONTH, 0, 3, false, 0, 0}, 1000, 0, 30 * 86400, 0, NULL},
    {"month: the last but one", {SCHEDULE_MONTH, -1, 3, false, 0, 0}, 1000, 0, 29 * 86400, 0, NULL},
    {"month: February has 28", {SCHEDULE_MONTH, 31, 3, false, 0, 0}, 31 * 86400, 0, 58 * 86400, 0, NULL},
};
// clang-format on

static void submit_computes_the_first_occurrence (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (submit_rows); i++) {
        const struct submit_row *row = &submit_rows[i];
        struct plan *plan = plan_new (0);
        plan->schedule = row->schedule;
        plan->schedule.received = row->now;
        plan->skip_set = row->skip_set;
        struct reason reason = {""};
        struct misses misses;
        int rc = engine_submit (plan, zone, row->now, &misses, &reason);
        CHECK_INT (row->name, rc, row->reason ? ZPLAN_EPLAN : 0);
        CHECK (row->name, strncmp (reason.text, row->reason ? row->reason : "",
                                   row->reason ? strlen (row->reason) : 1) == 0);
        if (rc == 0) {
            CHECK_INT (row->name, plan->plan_time, row->plan_time);
            CHECK_INT (row->name, plan->skip_num, row->skip_num);
            CHECK_INT (row->name, plan->real_repet, 0);
        }
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

// -- due

#define SOUND_DESC BYTES ("\4\2\2$%\5\0")
#define TYPES_16   "%%%%%%%%%%%%%%%%"

// clang-format off
static const struct due_row {
    const char *name;
    uint8_t last_state;
    const char *station;
    struct span desc;
    size_t count;       // stored frames: mailbox, description and those after it
    const char *reason; // what it starts with; NULL: it is sent
} due_rows[] = {
    {"sound", 0, "api1", SOUND_DESC, 6, NULL},
    {"five stored frames", 0, "api1", BYTES ("\3\2\2$\5\0"), 5, NULL},
    {"a retry", ZERO_STATUS_SEND_ERROR_ID, "api1", SOUND_DESC, 6, NULL},
    {"after RUNING", ZERO_STATUS_RUNING_ID, "api1", SOUND_DESC, 6, NULL},
    {"has lost its right to run", ZERO_STATUS_FRAME_PLANERROR_ID, "api1", SOUND_DESC, 6, "last_state: "},
    {"an empty station", 0, "", SOUND_DESC, 6, "station: "},
    {"another station than its key's", 0, "api2", SOUND_DESC, 6, "station: "},
    {"four stored frames", 0, "api1", BYTES ("\2\2\2$\0"), 4, "messages: "},
    {"one stored frame", 0, "api1", SOUND_DESC, 1, "messages: "},
    {"no stored frames", 0, "api1", SOUND_DESC, 0, "messages: "},
    {"a frame less than described", 0, "api1", SOUND_DESC, 5, "messages: "},
    {"a frame more than described", 0, "api1", SOUND_DESC, 7, "messages: "},
    {"a description with COMMAND twice", 0, "api1", BYTES ("\4\2$$%\5\0"), 6, "messages: "},
    {"an empty description", 0, "api1", BYTES (""), 6, "messages: "},
    {"more frames than can be sent", 0, "api1", BYTES ("\x20\2" TYPES_16 TYPES_16), 34, "messages: "},
};
// clang-format on

static struct plan *plan_of_row (const struct due_row *row)
{
    struct plan *plan = plan_in_hand ();
    plan->last_state = row->last_state;
    plan->station = span_text (row->station);
    for (size_t i = 0; i < PLAN_MESSAGES_MAX; i++)
        plan->messages[i] = i == 1 ? row->desc : span_text ("x");
    plan->message_count = row->count;
    return plan;
}

static void due_sends_or_takes_the_right_to_run (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (due_rows); i++) {
        const struct due_row *row = &due_rows[i];
        struct plan *plan = plan_of_row (row);
        struct reason reason = {""};
        struct due due = due_now (78);
        struct decision decision = engine_due (plan, &due, &reason);
        CHECK (row->name, decision.send == !row->reason);
        CHECK_INT (row->name, plan->plan_time, 1010);
        CHECK_INT (row->name, plan->real_repet, 0);
        if (row->reason) {
            CHECK (row->name, strncmp (reason.text, row->reason, strlen (row->reason)) == 0);
            CHECK_INT (row->name, decision.commit, COMMIT_PARK);
            CHECK_INT (row->name, decision.broadcast, BROADCAST_RESULT);
            CHECK_INT (row->name, plan->last_state, ZERO_STATUS_FRAME_PLANERROR_ID);
            CHECK_INT (row->name, plan->state, PLAN_ERROR);
        } else {
            CHECK_INT (row->name, plan->exec_id, 78);
            CHECK_INT (row->name, plan->exec_time, NOW);
            CHECK_INT (row->name, plan->state, PLAN_EXECUTE);
        }
        plan_destroy (&plan);
    }
}

// Plans of a pull target: a lease that ended without a result is no failure of a plan with `retry`,
// and an offered run is not too late, even if `end_time` has passed.
static const struct pull_row {
    const char *name, *policy;
    bool pull, goes_on, send, ended; // `ended`: a lost run
} pull_rows[] = {
    {"a run that was sent is lost", "{\"retry\":{\"strategy\":\"none\"}}", false, false, false,
     true},
    {"an offer is renewed", "{\"retry\":{\"strategy\":\"none\"}}", true, true, true, false},
    {"an offer that was not written is made", "{\"timeout\":5}", true, false, true, false},
    {"an offer begins before end_time", "{\"end_time\":5}", true, false, false, false},
    {"and stands behind it", "{\"end_time\":5}", true, true, true, false},
};

static void due_renews_what_is_offered (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (pull_rows); i++) {
        const struct pull_row *row = &pull_rows[i];
        struct plan *plan = plan_of_row (&due_rows[0]);
        struct reason reason = {""};
        json_t *object = json_loads (row->policy, 0, NULL);
        plan_take_policy (plan, policy_read (object, &reason));
        struct due due = due_now (78);
        due.lost = !plan->policy->end_time;
        due.pull = row->pull;
        due.goes_on = row->goes_on;
        due.lost = due.lost && engine_ends_lost (plan, &due);
        CHECK_INT (row->name, due.lost, row->ended);
        CHECK_INT (row->name, engine_due (plan, &due, &reason).send, row->send);
        json_decref (object);
        plan_destroy (&plan);
    }
}

// A message edited by hand may hold any value of plan_value's whole range under any type: it is
// refused or loses its right to run, it never gets as far as the calculation.
static const struct edited_row {
    const char *name;
    int type, value;
} edited_rows[] = {
    {"second, -5", SCHEDULE_SECOND, -5}, {"day, -31", SCHEDULE_DAY, -31},
    {"week, -31", SCHEDULE_WEEK, -31},   {"week, 8", SCHEDULE_WEEK, 8},
    {"month, 32", SCHEDULE_MONTH, 32},
};

static void due_takes_the_right_to_run_of_impossible_values (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (edited_rows); i++) {
        const struct edited_row *row = &edited_rows[i];
        struct plan *plan = plan_in_hand ();
        plan->schedule.type = (enum schedule_type)row->type;
        plan->schedule.value = row->value;
        size_t size;
        char *text = plan_stored_text (plan, &size);
        struct reason reason;
        struct plan *read = plan_from_stored_json (plan->id, span_of (text, size), &reason);
        struct due due = due_now (78);
        bool sent = read && engine_due (read, &due, &reason).send;
        free (text);
        plan_destroy (&read);
        plan_destroy (&plan);
        CHECK (row->name, !sent);
    }
}

// -- answers

// NO_WORKER_LATER is the status NOT_WORKER as the result of a run that its target had taken.
enum kind { LATE, LIFE, STILL_ALIVE, SUCCESS, FAIL, NO_WORKER, NO_WORKER_LATER, PARK };

// What each kind does to plan_in_hand ().
static const struct kind_row {
    struct decision decision;
    int64_t real_repet, error_count, plan_time, exec_time;
    enum plan_state state;
} kind_rows[] = {
    [LATE] = {{.commit = COMMIT_NONE}, 0, 0, 1010, 1010, PLAN_EXECUTE},
    [LIFE] = {{.commit = COMMIT_LEASE}, 0, 0, 1010, NOW, PLAN_EXECUTE},
    [STILL_ALIVE] = {{.commit = COMMIT_LEASE, .unchanged = true}, 0, 0, 1010, 1010, PLAN_EXECUTE},
    [SUCCESS] = {{.commit = COMMIT_NEXT, .save_work = true, .broadcast = BROADCAST_RESULT},
                 1,
                 0,
                 1020,
                 1010,
                 PLAN_QUEUE},
    [FAIL] = {{.commit = COMMIT_RETRY,
               .delay_ms = 1000,
               .save_work = true,
               .broadcast = BROADCAST_RESULT},
              0,
              1,
              1010,
              1010,
              PLAN_RETRY},
    [NO_WORKER_LATER] = {{.commit = COMMIT_RETRY,
                          .delay_ms = 1000,
                          .save_work = true,
                          .broadcast = BROADCAST_FAILURE},
                         0,
                         1,
                         1010,
                         1010,
                         PLAN_RETRY},
    [NO_WORKER] = {{.commit = COMMIT_RETRY,
                    .delay_ms = 1000,
                    .broadcast = BROADCAST_FAILURE,
                    .waiting = WAITING_FOR_TARGET},
                   0,
                   1,
                   1010,
                   1010,
                   PLAN_RETRY},
    [PARK] = {{.commit = COMMIT_PARK, .save_work = true, .broadcast = BROADCAST_RESULT},
              0,
              0,
              1010,
              1010,
              PLAN_ERROR},
};

static void check_kind (const char *name, enum kind kind, const struct plan *plan,
                        const struct decision *decision, uint8_t status)
{
    const struct kind_row *row = &kind_rows[kind];
    CHECK_INT (name, decision->commit, row->decision.commit);
    CHECK_INT (name, decision->delay_ms, row->decision.delay_ms);
    CHECK_INT (name, decision->save_work, row->decision.save_work);
    CHECK_INT (name, decision->unchanged, row->decision.unchanged);
    CHECK_INT (name, decision->broadcast, row->decision.broadcast);
    CHECK_INT (name, decision->waiting, row->decision.waiting);
    CHECK_INT (name, decision->send, false);
    CHECK_INT (name, decision->unqueued, false);
    CHECK_INT (name, decision->open_poll, false);
    CHECK_INT (name, decision->close_poll, false);
    CHECK_INT (name, plan->real_repet, row->real_repet);
    CHECK_INT (name, plan->error_count, row->error_count);
    CHECK_INT (name, plan->skip_num, 0);
    CHECK_INT (name, plan->plan_time, row->plan_time);
    CHECK_INT (name, plan->exec_time, row->exec_time);
    CHECK_INT (name, plan->state, row->state);
    CHECK_INT (name, plan->exec_id, EXEC_ID);
    if (kind == LATE)
        CHECK_INT (name, plan->last_state, 0);
    else if (kind != LIFE && kind != STILL_ALIVE)
        CHECK_INT (name, plan->last_state, status);
    else if (kind == LIFE && status == ZERO_STATUS_RUNING_ID)
        CHECK_INT (name, plan->last_state, ZERO_STATUS_RUNING_ID);
}

enum local_id { NO_LOCAL_ID, OWN_LOCAL_ID, OTHER_LOCAL_ID };

// How an answer comes.
struct way {
    enum target_type target;
    enum run_phase phase;
    bool again, on_connection;
    enum local_id local_id;
};

static void check_answer (const char *name, uint8_t status, struct way way, enum kind kind)
{
    struct zone *zone = zone_new_utc ();
    struct plan *plan = plan_in_hand ();
    struct run run = {EXEC_ID, way.phase, way.again};
    struct answer answer = {.status = status,
                            .on_connection = way.on_connection,
                            .has_exec_id = way.local_id != NO_LOCAL_ID,
                            .exec_id = way.local_id == OWN_LOCAL_ID ? EXEC_ID : 0,
                            .target = way.target};
    if (way.local_id == OTHER_LOCAL_ID)
        answer.exec_id = EXEC_ID - 1;
    struct decision decision = engine_answer (plan, &run, &answer, zone, NOW);
    // A further heartbeat of a run changes only the lease.
    if (kind == LIFE && way.phase == RUN_RUNNING)
        kind = STILL_ALIVE;
    check_kind (name, kind, plan, &decision, status);
    // After a heartbeat the next answer is a result; nothing else changes that.
    CHECK_INT (name, run.phase, kind == LIFE ? RUN_RUNNING : way.phase);
    CHECK_INT (name, run.exec_id, EXEC_ID);
    plan_destroy (&plan);
    zone_destroy (&zone);
}

static const struct way status_way = {TARGET_API, RUN_SENT, false, true, NO_LOCAL_ID};
static const struct way result_way = {TARGET_API, RUN_RUNNING, false, true, NO_LOCAL_ID};
static const struct way request_way = {TARGET_API, RUN_SENT, false, false, NO_LOCAL_ID};

static enum kind kind_as_status (int status, enum target_type target)
{
    if (status == 0x03 || status == 0x22 || status == 0x23)
        return LIFE;
    if (status == 0x20 && target == TARGET_VOTE)
        return LIFE;
    if (status == 0x01)
        return SUCCESS;
    return status == 0x88 ? NO_WORKER : PARK;
}

static enum kind kind_as_result (int status, enum target_type target)
{
    enum kind kind = kind_as_status (status, target);
    if (kind == LIFE)
        return kind;
    if (status == 0x88)
        return NO_WORKER_LATER;
    if (status == 0x8B)
        return PARK;
    return status < 0x80 ? SUCCESS : FAIL;
}

static void every_status_does_what_the_table_says (void **state)
{
    (void)state;
    for (int target = 0; target < TARGET_TYPES; target++) {
        for (int status = 1; status < 256; status++) {
            char name[64];
            snprintf (name, sizeof name, "%02x from %s", (unsigned)status,
                      target_type_name ((enum target_type)target));
            struct way way = status_way;
            way.target = (enum target_type)target;
            check_answer (name, (uint8_t)status, way, kind_as_status (status, way.target));
        }
    }
}

static void every_result_does_what_the_table_says (void **state)
{
    (void)state;
    const struct way ways[] = {result_way, request_way};
    for (size_t i = 0; i < ROWS (ways); i++) {
        for (int target = 0; target < TARGET_TYPES; target++) {
            for (int status = 1; status < 256; status++) {
                char name[64];
                snprintf (name, sizeof name, "result %02x from %s, way %zu", (unsigned)status,
                          target_type_name ((enum target_type)target), i);
                struct way way = ways[i];
                way.target = (enum target_type)target;
                check_answer (name, (uint8_t)status, way, kind_as_result (status, way.target));
            }
        }
    }
}

// Proto 7.3, and the first message of a connection.
// clang-format off
static const struct late_row {
    const char *name;
    uint8_t status;
    struct way way;
    enum kind kind;
} late_rows[] = {
    {"OK with the run's LOCAL_ID", 0x01, {TARGET_API, RUN_RUNNING, false, true, OWN_LOCAL_ID}, SUCCESS},
    {"OK with another LOCAL_ID", 0x01, {TARGET_API, RUN_RUNNING, false, true, OTHER_LOCAL_ID}, LATE},
    {"error with another LOCAL_ID", 0x81, {TARGET_API, RUN_RUNNING, false, true, OTHER_LOCAL_ID}, LATE},
    {"RUNING with another LOCAL_ID", 0x03, {TARGET_API, RUN_SENT, false, true, OTHER_LOCAL_ID}, LATE},
    {"WAITING with another LOCAL_ID", 0x22, {TARGET_API, RUN_RUNNING, false, true, OTHER_LOCAL_ID}, LATE},
    {"NOT_WORKER with another LOCAL_ID", 0x88, {TARGET_API, RUN_SENT, false, true, OTHER_LOCAL_ID}, LATE},
    {"pub: OK with another LOCAL_ID", 0x01, {TARGET_PUB, RUN_SENT, false, true, OTHER_LOCAL_ID}, LATE},
    {"request socket: own LOCAL_ID", 0x01, {TARGET_API, RUN_SENT, false, false, OWN_LOCAL_ID}, SUCCESS},
    {"request socket: another LOCAL_ID", 0x01, {TARGET_API, RUN_SENT, false, false, OTHER_LOCAL_ID}, LATE},
    {"request socket: no LOCAL_ID counts for the run in hand", 0x01, {TARGET_API, RUN_SENT, false, false, NO_LOCAL_ID}, SUCCESS},
    {"request socket: an error before the status is a result", 0x81, {TARGET_API, RUN_SENT, false, false, NO_LOCAL_ID}, FAIL},
    {"request socket: NOT_WORKER is a result", 0x88, {TARGET_API, RUN_SENT, false, false, NO_LOCAL_ID}, NO_WORKER_LATER},
    {"connection: an error is the status", 0x81, {TARGET_API, RUN_SENT, false, true, NO_LOCAL_ID}, PARK},
    {"connection: an error after RUNING is the result", 0x81, {TARGET_API, RUN_RUNNING, false, true, NO_LOCAL_ID}, FAIL},
    {"again: own LOCAL_ID on the request socket", 0x01, {TARGET_API, RUN_SENT, true, false, OWN_LOCAL_ID}, SUCCESS},
    {"again: own LOCAL_ID on the connection", 0x01, {TARGET_API, RUN_SENT, true, true, OWN_LOCAL_ID}, SUCCESS},
    {"again: error with own LOCAL_ID after RUNING", 0x81, {TARGET_API, RUN_RUNNING, true, true, OWN_LOCAL_ID}, FAIL},
    {"again: another LOCAL_ID after RUNING", 0x01, {TARGET_API, RUN_RUNNING, true, true, OTHER_LOCAL_ID}, LATE},
    {"again: no LOCAL_ID, request socket", 0x01, {TARGET_API, RUN_SENT, true, false, NO_LOCAL_ID}, LATE},
    {"again: no LOCAL_ID, request socket, after RUNING", 0x01, {TARGET_API, RUN_RUNNING, true, false, NO_LOCAL_ID}, LATE},
    {"again: error, request socket, after RUNING", 0x81, {TARGET_API, RUN_RUNNING, true, false, NO_LOCAL_ID}, LATE},
    {"again: WAITING, request socket", 0x22, {TARGET_API, RUN_RUNNING, true, false, NO_LOCAL_ID}, LATE},
    {"again: OK on the connection before RUNING", 0x01, {TARGET_API, RUN_SENT, true, true, NO_LOCAL_ID}, LATE},
    {"again: error on the connection before RUNING", 0x81, {TARGET_API, RUN_SENT, true, true, NO_LOCAL_ID}, LATE},
    {"again: RUNING on the connection", 0x03, {TARGET_API, RUN_SENT, true, true, NO_LOCAL_ID}, LIFE},
    {"again: NOT_WORKER on the connection", 0x88, {TARGET_API, RUN_SENT, true, true, NO_LOCAL_ID}, NO_WORKER},
    {"again: OK on the connection after RUNING", 0x01, {TARGET_API, RUN_RUNNING, true, true, NO_LOCAL_ID}, SUCCESS},
    {"again: error on the connection after RUNING", 0x81, {TARGET_API, RUN_RUNNING, true, true, NO_LOCAL_ID}, FAIL},
    {"again: WAITING on the connection after RUNING", 0x23, {TARGET_API, RUN_RUNNING, true, true, NO_LOCAL_ID}, LIFE},
    {"again, vote: VOTE_SENDED before RUNING", 0x20, {TARGET_VOTE, RUN_SENT, true, true, NO_LOCAL_ID}, LATE},
    {"again, vote: VOTE_SENDED after RUNING", 0x20, {TARGET_VOTE, RUN_RUNNING, true, true, NO_LOCAL_ID}, LIFE},
    {"again, vote: VOTE_START without voters", 0x23, {TARGET_VOTE, RUN_SENT, true, true, NO_LOCAL_ID}, LATE},
    {"again, vote: result before RUNING", 0x24, {TARGET_VOTE, RUN_SENT, true, true, NO_LOCAL_ID}, LATE},
    {"again, vote: result after RUNING", 0x24, {TARGET_VOTE, RUN_RUNNING, true, true, NO_LOCAL_ID}, SUCCESS},
    {"again, pub: a pub station answers for itself", 0x01, {TARGET_PUB, RUN_SENT, true, true, NO_LOCAL_ID}, SUCCESS},
    {"again, pub: its refusal", 0x84, {TARGET_PUB, RUN_SENT, true, true, NO_LOCAL_ID}, PARK},
    {"again, pub: request socket", 0x01, {TARGET_PUB, RUN_SENT, true, false, NO_LOCAL_ID}, LATE},
};
// clang-format on

static void late_answers_change_nothing (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (late_rows); i++)
        check_answer (late_rows[i].name, late_rows[i].status, late_rows[i].way, late_rows[i].kind);
}

static void transport_failures_are_retried (void **state)
{
    (void)state;
    struct plan *plan = plan_in_hand ();
    struct decision decision = engine_handle_not_sent (plan);
    check_kind ("not sent", NO_WORKER, plan, &decision, ZERO_STATUS_SEND_ERROR_ID);
    plan_destroy (&plan);
    plan = plan_in_hand ();
    decision = engine_handle_no_status (plan);
    // A status or result that comes before the retry was sent is still taken.
    assert_int_equal (decision.commit, COMMIT_DOUBT);
    decision.commit = COMMIT_RETRY;
    check_kind ("no status", NO_WORKER, plan, &decision, ZERO_STATUS_RECV_ERROR_ID);
    plan_destroy (&plan);
}

// -- pacing

static void pacing_doubles_from_1_s_to_60_s (void **state)
{
    (void)state;
    static const struct {
        int64_t failures, delay_ms;
    } rows[] = {{1, 1000},   {2, 2000},     {3, 4000},         {4, 8000},  {5, 16000},
                {6, 32000},  {7, 60000},    {8, 60000},        {9, 60000}, {64, 60000},
                {65, 60000}, {1000, 60000}, {INT64_MAX, 60000}};
    for (size_t i = 0; i < ROWS (rows); i++)
        assert_int_equal (pacing_delay_ms (rows[i].failures), rows[i].delay_ms);
}

static struct decision answer_now (struct plan *plan, const struct zone *zone, uint8_t status,
                                   bool on_connection, int64_t now)
{
    struct run run = {EXEC_ID, RUN_SENT, false};
    struct answer answer = {.status = status, .on_connection = on_connection};
    return engine_answer (plan, &run, &answer, zone, now);
}

static void every_failure_paces_and_success_starts_anew (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    struct plan *plan = plan_in_hand ();
    for (int round = 0; round < 2; round++) {
        int64_t plan_time = plan->plan_time;
        static const int64_t delays[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
        for (size_t i = 0; i < ROWS (delays); i++) {
            struct decision decision;
            if (i % 4 == 0)
                decision = engine_handle_not_sent (plan);
            else if (i % 4 == 1)
                decision = engine_handle_no_status (plan);
            else
                decision = answer_now (plan, zone, i % 4 == 2 ? 0x88 : 0x81, i % 4 == 2, NOW);
            assert_int_equal (decision.delay_ms, delays[i]);
            assert_int_equal (plan->plan_time, plan_time);
            // A heartbeat is no success.
            answer_now (plan, zone, 0x03, true, NOW);
            assert_int_equal (plan->error_count, i + 1);
        }
        answer_now (plan, zone, 0x01, false, NOW);
        assert_int_equal (plan->error_count, 0);
    }
    plan_destroy (&plan);
    zone_destroy (&zone);
}

// -- repeats and skips

// clang-format off
static const struct next_row {
    const char *name;
    struct schedule schedule;
    int64_t plan_time, real_repet, skip_num, now;
    int64_t next_time, next_skip; // next_time -1: it is the end
} next_rows[] = {
    {"in time", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1010, 0, 0, 1010, 1020, 0},
    {"the next is now", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1010, 0, 0, 1020, 1020, 0},
    {"one missed by a second", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1010, 0, 0, 1021, 1030, 1},
    {"three missed", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1010, 0, 0, 1041, 1050, 3},
    {"all missed: the end", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1010, 0, 0, 1051, -1, 0},
    {"missed after skips", {SCHEDULE_SECOND, 10, 9, false, 1000, 0}, 1040, 2, 1, 1061, 1070, 3},
    {"kept: the next is past", {SCHEDULE_SECOND, 10, 5, true, 1000, 0}, 1010, 0, 0, 1051, 1020, 0},
    {"kept: the last", {SCHEDULE_SECOND, 10, 5, true, 1000, 0}, 1050, 4, 0, 9999, -1, 0},
    {"kept: for ever", {SCHEDULE_SECOND, 10, -1, true, 1000, 0}, 1050, 4, 0, 9999, 1060, 0},
    {"the last repeat", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1050, 4, 0, 1050, -1, 0},
    {"the last repeat, some skipped", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1050, 1, 3, 1050, -1, 0},
    {"the last but one", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1040, 3, 0, 1040, 1050, 0},
    {"none", {SCHEDULE_NONE, 0, -1, false, 0, 0}, 1000, 0, 0, 1000, -1, 0},
    {"time", {SCHEDULE_TIME, 0, 9, true, 1000, 0}, 1000, 0, 0, 1000, -1, 0},
    {"value 0: in the same second", {SCHEDULE_SECOND, 0, 5, false, 1000, 0}, 1000, 0, 0, 1000, 1001, 0},
    {"value 0: when the last one has ended", {SCHEDULE_SECOND, 0, 5, false, 1000, 0}, 1000, 0, 0, 1300, 1300, 0},
    {"value 0, kept: the same", {SCHEDULE_HOUR, 0, 5, true, 1000, 0}, 1000, 0, 0, 1300, 1300, 0},
    {"value 0: the last", {SCHEDULE_SECOND, 0, 5, false, 1000, 0}, 1004, 4, 0, 1004, -1, 0},
    {"value 0: for ever", {SCHEDULE_SECOND, 0, -1, false, 1000, 0}, 1000, 99, 0, 1000, 1001, 0},
    {"week", {SCHEDULE_WEEK, 4, 5, false, 1000, 0}, 1000, 0, 0, 1001, 605800, 0},
    {"week: missed ones use up nothing", {SCHEDULE_WEEK, 4, 2, false, 1000, 0}, 1000, 0, 0, 10 * 604800 + 1001, 11 * 604800 + 1000, 0},
    {"week: the last", {SCHEDULE_WEEK, 4, 2, false, 1000, 0}, 1000, 1, 0, 1000, -1, 0},
    {"month: 31 in February", {SCHEDULE_MONTH, 31, 5, false, 0, 0}, 30 * 86400, 0, 0, 30 * 86400, 58 * 86400, 0},
    {"month: missed ones use up nothing", {SCHEDULE_MONTH, 1, 2, false, 0, 0}, 31 * 86400, 0, 0, 59 * 86400 + 1, 90 * 86400, 0},
    {"month: the last", {SCHEDULE_MONTH, 1, 2, false, 0, 0}, 31 * 86400, 0, 1, 31 * 86400, -1, 0},
};
// clang-format on

static void success_computes_the_next_occurrence (void **state)
{
    (void)state;
    struct zone *zone = zone_new_utc ();
    for (size_t i = 0; i < ROWS (next_rows); i++) {
        const struct next_row *row = &next_rows[i];
        struct plan *plan = plan_in_hand ();
        plan->schedule = row->schedule;
        plan->plan_time = row->plan_time;
        plan->real_repet = row->real_repet;
        plan->skip_num = row->skip_num;
        struct decision decision = answer_now (plan, zone, 0x01, false, row->now);
        CHECK_INT (row->name, plan->real_repet, row->real_repet + 1);
        CHECK_INT (row->name, decision.broadcast, BROADCAST_RESULT);
        CHECK_INT (row->name, plan->last_state, ZERO_STATUS_OK_ID);
        if (row->next_time < 0) {
            CHECK_INT (row->name, decision.commit, COMMIT_END);
            CHECK_INT (row->name, plan->state, PLAN_CLOSE);
        } else {
            CHECK_INT (row->name, decision.commit, COMMIT_NEXT);
            CHECK_INT (row->name, plan->state, PLAN_QUEUE);
            CHECK_INT (row->name, plan->plan_time, row->next_time);
            CHECK_INT (row->name, plan->skip_num, row->next_skip);
        }
        plan_destroy (&plan);
    }
    zone_destroy (&zone);
}

// -- names

static void commits_that_end_a_run (void **state)
{
    (void)state;
    static const bool ends[COMMITS] = {
        [COMMIT_RETRY] = true, [COMMIT_NEXT] = true, [COMMIT_PARK] = true, [COMMIT_END] = true};
    for (int i = 0; i < COMMITS; i++)
        assert_int_equal (commit_ends_run ((enum commit)i), ends[i]);
}

static void target_types_have_names (void **state)
{
    (void)state;
    static const char *const names[TARGET_TYPES] = {"api", "pub", "vote", "pull"};
    for (int i = 0; i < TARGET_TYPES; i++) {
        assert_string_equal (target_type_name ((enum target_type)i), names[i]);
        assert_int_equal (target_type_parse (names[i]), i);
    }
    assert_int_equal (target_type_parse ("API"), -1);
    assert_int_equal (target_type_parse (""), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (submit_computes_the_first_occurrence),
        cmocka_unit_test (due_sends_or_takes_the_right_to_run),
        cmocka_unit_test (due_renews_what_is_offered),
        cmocka_unit_test (due_takes_the_right_to_run_of_impossible_values),
        cmocka_unit_test (every_status_does_what_the_table_says),
        cmocka_unit_test (every_result_does_what_the_table_says),
        cmocka_unit_test (late_answers_change_nothing),
        cmocka_unit_test (transport_failures_are_retried),
        cmocka_unit_test (pacing_doubles_from_1_s_to_60_s),
        cmocka_unit_test (every_failure_paces_and_success_starts_anew),
        cmocka_unit_test (success_computes_the_next_occurrence),
        cmocka_unit_test (commits_that_end_a_run),
        cmocka_unit_test (target_types_have_names),
    };
    return cmocka_run_group_tests_name ("engine", tests, NULL, NULL);
}
