// Votes: the rule of a plan, and what a tally does to its run.
// Source: proto 7.5.
#include <jansson.h>

#include "ballot.h"
#include "codes.h"
#include "engine.h"
#include "in_hand.h"
#include "utc.h"

// -- the rule

// clang-format off
static const struct rule_row {
    const char *text;
    struct vote_rule rule;
    const char *written;
} rule_rows[] = {
    {"{}", {VOTE_ALL, 0, 0}, "{\"rule\":\"all\"}"},
    {"{\"rule\":\"all\"}", {VOTE_ALL, 0, 0}, "{\"rule\":\"all\"}"},
    {"{\"rule\":\"any\"}", {VOTE_ANY, 0, 0}, "{\"rule\":\"any\"}"},
    {"{\"rule\":\"majority\"}", {VOTE_MAJORITY, 0, 0}, "{\"rule\":\"majority\"}"},
    {"{\"rule\":1}", {VOTE_COUNT, 1, 0}, "{\"rule\":1}"},
    {"{\"rule\":1000000}", {VOTE_COUNT, 1000000, 0}, "{\"rule\":1000000}"},
    {"{\"deadline\":1}", {VOTE_ALL, 0, 1}, "{\"rule\":\"all\",\"deadline\":1}"},
    {"{\"deadline\":31536000}", {VOTE_ALL, 0, 31536000}, "{\"rule\":\"all\",\"deadline\":31536000}"},
    {"{\"rule\":\"any\",\"deadline\":60}", {VOTE_ANY, 0, 60}, "{\"rule\":\"any\",\"deadline\":60}"},
    {"{\"deadline\":60,\"rule\":\"any\"}", {VOTE_ANY, 0, 60}, "{\"rule\":\"any\",\"deadline\":60}"},
    {"{\"deadline\":60,\"rule\":3}", {VOTE_COUNT, 3, 60}, "{\"rule\":3,\"deadline\":60}"},
};

static const struct bad_rule_row {
    const char *text, *reason; // what it starts with
} bad_rule_rows[] = {
    {"null", "vote: want an object"},
    {"true", "vote: want an object"},
    {"[]", "vote: want an object"},
    {"\"all\"", "vote: want an object"},
    {"3", "vote: want an object"},
    {"{\"rule\":\"ALL\"}", "vote: rule: want all, any, majority or a number 1..1000000"},
    {"{\"rule\":\"\"}", "vote: rule: want all, any"},
    {"{\"rule\":\"most\"}", "vote: rule: want all, any"},
    {"{\"rule\":\"3\"}", "vote: rule: want all, any"},
    {"{\"rule\":0}", "vote: rule: want all, any"},
    {"{\"rule\":-1}", "vote: rule: want all, any"},
    {"{\"rule\":1000001}", "vote: rule: want all, any"},
    {"{\"rule\":4294967297}", "vote: rule: want all, any"},
    {"{\"rule\":1.0}", "vote: rule: want all, any"},
    {"{\"rule\":true}", "vote: rule: want all, any"},
    {"{\"rule\":null}", "vote: rule: want all, any"},
    {"{\"rule\":[\"all\"]}", "vote: rule: want all, any"},
    {"{\"deadline\":0}", "vote: deadline: want seconds, 1..31536000"},
    {"{\"deadline\":-1}", "vote: deadline: want seconds"},
    {"{\"deadline\":31536001}", "vote: deadline: want seconds"},
    {"{\"deadline\":4294967297}", "vote: deadline: want seconds"},
    {"{\"deadline\":1.5}", "vote: deadline: want seconds"},
    {"{\"deadline\":\"60\"}", "vote: deadline: want seconds"},
    {"{\"deadline\":null}", "vote: deadline: want seconds"},
    {"{\"voters\":[]}", "vote: 'voters': unknown field"},
    {"{\"rule\":\"all\",\"\":1}", "vote: '': unknown field"},
    {"{\"Rule\":\"all\"}", "vote: 'Rule': unknown field"},
};
// clang-format on

static bool read_text (const char *text, struct vote_rule *ret, struct reason *reason)
{
    json_t *value = json_loads (text, JSON_DECODE_ANY, NULL);
    if (!value)
        fail_msg ("the row is no JSON: %s", text);
    bool good = vote_rule_read (value, ret, reason);
    json_decref (value);
    return good;
}

static void a_rule_is_read_and_written (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rule_rows); i++) {
        const struct rule_row *row = &rule_rows[i];
        struct vote_rule rule;
        struct reason reason = {""};
        if (!read_text (row->text, &rule, &reason))
            fail_msg ("%s: refused: %s", row->text, reason.text);
        CHECK_TEXT (row->text, reason.text, "");
        CHECK_INT (row->text, rule.need, row->rule.need);
        CHECK_INT (row->text, rule.count, row->rule.count);
        CHECK_INT (row->text, rule.deadline_s, row->rule.deadline_s);
        json_t *object = vote_rule_write (&rule);
        char *written = json_dumps (object, JSON_COMPACT);
        CHECK_TEXT (row->text, written, row->written);
        free (written);
        json_decref (object);
    }
}

static void a_plan_without_a_vote_has_no_rule (void **state)
{
    (void)state;
    assert_null (vote_rule_write (&(struct vote_rule){VOTE_NONE, 0, 0}));
}

static void a_bad_rule_is_refused_with_the_field (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (bad_rule_rows); i++) {
        const struct bad_rule_row *row = &bad_rule_rows[i];
        struct vote_rule rule;
        struct reason reason = {""};
        CHECK (row->text, !read_text (row->text, &rule, &reason));
        if (strncmp (reason.text, row->reason, strlen (row->reason)) != 0)
            fail_msg ("%s: want \"%s...\", got \"%s\"", row->text, row->reason, reason.text);
    }
}

static void the_rule_says_how_many_are_needed (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct vote_rule rule;
        size_t needed[6]; // of 0, 1, 2, 3, 4, 5 voters
    } rows[] = {
        {"nothing said is all", {VOTE_NONE, 0, 0}, {0, 1, 2, 3, 4, 5}},
        {"all", {VOTE_ALL, 0, 0}, {0, 1, 2, 3, 4, 5}},
        {"any", {VOTE_ANY, 0, 0}, {1, 1, 1, 1, 1, 1}},
        {"majority", {VOTE_MAJORITY, 0, 0}, {1, 1, 2, 2, 3, 3}},
        {"two", {VOTE_COUNT, 2, 0}, {2, 2, 2, 2, 2, 2}},
        {"a million",
         {VOTE_COUNT, 1000000, 0},
         {1000000, 1000000, 1000000, 1000000, 1000000, 1000000}},
    };
    for (size_t i = 0; i < ROWS (rows); i++)
        for (size_t voters = 0; voters < ROWS (rows[i].needed); voters++)
            CHECK_INT (rows[i].name, vote_rule_needed (&rows[i].rule, voters),
                       rows[i].needed[voters]);
}

// -- the tally

enum outcome { GOES_ON, WELL, FAILED, TIMEOUT, AGAIN };

// clang-format off
static const struct poll_row {
    const char *name;
    struct vote_rule rule;
    struct vote_tally tally; // event, opened, stored (both are tried), voters, voted, in favour, adopted
    enum outcome outcome;
} poll_rows[] = {
    {"all: opened", {VOTE_ALL, 0, 0}, {POLL_OPENED, true, true, 3, 0, 0}, GOES_ON},
    {"all: nothing said", {VOTE_NONE, 0, 0}, {POLL_OPENED, true, true, 3, 0, 0}, GOES_ON},
    {"all: one of three", {VOTE_ALL, 0, 0}, {POLL_VOTE, true, true, 3, 1, 1}, GOES_ON},
    {"all: two of three", {VOTE_ALL, 0, 0}, {POLL_VOTE, true, true, 3, 2, 2}, GOES_ON},
    {"all: three of three", {VOTE_ALL, 0, 0}, {POLL_VOTE, true, true, 3, 3, 3}, WELL},
    {"all, nothing said: three of three", {VOTE_NONE, 0, 0}, {POLL_VOTE, true, true, 3, 3, 3}, WELL},
    {"all: the first against", {VOTE_ALL, 0, 0}, {POLL_VOTE, true, true, 3, 1, 0}, FAILED},
    {"all: the last against", {VOTE_ALL, 0, 0}, {POLL_VOTE, true, true, 3, 3, 2}, FAILED},
    {"all of one", {VOTE_ALL, 0, 0}, {POLL_VOTE, true, true, 1, 1, 1}, WELL},
    {"all of nobody: nobody is to come, but nobody was in favour", {VOTE_ALL, 0, 0}, {POLL_CLOSED, true, true, 0, 0, 0}, FAILED},
    {"all: not opened, all so far", {VOTE_ALL, 0, 0}, {POLL_VOTE, false, true, 2, 2, 2}, GOES_ON},
    {"all: opened with the votes that came before", {VOTE_ALL, 0, 0}, {POLL_OPENED, true, true, 2, 2, 2}, WELL},
    {"all: opened with one against before", {VOTE_ALL, 0, 0}, {POLL_OPENED, true, true, 3, 1, 0}, FAILED},
    {"all: closed before all have voted", {VOTE_ALL, 0, 0}, {POLL_CLOSED, true, true, 3, 2, 2}, FAILED},
    {"all: closed before all have voted, an owner before sent it", {VOTE_ALL, 0, 0}, {POLL_CLOSED, true, true, 3, 2, 2, true}, AGAIN},
    {"all: the same with one against", {VOTE_ALL, 0, 0}, {POLL_CLOSED, true, true, 3, 2, 1, true}, FAILED},
    {"all: all have voted, an owner before sent it", {VOTE_ALL, 0, 0}, {POLL_CLOSED, true, true, 3, 3, 2, true}, FAILED},
    {"majority: closed without those that are missing, an owner before sent it", {VOTE_MAJORITY, 0, 0}, {POLL_CLOSED, true, true, 4, 3, 2, true}, AGAIN},
    {"all: closed before any has voted", {VOTE_ALL, 0, 0}, {POLL_CLOSED, true, true, 3, 0, 0}, FAILED},
    {"all: closed, never opened", {VOTE_ALL, 0, 0}, {POLL_CLOSED, false, true, 0, 0, 0}, FAILED},
    {"all: the deadline", {VOTE_ALL, 0, 60}, {POLL_TIMEOUT, true, true, 3, 2, 2}, TIMEOUT},
    {"all: the deadline, never opened", {VOTE_ALL, 0, 60}, {POLL_TIMEOUT, false, true, 0, 0, 0}, TIMEOUT},

    {"any: opened", {VOTE_ANY, 0, 0}, {POLL_OPENED, true, true, 3, 0, 0}, GOES_ON},
    {"any: opened for nobody", {VOTE_ANY, 0, 0}, {POLL_OPENED, true, true, 0, 0, 0}, FAILED},
    {"any: the first", {VOTE_ANY, 0, 0}, {POLL_VOTE, true, true, 3, 1, 1}, WELL},
    {"any: two against", {VOTE_ANY, 0, 0}, {POLL_VOTE, true, true, 3, 2, 0}, GOES_ON},
    {"any: the last", {VOTE_ANY, 0, 0}, {POLL_VOTE, true, true, 3, 3, 1}, WELL},
    {"any: all against", {VOTE_ANY, 0, 0}, {POLL_VOTE, true, true, 3, 3, 0}, FAILED},
    {"any: not opened", {VOTE_ANY, 0, 0}, {POLL_VOTE, false, true, 1, 1, 1}, WELL},
    {"any: not opened, against", {VOTE_ANY, 0, 0}, {POLL_VOTE, false, true, 1, 1, 0}, GOES_ON},
    {"any: closed, nobody in favour", {VOTE_ANY, 0, 0}, {POLL_CLOSED, true, true, 3, 2, 0}, FAILED},
    {"any: the deadline", {VOTE_ANY, 0, 60}, {POLL_TIMEOUT, true, true, 3, 2, 0}, TIMEOUT},

    {"majority: opened for nobody", {VOTE_MAJORITY, 0, 0}, {POLL_OPENED, true, true, 0, 0, 0}, FAILED},
    {"majority: one of three", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 3, 1, 1}, GOES_ON},
    {"majority: two of three", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 3, 2, 2}, WELL},
    {"majority: two of four", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 4, 2, 2}, GOES_ON},
    {"majority: three of four", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 4, 4, 3}, WELL},
    {"majority: one against of three", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 3, 1, 0}, GOES_ON},
    {"majority: two against of three", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 3, 2, 0}, FAILED},
    {"majority: half is none", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, true, true, 4, 3, 1}, FAILED},
    {"majority: not opened", {VOTE_MAJORITY, 0, 0}, {POLL_VOTE, false, true, 2, 2, 2}, GOES_ON},
    {"majority: closed with half", {VOTE_MAJORITY, 0, 0}, {POLL_CLOSED, true, true, 4, 2, 2}, FAILED},
    {"majority: the deadline with half", {VOTE_MAJORITY, 0, 60}, {POLL_TIMEOUT, true, true, 4, 2, 2}, TIMEOUT},

    {"two: one of three", {VOTE_COUNT, 2, 0}, {POLL_VOTE, true, true, 3, 1, 1}, GOES_ON},
    {"two: two of three", {VOTE_COUNT, 2, 0}, {POLL_VOTE, true, true, 3, 3, 2}, WELL},
    {"two: one against of three", {VOTE_COUNT, 2, 0}, {POLL_VOTE, true, true, 3, 1, 0}, GOES_ON},
    {"two: two against of three", {VOTE_COUNT, 2, 0}, {POLL_VOTE, true, true, 3, 2, 0}, FAILED},
    {"two: not opened, one", {VOTE_COUNT, 2, 0}, {POLL_VOTE, false, true, 1, 1, 1}, GOES_ON},
    {"two: not opened, two", {VOTE_COUNT, 2, 0}, {POLL_VOTE, false, true, 2, 2, 2}, WELL},
    {"two: opened with as many", {VOTE_COUNT, 2, 0}, {POLL_OPENED, true, true, 2, 0, 0}, GOES_ON},
    {"two: opened with one voter", {VOTE_COUNT, 2, 0}, {POLL_OPENED, true, true, 1, 0, 0}, FAILED},
    {"two: closed with one", {VOTE_COUNT, 2, 0}, {POLL_CLOSED, true, true, 3, 1, 1}, FAILED},
    {"two: the deadline with one", {VOTE_COUNT, 2, 60}, {POLL_TIMEOUT, true, true, 3, 1, 1}, TIMEOUT},
};
// clang-format on

static const uint8_t poll_status[] = {
    [POLL_OPENED] = ZERO_STATUS_VOTE_START_ID,
    [POLL_VOTE] = ZERO_STATUS_OK_ID,
    [POLL_CLOSED] = ZERO_STATUS_VOTE_END_ID,
    [POLL_TIMEOUT] = ZERO_STATUS_TIMEOUT_ID,
};

static struct answer vote_answer (const struct vote_tally *tally)
{
    struct answer answer = {.status = poll_status[tally->event],
                            .on_connection = true,
                            .target = TARGET_VOTE,
                            .tally = *tally};
    // The last vote may be one against.
    if (tally->event == POLL_VOTE && tally->in_favour == 0)
        answer.status = ZERO_STATUS_ERROR_ID;
    return answer;
}

static void check_goes_on (const char *name, const struct plan *plan,
                           const struct decision *decision, enum run_phase phase)
{
    CHECK_INT (name, decision->commit, COMMIT_LEASE);
    CHECK_INT (name, decision->unchanged, phase == RUN_RUNNING && !decision->open_poll);
    CHECK_INT (name, plan->poll, decision->open_poll ? EXEC_ID : 0);
    CHECK_INT (name, decision->broadcast, BROADCAST_NONE);
    CHECK_INT (name, decision->close_poll, false);
    CHECK_INT (name, plan->state, PLAN_EXECUTE);
    CHECK_INT (name, plan->real_repet, 0);
    CHECK_INT (name, plan->error_count, 0);
}

static void check_over (const char *name, const struct plan *plan, const struct decision *decision,
                        enum outcome outcome)
{
    static const uint8_t statuses[] = {[WELL] = ZERO_STATUS_OK_ID,
                                       [FAILED] = ZERO_STATUS_FAILED_ID,
                                       [TIMEOUT] = ZERO_STATUS_TIMEOUT_ID,
                                       [AGAIN] = ZERO_STATUS_RECV_ERROR_ID};
    bool well = outcome == WELL;
    CHECK_INT (name, decision->commit, well ? COMMIT_NEXT : COMMIT_RETRY);
    CHECK_INT (name, decision->delay_ms, well ? 0 : 1000);
    CHECK_INT (name, decision->broadcast, outcome == AGAIN ? BROADCAST_FAILURE : BROADCAST_RESULT);
    CHECK_INT (name, decision->waiting, WAITING_NOT);
    CHECK_INT (name, decision->close_poll, true);
    CHECK_INT (name, plan->last_state, statuses[outcome]);
    CHECK_INT (name, plan->state, well ? PLAN_QUEUE : PLAN_RETRY);
    CHECK_INT (name, plan->plan_time, well ? 1020 : 1010);
    CHECK_INT (name, plan->real_repet, well);
    CHECK_INT (name, plan->error_count, !well);
}

// The first write of a vote replaces the votes of an earlier one in the store.
static void check_poll (const struct poll_row *row, enum run_phase phase, bool stored)
{
    struct plan *plan = plan_in_hand ();
    struct run run = {EXEC_ID, phase, false};
    struct answer answer = vote_answer (&row->tally);
    answer.tally.stored = stored;
    plan->vote = row->rule;
    struct decision decision = engine_answer (plan, &run, &answer, utc, NOW);
    bool opens = row->tally.event == POLL_OPENED && row->outcome == GOES_ON;
    CHECK_INT (row->name, decision.open_poll, opens || !stored);
    CHECK_INT (row->name, decision.save_work, row->tally.event == POLL_VOTE);
    if (row->outcome == GOES_ON) {
        check_goes_on (row->name, plan, &decision, phase);
        CHECK_INT (row->name, run.phase, RUN_RUNNING);
    } else {
        check_over (row->name, plan, &decision, row->outcome);
    }
    plan_destroy (&plan);
}

static void a_vote_ends_as_soon_as_it_is_decided (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (poll_rows); i++) {
        for (int stored = 0; stored < 2; stored++) {
            check_poll (&poll_rows[i], RUN_RUNNING, stored);
            check_poll (&poll_rows[i], RUN_SENT, stored);
        }
    }
}

// Each answer of a voter is a vote, whatever it would be as the answer of a worker.
static void a_vote_is_no_result (void **state)
{
    (void)state;
    for (int status = 1; status < 256; status++) {
        char name[32];
        snprintf (name, sizeof name, "a vote with %02x", (unsigned)status);
        struct plan *plan = plan_in_hand ();
        struct run run = {EXEC_ID, RUN_RUNNING, false};
        struct answer answer = vote_answer (&(struct vote_tally){POLL_VOTE, true, true, 9, 1, 1});
        answer.status = (uint8_t)status;
        struct decision decision = engine_answer (plan, &run, &answer, utc, NOW);
        check_goes_on (name, plan, &decision, RUN_RUNNING);
        CHECK_INT (name, decision.save_work, true);
        plan_destroy (&plan);
    }
}

// -- late votes, and votes on a plan that is held

// clang-format off
static const struct late_row {
    const char *name;
    enum poll event;
    enum run_phase phase;
    bool again, on_connection;
    uint64_t local_id; // 0: none
    bool late;
} late_rows[] = {
    {"opened", POLL_OPENED, RUN_SENT, false, true, 0, false},
    {"a vote before it is opened", POLL_VOTE, RUN_SENT, false, true, 0, false},
    {"a vote to the request socket", POLL_VOTE, RUN_RUNNING, false, false, 0, false},
    {"a vote of this run", POLL_VOTE, RUN_RUNNING, false, true, EXEC_ID, false},
    {"a vote of another run", POLL_VOTE, RUN_RUNNING, false, true, EXEC_ID - 1, true},
    {"the end of another run", POLL_CLOSED, RUN_RUNNING, false, true, EXEC_ID - 1, true},
    {"opened, of another run", POLL_OPENED, RUN_SENT, false, true, EXEC_ID - 1, true},
    {"again: opened, the station says so itself", POLL_OPENED, RUN_SENT, true, true, 0, false},
    {"again: opened, on the request socket", POLL_OPENED, RUN_SENT, true, false, 0, true},
    {"again: a vote before it is opened", POLL_VOTE, RUN_SENT, true, true, 0, true},
    {"again: the end before it is opened", POLL_CLOSED, RUN_SENT, true, true, 0, true},
    {"again: a vote after it was opened", POLL_VOTE, RUN_RUNNING, true, true, 0, false},
    {"again: the end after it was opened", POLL_CLOSED, RUN_RUNNING, true, true, 0, false},
    {"again: a vote to the request socket", POLL_VOTE, RUN_RUNNING, true, false, 0, true},
    {"again: a vote of this run", POLL_VOTE, RUN_SENT, true, false, EXEC_ID, false},
    {"the deadline is of this run", POLL_TIMEOUT, RUN_SENT, false, false, EXEC_ID, false},
    {"again: the deadline is of this run", POLL_TIMEOUT, RUN_SENT, true, false, EXEC_ID, false},
};
// clang-format on

static void late_votes_change_nothing (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (late_rows); i++) {
        const struct late_row *row = &late_rows[i];
        struct plan *plan = plan_in_hand ();
        struct run run = {EXEC_ID, row->phase, row->again};
        bool opened = row->event == POLL_OPENED || row->phase == RUN_RUNNING;
        size_t votes = row->event == POLL_VOTE;
        struct answer answer =
            vote_answer (&(struct vote_tally){row->event, opened, true, 3, votes, votes});
        answer.on_connection = row->on_connection;
        answer.has_exec_id = row->local_id != 0;
        answer.exec_id = row->local_id;
        struct decision decision = engine_answer (plan, &run, &answer, utc, NOW);
        CHECK_INT (row->name, decision.commit == COMMIT_NONE, row->late);
        if (row->late) {
            CHECK_INT (row->name, plan->last_state, 0);
            CHECK_INT (row->name, run.phase, row->phase);
            CHECK_INT (row->name, decision.save_work, false);
        }
        plan_destroy (&plan);
    }
}

static void a_vote_on_a_held_plan_goes_on_and_counts (void **state)
{
    (void)state;
    static const enum plan_state helds[] = {PLAN_PAUSE, PLAN_CLOSE};
    for (size_t i = 0; i < ROWS (helds); i++) {
        const char *name = plan_state_name (helds[i]);
        struct plan *plan = plan_in_hand ();
        struct run run = {EXEC_ID, RUN_SENT, false};
        plan->state = helds[i];
        for (size_t votes = 0; votes <= 2; votes++) {
            enum poll event = votes ? POLL_VOTE : POLL_OPENED;
            struct answer answer =
                vote_answer (&(struct vote_tally){event, true, true, 2, votes, votes});
            struct decision decision = engine_answer (plan, &run, &answer, utc, NOW);
            CHECK_INT (name, decision.commit, votes < 2 ? COMMIT_LEASE : COMMIT_PARK);
            CHECK_INT (name, decision.unqueued, votes < 2);
            CHECK_INT (name, decision.close_poll, votes == 2);
            CHECK_INT (name, plan->state, helds[i]);
        }
        CHECK_INT (name, plan->real_repet, 1);
        CHECK_INT (name, plan->last_state, ZERO_STATUS_OK_ID);
        plan_destroy (&plan);
    }
}

static void a_vote_besides_the_schedule_is_held_once (void **state)
{
    (void)state;
    struct plan *plan = plan_in_hand ();
    struct run run = {EXEC_ID, RUN_RUNNING, false};
    struct answer answer = vote_answer (&(struct vote_tally){POLL_TIMEOUT, true, true, 2, 1, 1});
    plan->extra = PLAN_PAUSE;
    struct decision decision = engine_answer (plan, &run, &answer, utc, NOW);
    assert_int_equal (decision.commit, COMMIT_PARK);
    assert_true (decision.close_poll);
    assert_int_equal (plan->state, PLAN_PAUSE);
    assert_int_equal (plan->last_state, ZERO_STATUS_TIMEOUT_ID);
    assert_int_equal (plan->error_count, 0);
    plan_destroy (&plan);
}

// -- the deadline

static void the_deadline_counts_from_the_dispatch (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct vote_rule rule;
        uint64_t exec_id;
        int64_t end;
    } rows[] = {
        {"no vote", {VOTE_NONE, 0, 0}, 1767225611000001, 0},
        {"no deadline", {VOTE_ALL, 0, 0}, 1767225611000001, 0},
        {"a minute", {VOTE_ALL, 0, 60}, 1767225611000001, 1767225671000001},
        {"a minute, late in the second", {VOTE_ANY, 0, 60}, 1767225611999999, 1767225671999999},
        {"a year", {VOTE_COUNT, 3, 31536000}, 1767225611000001, 1798761611000001},
        {"an operator's, after all time",
         {VOTE_ALL, 0, 31536000},
         INT64_MAX,
         SCHEDULE_TIME_MAX * 1000000 + INT64_C (31536000000000)},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        plan->vote = rows[i].rule;
        plan->exec_id = rows[i].exec_id;
        CHECK_INT (rows[i].name, engine_poll_end_us (plan), rows[i].end);
        plan_destroy (&plan);
    }
}

static void a_vote_is_over_when_its_deadline_is_past (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t deadline_s;
        uint64_t exec_id;
        int64_t now_us;
        bool over;
    } rows[] = {
        {"no deadline", 0, 1767225611000001, 1767225671000001, false},
        {"within", 60, 1767225611000002, 1767225671000001, false},
        {"just over", 60, 1767225611000001, 1767225671000001, true},
        {"an operator's run, in the future", 60, 1767225671000002, 1767225671000001, false},
        {"an operator's run, after all time", 31536000, INT64_MAX, 1767225671000001, false},
        {"an operator's run that is no number", 60, UINT64_MAX, 1767225671000001, false},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_in_hand ();
        struct dispatch_way way = {false, ""};
        struct reason reason;
        plan->vote = (struct vote_rule){VOTE_ALL, 0, rows[i].deadline_s};
        struct due due = {.key_station = plan->station,
                          .exec_id = rows[i].exec_id,
                          .lost = true,
                          .way = &way,
                          .now = NOW,
                          .now_us = rows[i].now_us};
        due.lost = engine_ends_lost (plan, &due);
        struct decision decision = engine_due (plan, &due, &reason);
        CHECK_INT (rows[i].name, decision.close_poll, rows[i].over);
        CHECK_INT (rows[i].name, decision.send, !rows[i].over);
        plan_destroy (&plan);
    }
}

// A restarted station reads the votes of a run from Redis: their bytes count for the bound like
// those of votes that it received itself.
static void votes_from_redis_count_with_their_bytes (void **state)
{
    (void)state;
    struct ballot *ballot = ballot_new ();
    json_t *text = json_loads ("[{\"b64\":\"AgFUQgA=\"},\"hello\",{\"b64\":\"/w==\"}]", 0, NULL);
    json_t *none = json_array ();
    ballot_restore (ballot, span_text ("ann"), text, DIALECT_ZERONET);
    ballot_restore (ballot, span_text ("bob"), none, DIALECT_ZERONET);
    assert_true (ballot->at[0].voted && ballot->at[0].in_favour && !ballot->at[1].voted);
    assert_int_equal (ballot->bytes, 6);
    assert_int_equal (ballot->at[0].bytes, 6);
    assert_true (ballot_cast (ballot, span_text ("ann"), true, 10));
    assert_int_equal (ballot->bytes, 10);
    json_decref (text);
    json_decref (none);
    ballot_destroy (&ballot);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (votes_from_redis_count_with_their_bytes),
        cmocka_unit_test (a_rule_is_read_and_written),
        cmocka_unit_test (a_plan_without_a_vote_has_no_rule),
        cmocka_unit_test (a_bad_rule_is_refused_with_the_field),
        cmocka_unit_test (the_rule_says_how_many_are_needed),
        cmocka_unit_test (a_vote_ends_as_soon_as_it_is_decided),
        cmocka_unit_test (a_vote_is_no_result),
        cmocka_unit_test (late_votes_change_nothing),
        cmocka_unit_test (a_vote_on_a_held_plan_goes_on_and_counts),
        cmocka_unit_test (a_vote_besides_the_schedule_is_held_once),
        cmocka_unit_test (the_deadline_counts_from_the_dispatch),
        cmocka_unit_test (a_vote_is_over_when_its_deadline_is_past),
    };
    return cmocka_run_group_tests_name ("votes", tests, start_zone, end_zone);
}
