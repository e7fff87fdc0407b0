// Admin commands, one by one: in which states it is allowed, and what it does to the plan.
// Source: proto 9.2.
#include "codes.h"
#include "in_hand.h"
#include "management.h"
#include "plan_json.h"
#include "status.h"
#include "utc.h"

enum { REFUSED = -1 };

// Every ten seconds from 1000 on, fifty times; two are used up, 1030 is the next.
static struct plan *plan_at_1030 (void)
{
    struct plan *plan = plan_in_hand ();
    plan->schedule.repeat = 50;
    plan->plan_time = 1030;
    plan->real_repet = 1;
    plan->skip_num = 1;
    plan->error_count = 3;
    plan->state = PLAN_QUEUE;
    return plan;
}

static const char *const command_names[MANAGE_COMMANDS] = {
    [MANAGE_PAUSE] = "pause", [MANAGE_RESET] = "reset",      [MANAGE_CLOSE] = "close",
    [MANAGE_SKIP] = "skip",   [MANAGE_RUN] = "run",          [MANAGE_UPDATE] = "update",
    [MANAGE_DONE] = "done",   [MANAGE_AT_ONCE] = "redeliver"};

// The engine's answer: where the plan is queued, or REFUSED. If it is rejected, the plan is
// unchanged, and there is a reason.
static int manage (const char *name, struct plan *plan, const struct manage_request *request,
                   struct reason *reason)
{
    struct manage_request whole = *request;
    struct plan *before = plan_new (0);
    enum requeue requeue = (enum requeue)99;
    memcpy (before, plan, sizeof *plan);
    whole.zone = utc;
    reason->text[0] = '\0';
    int rc = engine_handle_command (plan, &whole, &requeue, reason);
    if (rc) {
        CHECK_INT (name, rc, ZPLAN_EARGUMENT);
        CHECK (name, memcmp (before, plan, sizeof *plan) == 0);
        CHECK_INT (name, requeue, 99);
        CHECK (name, reason->text[0]);
    } else {
        CHECK_TEXT (name, reason->text, "");
        CHECK (name, requeue <= REQUEUE_OUT);
    }
    plan_destroy (&before);
    return rc ? REFUSED : (int)requeue;
}

// -- the states

// clang-format off
static const bool allowed[MANAGE_COMMANDS][PLAN_STATES] = {
    //                 none   queue  execute retry  skip   pause  error  close
    [MANAGE_PAUSE]  = {true,  true,  true,   true,  true,  false, false, false},
    [MANAGE_RESET]  = {false, false, false,  false, false, true,  true,  false},
    [MANAGE_AT_ONCE] = {false, false, false, true, false, true, true, false},
    [MANAGE_CLOSE]  = {true,  true,  true,   true,  true,  true,  true,  true},
    [MANAGE_SKIP]   = {true,  true,  true,   true,  true,  true,  true,  false},
    [MANAGE_RUN]    = {true,  true,  true,   true,  true,  true,  true,  false},
    [MANAGE_UPDATE] = {true,  true,  true,   true,  true,  true,  true,  false},
    [MANAGE_DONE]   = {false, false, false,  false, false, true,  true,  false},
};
// clang-format on

static void check_allowed (enum manage_command command, enum plan_state state, bool running)
{
    char name[64], state_text[32];
    const char *command_name = command_names[command];
    snprintf (name, sizeof name, "%s in the state %s%s", command_name, plan_state_name (state),
              running ? ", a run is out" : "");
    snprintf (state_text, sizeof state_text, "the plan is %s", plan_state_word (state));
    struct plan *plan = plan_at_1030 ();
    plan->state = state;
    plan->verdict = VERDICT_PENDING;
    struct plan_fields fields = {.schedule = plan->schedule};
    struct reason reason;
    int got = manage (
        name, plan,
        &(struct manage_request){
            .command = command, .running = running, .count = 1, .fields = &fields, .now = NOW},
        &reason);
    bool alone = command == MANAGE_RUN || command == MANAGE_UPDATE || command == MANAGE_DONE;
    CHECK (name, (got != REFUSED) == (allowed[command][state] && !(alone && running)));
    if (got == REFUSED) {
        CHECK (name, strncmp (reason.text, command_name, strlen (command_name)) == 0);
        CHECK (name, strstr (reason.text, allowed[command][state] ? "is running" : state_text));
    }
    plan_destroy (&plan);
}

static void words_are_allowed_in_their_states (void **state)
{
    (void)state;
    for (int command = 0; command < MANAGE_COMMANDS; command++) {
        for (int in = 0; in < PLAN_STATES; in++) {
            check_allowed ((enum manage_command)command, (enum plan_state)in, false);
            check_allowed ((enum manage_command)command, (enum plan_state)in, true);
        }
    }
}

// -- pause, reset, close, run: what they change

#define PLANERROR ZERO_STATUS_FRAME_PLANERROR_ID

// clang-format off
static const struct effect_row {
    const char *name;
    enum manage_command command;
    enum plan_state state, extra;
    bool running;
    uint8_t last_state;
    enum plan_state want_state, want_extra;
    int want_requeue; // or REFUSED
    uint8_t want_last_state;
    int64_t want_errors; // of 3
} effect_rows[] = {
    {"pause: waiting for its time", MANAGE_PAUSE, PLAN_QUEUE, 0, false, 1, PLAN_PAUSE, 0, REQUEUE_OUT, 1, 3},
    {"pause: waiting for a retry", MANAGE_PAUSE, PLAN_RETRY, 0, false, 0x8C, PLAN_PAUSE, 0, REQUEUE_OUT, 0x8C, 3},
    {"pause: made by hand without a state", MANAGE_PAUSE, PLAN_NONE, 0, false, 0, PLAN_PAUSE, 0, REQUEUE_OUT, 0, 3},
    {"pause: a run is out", MANAGE_PAUSE, PLAN_EXECUTE, 0, true, 3, PLAN_PAUSE, 0, REQUEUE_OUT, 3, 3},
    {"pause: an extra run is out: it returns there", MANAGE_PAUSE, PLAN_EXECUTE, PLAN_QUEUE, true, 3, PLAN_PAUSE, PLAN_PAUSE, REQUEUE_OUT, 3, 3},
    {"pause: an extra run of a paused plan is out", MANAGE_PAUSE, PLAN_EXECUTE, PLAN_PAUSE, true, 3, PLAN_PAUSE, PLAN_PAUSE, REQUEUE_OUT, 3, 3},
    {"pause: an extra run of a parked plan is out", MANAGE_PAUSE, PLAN_EXECUTE, PLAN_ERROR, true, 3, PLAN_PAUSE, PLAN_PAUSE, REQUEUE_OUT, 3, 3},
    {"pause: an extra run was asked for: given up", MANAGE_PAUSE, PLAN_QUEUE, PLAN_QUEUE, false, 1, PLAN_PAUSE, 0, REQUEUE_OUT, 1, 3},
    {"pause: an extra run of a paused plan was asked for", MANAGE_PAUSE, PLAN_QUEUE, PLAN_PAUSE, false, 1, PLAN_PAUSE, 0, REQUEUE_OUT, 1, 3},

    {"close: waiting for its time", MANAGE_CLOSE, PLAN_QUEUE, 0, false, 1, PLAN_CLOSE, 0, REQUEUE_OUT, 1, 3},
    {"close: paused", MANAGE_CLOSE, PLAN_PAUSE, 0, false, 1, PLAN_CLOSE, 0, REQUEUE_OUT, 1, 3},
    {"close: parked", MANAGE_CLOSE, PLAN_ERROR, 0, false, PLANERROR, PLAN_CLOSE, 0, REQUEUE_OUT, PLANERROR, 3},
    {"close: again", MANAGE_CLOSE, PLAN_CLOSE, 0, false, 1, PLAN_CLOSE, 0, REQUEUE_OUT, 1, 3},
    {"close: a run is out", MANAGE_CLOSE, PLAN_EXECUTE, 0, true, 3, PLAN_CLOSE, 0, REQUEUE_OUT, 3, 3},
    {"close: again, a run is out", MANAGE_CLOSE, PLAN_CLOSE, 0, true, 3, PLAN_CLOSE, 0, REQUEUE_OUT, 3, 3},
    {"close: an extra run is out", MANAGE_CLOSE, PLAN_EXECUTE, PLAN_PAUSE, true, 3, PLAN_CLOSE, PLAN_CLOSE, REQUEUE_OUT, 3, 3},
    {"close: paused while an extra run is out", MANAGE_CLOSE, PLAN_PAUSE, PLAN_PAUSE, true, 3, PLAN_CLOSE, PLAN_CLOSE, REQUEUE_OUT, 3, 3},
    {"close: an extra run that was paused is lost: it may answer late", MANAGE_CLOSE, PLAN_PAUSE, PLAN_PAUSE, false, 3, PLAN_CLOSE, PLAN_CLOSE, REQUEUE_OUT, 3, 3},
    {"close: an extra run was asked for", MANAGE_CLOSE, PLAN_QUEUE, PLAN_ERROR, false, 1, PLAN_CLOSE, 0, REQUEUE_OUT, 1, 3},

    {"reset: paused", MANAGE_RESET, PLAN_PAUSE, 0, false, 1, PLAN_QUEUE, 0, REQUEUE_TIME, 1, 0},
    {"redeliver: waits for its retry", MANAGE_AT_ONCE, PLAN_RETRY, 0, false, 0x82, PLAN_QUEUE, 0, REQUEUE_TIME, 0x82, 0},
    {"reset: parked", MANAGE_RESET, PLAN_ERROR, 0, false, 0x84, PLAN_QUEUE, 0, REQUEUE_TIME, 0x84, 0},
    {"reset: gives the right to run back", MANAGE_RESET, PLAN_ERROR, 0, false, PLANERROR, PLAN_QUEUE, 0, REQUEUE_TIME, 0, 0},
    {"reset: paused, then lost the right to run", MANAGE_RESET, PLAN_PAUSE, 0, false, PLANERROR, PLAN_QUEUE, 0, REQUEUE_TIME, 0, 0},
    {"reset: paused while a run is out", MANAGE_RESET, PLAN_PAUSE, 0, true, 3, PLAN_EXECUTE, 0, REQUEUE_LEASE, 3, 0},
    {"reset: paused while an extra run is out", MANAGE_RESET, PLAN_PAUSE, PLAN_PAUSE, true, 3, PLAN_EXECUTE, PLAN_QUEUE, REQUEUE_LEASE, 3, 0},

    {"run: waiting for its time", MANAGE_RUN, PLAN_QUEUE, 0, false, 1, PLAN_QUEUE, PLAN_QUEUE, REQUEUE_NOW, 1, 3},
    {"run: before the first run", MANAGE_RUN, PLAN_QUEUE, 0, false, 0, PLAN_QUEUE, PLAN_QUEUE, REQUEUE_NOW, 0, 3},
    {"run: made by hand without a state", MANAGE_RUN, PLAN_NONE, 0, false, 0, PLAN_QUEUE, PLAN_QUEUE, REQUEUE_NOW, 0, 3},
    {"run: paused", MANAGE_RUN, PLAN_PAUSE, 0, false, 1, PLAN_QUEUE, PLAN_PAUSE, REQUEUE_NOW, 1, 3},
    {"run: parked", MANAGE_RUN, PLAN_ERROR, 0, false, 0x84, PLAN_QUEUE, PLAN_ERROR, REQUEUE_NOW, 0x84, 3},
    {"run: asked for again", MANAGE_RUN, PLAN_QUEUE, PLAN_QUEUE, false, 1, PLAN_QUEUE, PLAN_QUEUE, REQUEUE_NOW, 1, 3},
    {"run: of a paused plan, asked for again", MANAGE_RUN, PLAN_QUEUE, PLAN_PAUSE, false, 1, PLAN_QUEUE, PLAN_PAUSE, REQUEUE_NOW, 1, 3},
    {"run: lost the right to run", MANAGE_RUN, PLAN_ERROR, 0, false, PLANERROR, PLAN_ERROR, 0, REFUSED, PLANERROR, 3},
    {"run: a run is out", MANAGE_RUN, PLAN_EXECUTE, 0, true, 3, PLAN_EXECUTE, 0, REFUSED, 3, 3},
    {"run: an extra run is out", MANAGE_RUN, PLAN_EXECUTE, PLAN_PAUSE, true, 3, PLAN_EXECUTE, PLAN_PAUSE, REFUSED, 3, 3},
    {"run: paused while a run is out", MANAGE_RUN, PLAN_PAUSE, 0, true, 3, PLAN_PAUSE, 0, REFUSED, 3, 3},
};
// clang-format on

static void words_change_what_they_say (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (effect_rows); i++) {
        const struct effect_row *row = &effect_rows[i];
        struct plan *plan = plan_at_1030 ();
        struct reason reason;
        plan->state = row->state;
        plan->extra = row->extra;
        plan->last_state = row->last_state;
        plan->skip_wait = 1;
        struct manage_request request = {
            .command = row->command, .running = row->running, .now = 5000};
        CHECK_INT (row->name, manage (row->name, plan, &request, &reason), row->want_requeue);
        CHECK_INT (row->name, plan->state, row->want_state);
        CHECK_INT (row->name, plan->extra, row->want_extra);
        CHECK_INT (row->name, plan->last_state, row->want_last_state);
        CHECK_INT (row->name, plan->error_count, row->want_errors);
        // Neither the schedule nor its progress.
        CHECK_INT (row->name, plan->plan_time, 1030);
        CHECK_INT (row->name, plan->real_repet, 1);
        CHECK_INT (row->name, plan->skip_num, 1);
        CHECK_INT (row->name, plan->skip_wait, 1);
        CHECK_INT (row->name, plan->skip_set, 0);
        CHECK_INT (row->name, plan->exec_id, EXEC_ID);
        plan_destroy (&plan);
    }
}

// -- skip: which occurrence is the next

#define WEEK INT64_C (604800)
#define DAY  INT64_C (86400)

// clang-format off
static const struct skip_row {
    const char *name;
    struct schedule schedule;
    int64_t plan_time, used; // of the next occurrence
    int64_t count, want_time; // or REFUSED
    const char *words;        // of the refusal; NULL: that none is left
} skip_rows[] = {
    {"one", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 1030, 2, 1, 1040},
    {"five", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 1030, 2, 5, 1080},
    {"the first", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 1010, 0, 1, 1020},
    {"kept", {SCHEDULE_SECOND, 10, 50, true, 1000, 0}, 1030, 2, 5, 1080},
    {"from the receipt", {SCHEDULE_SECOND, 10, 50, false, 0, 1000}, 1030, 2, 5, 1080},
    {"all but the last", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1030, 2, 2, 1050},
    {"the last too", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1030, 2, 3, REFUSED},
    {"the last occurrence", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 1050, 4, 1, REFUSED},
    {"the greatest number", {SCHEDULE_SECOND, 1, -1, false, 1000, 0}, 1003, 2, INT32_MAX, 1003 + (int64_t)INT32_MAX},
    {"the greatest number of repeats", {SCHEDULE_SECOND, 1, INT32_MAX, false, 1000, 0}, 1001, 0, INT32_MAX - 1, 1000 + (int64_t)INT32_MAX},
    {"one more than that", {SCHEDULE_SECOND, 1, INT32_MAX, false, 1000, 0}, 1001, 0, INT32_MAX, REFUSED},
    {"for ever, past the year 9999", {SCHEDULE_DAY, 1, -1, false, 1000, 0}, DAY + 1000, 0, INT32_MAX, REFUSED},
    {"minutes", {SCHEDULE_MINUTE, 2, 9, false, 1000, 0}, 1120, 0, 3, 1480},
    {"hours", {SCHEDULE_HOUR, 1, 9, false, 1000, 0}, 4600, 0, 8, 9 * 3600 + 1000},
    {"days", {SCHEDULE_DAY, 1, 9, false, 1000, 0}, DAY + 1000, 0, 8, 9 * DAY + 1000},
    {"value 0: the next is due as soon", {SCHEDULE_SECOND, 0, 50, false, 1000, 0}, 1002, 2, 1, 1002},
    {"value 0: all but the last", {SCHEDULE_DAY, 0, 5, false, 1000, 0}, 1002, 2, 2, 1002},
    {"value 0: the last too", {SCHEDULE_DAY, 0, 5, false, 1000, 0}, 1002, 2, 3, REFUSED},
    {"value 0: for ever", {SCHEDULE_SECOND, 0, -1, false, 1000, 0}, 1002, 2, INT32_MAX, 1002},
    {"weeks", {SCHEDULE_WEEK, 4, -1, false, 1000, 0}, 1000, 0, 3, 3 * WEEK + 1000},
    {"weeks: all but the last", {SCHEDULE_WEEK, 4, 4, false, 1000, 0}, WEEK + 1000, 1, 2, 3 * WEEK + 1000},
    {"weeks: the last too", {SCHEDULE_WEEK, 4, 4, false, 1000, 0}, WEEK + 1000, 1, 3, REFUSED},
    {"weeks: past the year 9999", {SCHEDULE_WEEK, 4, -1, false, 1000, 0}, 1000, 0, 500000, REFUSED},
    {"the last day of months", {SCHEDULE_MONTH, 31, -1, false, 0, 0}, 30 * DAY, 0, 1, 58 * DAY},
    {"the last day of months, two", {SCHEDULE_MONTH, 31, -1, false, 0, 0}, 30 * DAY, 0, 2, 89 * DAY},
    {"months: the last too", {SCHEDULE_MONTH, 31, 2, false, 0, 0}, 58 * DAY, 1, 1, REFUSED},
    {"months: the greatest number", {SCHEDULE_MONTH, 31, -1, false, 0, 0}, 58 * DAY, 1, INT32_MAX, REFUSED},
    {"days of a calendar", {SCHEDULE_DAY, 1, -1, false, 1000, 0, .wall_clock = true}, 1000, 0, 100000, 100000 * DAY + 1000},
    {"days of a calendar: more than are counted", {SCHEDULE_DAY, 1, -1, false, 1000, 0, .wall_clock = true}, 1000, 0, 100001, REFUSED, "skip: at most 100000 "},
    {"none", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 1000, 0, 1, REFUSED},
    {"none, whatever its repeat", {SCHEDULE_NONE, 0, -1, false, 0, 0}, 1000, 0, 1, REFUSED},
    {"time", {SCHEDULE_TIME, 0, 9, false, 1000, 0}, 1000, 0, 1, REFUSED},
};
// clang-format on

static void skip_goes_on_behind_those_skipped (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (skip_rows); i++) {
        const struct skip_row *row = &skip_rows[i];
        struct plan *plan = plan_at_1030 ();
        struct reason reason;
        plan->schedule = row->schedule;
        plan->plan_time = row->plan_time;
        plan->real_repet = row->used;
        plan->skip_num = 0;
        // Which occurrences are skipped does not depend on the time of the request.
        struct manage_request request = {
            .command = MANAGE_SKIP, .count = row->count, .now = 2 * WEEK};
        int requeue = manage (row->name, plan, &request, &reason);
        CHECK_INT (row->name, requeue, row->want_time == REFUSED ? REFUSED : (int)REQUEUE_TIME);
        if (requeue == REFUSED) {
            const char *words = row->words ? row->words : "skip: no occurrence is left ";
            CHECK (row->name, strncmp (reason.text, words, strlen (words)) == 0);
        } else {
            CHECK_INT (row->name, plan->plan_time, row->want_time);
            CHECK_INT (row->name, plan->skip_num, row->count);
            CHECK_INT (row->name, plan->skip_set, row->count);
            CHECK_INT (row->name, plan->real_repet, row->used);
        }
        plan_destroy (&plan);
    }
}

// Skips of plan_at_1030 with ten occurrences: 1030 is running or next, seven follow it.
// clang-format off
static const struct skip_case {
    const char *name;
    enum plan_state state, extra;
    bool running;
    int64_t skip_wait, count;
    int want_requeue; // or REFUSED
    enum plan_state want_state;
    int64_t want_time, want_num, want_wait, want_errors;
} skip_cases[] = {
    {"waiting for its time", PLAN_QUEUE, 0, false, 0, 2, REQUEUE_TIME, PLAN_QUEUE, 1050, 3, 0, 0},
    {"waiting for a retry: that is skipped", PLAN_RETRY, 0, false, 0, 2, REQUEUE_TIME, PLAN_QUEUE, 1050, 3, 0, 0},
    {"made by hand without a state", PLAN_NONE, 0, false, 0, 2, REQUEUE_TIME, PLAN_QUEUE, 1050, 3, 0, 0},
    {"in MicroZero's state", PLAN_SKIP, 0, false, 0, 2, REQUEUE_TIME, PLAN_QUEUE, 1050, 3, 0, 0},
    {"paused", PLAN_PAUSE, 0, false, 0, 2, REQUEUE_KEEP, PLAN_PAUSE, 1050, 3, 0, 0},
    {"parked", PLAN_ERROR, 0, false, 0, 2, REQUEUE_KEEP, PLAN_ERROR, 1050, 3, 0, 0},
    {"a run is out", PLAN_EXECUTE, 0, true, 0, 2, REQUEUE_KEEP, PLAN_EXECUTE, 1030, 1, 2, 3},
    {"a run is out, all but the last", PLAN_EXECUTE, 0, true, 0, 6, REQUEUE_KEEP, PLAN_EXECUTE, 1030, 1, 6, 3},
    {"a run is out, the last too", PLAN_EXECUTE, 0, true, 0, 7, REFUSED, PLAN_EXECUTE, 1030, 1, 0, 3},
    {"a run is out, skipped before", PLAN_EXECUTE, 0, true, 4, 2, REQUEUE_KEEP, PLAN_EXECUTE, 1030, 1, 6, 3},
    {"a run is out, skipped before, the last too", PLAN_EXECUTE, 0, true, 4, 3, REFUSED, PLAN_EXECUTE, 1030, 1, 4, 3},
    {"a run is out, paused", PLAN_PAUSE, 0, true, 0, 2, REQUEUE_KEEP, PLAN_PAUSE, 1030, 1, 2, 3},
    {"an extra run was asked for", PLAN_QUEUE, PLAN_QUEUE, false, 0, 2, REQUEUE_KEEP, PLAN_QUEUE, 1050, 3, 0, 0},
    {"an extra run is out: it is none of them", PLAN_EXECUTE, PLAN_QUEUE, true, 0, 2, REQUEUE_KEEP, PLAN_EXECUTE, 1050, 3, 0, 0},
    {"an extra run of a paused plan is out", PLAN_EXECUTE, PLAN_PAUSE, true, 0, 2, REQUEUE_KEEP, PLAN_EXECUTE, 1050, 3, 0, 0},
    {"paused while an extra run is out", PLAN_PAUSE, PLAN_PAUSE, true, 0, 2, REQUEUE_KEEP, PLAN_PAUSE, 1050, 3, 0, 0},
};
// clang-format on

static void check_skip (const struct skip_case *row)
{
    struct plan *plan = plan_at_1030 ();
    struct reason reason;
    plan->schedule.repeat = 10;
    plan->state = row->state;
    plan->extra = row->extra;
    plan->skip_wait = row->skip_wait;
    struct manage_request request = {
        .command = MANAGE_SKIP, .running = row->running, .count = row->count, .now = NOW};
    CHECK_INT (row->name, manage (row->name, plan, &request, &reason), row->want_requeue);
    CHECK_INT (row->name, plan->state, row->want_state);
    CHECK_INT (row->name, plan->extra, row->extra);
    CHECK_INT (row->name, plan->plan_time, row->want_time);
    CHECK_INT (row->name, plan->skip_num, row->want_num);
    CHECK_INT (row->name, plan->skip_wait, row->want_wait);
    CHECK_INT (row->name, plan->error_count, row->want_errors);
    CHECK_INT (row->name, plan->skip_set, row->want_requeue == REFUSED ? 0 : row->count);
    CHECK_INT (row->name, plan->real_repet, 1);
    plan_destroy (&plan);
}

static void a_run_that_is_out_is_none_of_those_skipped (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (skip_cases); i++)
        check_skip (&skip_cases[i]);
}

// A run failed after a skip of occurrences after it was requested: its retry is next, and those
// occurrences are still to be skipped.
// clang-format off
static const struct skip_case skip_again_cases[] = {
    {"three wait, the retry too", PLAN_RETRY, 0, false, 3, 1, REQUEUE_TIME, PLAN_QUEUE, 1070, 5, 0, 0},
    {"paused, three wait", PLAN_PAUSE, 0, false, 3, 1, REQUEUE_KEEP, PLAN_PAUSE, 1070, 5, 0, 0},
    {"three wait, the last would be skipped", PLAN_RETRY, 0, false, 3, 5, REFUSED, PLAN_RETRY, 1030, 1, 3, 3},
};
// clang-format on

static void a_skip_goes_on_behind_those_that_wait (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (skip_again_cases); i++)
        check_skip (&skip_again_cases[i]);
}

static void skips_that_wait_can_be_stored (void **state)
{
    (void)state;
    struct plan *plan = plan_at_1030 ();
    struct reason reason = {""};
    plan->schedule.value = 1;
    plan->schedule.repeat = SCHEDULE_FOREVER;
    plan->state = PLAN_EXECUTE;
    for (int i = 0; i < 3; i++) {
        struct manage_request request = {
            .command = MANAGE_SKIP, .running = true, .count = INT32_MAX, .now = NOW};
        manage ("skip the greatest number, again and again", plan, &request, &reason);
        size_t size;
        char *text = plan_stored_text (plan, &size);
        struct plan *read = plan_from_stored_json (plan->id, span_of (text, size), &reason);
        if (!read)
            fail_msg ("skip %d: what is stored cannot be read: %s", i + 1, reason.text);
        plan_destroy (&read);
        free (text);
    }
    plan_destroy (&plan);
}

// -- update

enum anew { KEPT, ANEW };

// Updates of plan_at_1030 at 1032.
// clang-format off
static const struct update_row {
    const char *name;
    struct schedule schedule; // of the update; its `received` is not looked at
    int64_t skip_set;
    enum plan_state state, extra;
    int want_requeue; // or REFUSED
    enum anew anew;   // the counts are reset
    int64_t want_time, want_num;
    enum plan_state want_state;
    const char *field; // that the reason names; NULL: any
} update_rows[] = {
    {"the same", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_QUEUE},
    {"the same, waiting for a retry", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 0, PLAN_RETRY, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_RETRY},
    {"the same, paused", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 0, PLAN_PAUSE, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_PAUSE},
    {"more repeats", {SCHEDULE_SECOND, 10, 60, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_QUEUE},
    {"for ever", {SCHEDULE_SECOND, 10, -1, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_QUEUE},
    {"fewer repeats", {SCHEDULE_SECOND, 10, 3, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_QUEUE},
    {"as many repeats as are used up", {SCHEDULE_SECOND, 10, 2, false, 1000, 0}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE},
    {"fewer repeats than are used up", {SCHEDULE_SECOND, 10, 1, false, 1000, 0}, 0, PLAN_PAUSE, 0, REFUSED, KEPT, 1030, 1, PLAN_PAUSE},
    {"missed ones are kept now", {SCHEDULE_SECOND, 10, 50, true, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_KEEP, KEPT, 1030, 1, PLAN_QUEUE},

    {"another interval", {SCHEDULE_SECOND, 20, 50, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1040, 1, PLAN_QUEUE},
    {"another interval, past ones are not made up", {SCHEDULE_SECOND, 20, 50, true, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1040, 1, PLAN_QUEUE},
    {"another interval, as few repeats as are used up", {SCHEDULE_SECOND, 20, 2, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1040, 1, PLAN_QUEUE},
    {"another interval, all of it past", {SCHEDULE_SECOND, 20, 1, false, 1000, 0}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE},
    {"all of it past, even if kept", {SCHEDULE_SECOND, 20, 1, true, 1000, 0}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE},
    {"all of it past, by its field", {SCHEDULE_SECOND, 20, 1, false, 1000, 0}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE, "plan_time: "},
    {"the end is past", {SCHEDULE_SECOND, 20, -1, false, 1000, 0, .end_time = 1031}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE, "end_time: "},
    {"the first would be later than the end", {SCHEDULE_SECOND, 20, -1, false, 1000, 0, .end_time = 1039}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE, "end_time: "},
    {"another base", {SCHEDULE_SECOND, 10, 50, false, 2000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 2010, 0, PLAN_QUEUE},
    {"no base: from now on", {SCHEDULE_SECOND, 10, 50, false, 0, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1042, 0, PLAN_QUEUE},
    {"value 0", {SCHEDULE_SECOND, 0, 50, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1032, 32, PLAN_QUEUE},
    {"another type", {SCHEDULE_MINUTE, 10, 50, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1600, 0, PLAN_QUEUE},
    {"week", {SCHEDULE_WEEK, 4, 50, false, 1000, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, WEEK + 1000, 0, PLAN_QUEUE},
    {"month", {SCHEDULE_MONTH, 31, 50, false, 0, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 30 * DAY, 0, PLAN_QUEUE},
    {"none: at once", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1032, 0, PLAN_QUEUE},
    {"time to come", {SCHEDULE_TIME, 0, 0, false, 1033, 0}, 0, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1033, 0, PLAN_QUEUE},
    {"time past", {SCHEDULE_TIME, 0, 0, false, 1031, 0}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE},
    {"time past, even if kept", {SCHEDULE_TIME, 0, 0, true, 1031, 0}, 0, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE},
    {"skip_set", {SCHEDULE_SECOND, 10, 50, false, 1000, 0}, 2, PLAN_QUEUE, 0, REQUEUE_TIME, ANEW, 1060, 5, PLAN_QUEUE},
    {"skip_set, none would be left", {SCHEDULE_SECOND, 10, 5, false, 1000, 0}, 2, PLAN_QUEUE, 0, REFUSED, KEPT, 1030, 1, PLAN_QUEUE},
    {"anew, waiting for a retry", {SCHEDULE_SECOND, 20, 50, false, 1000, 0}, 0, PLAN_RETRY, 0, REQUEUE_TIME, ANEW, 1040, 1, PLAN_QUEUE},
    {"anew, paused", {SCHEDULE_SECOND, 20, 50, false, 1000, 0}, 0, PLAN_PAUSE, 0, REQUEUE_KEEP, ANEW, 1040, 1, PLAN_PAUSE},
    {"anew, parked", {SCHEDULE_SECOND, 20, 50, false, 1000, 0}, 0, PLAN_ERROR, 0, REQUEUE_KEEP, ANEW, 1040, 1, PLAN_ERROR},
    {"anew, an extra run was asked for", {SCHEDULE_SECOND, 20, 50, false, 1000, 0}, 0, PLAN_QUEUE, PLAN_PAUSE, REQUEUE_KEEP, ANEW, 1040, 1, PLAN_QUEUE},
};
// clang-format on

static void check_update (const struct update_row *row)
{
    struct plan *plan = plan_at_1030 ();
    struct plan_fields fields = {.schedule = row->schedule, .skip_set = row->skip_set};
    struct reason reason;
    plan->state = row->state;
    plan->extra = row->extra;
    plan->skip_wait = 1;
    struct manage_request request = {.command = MANAGE_UPDATE, .fields = &fields, .now = 1032};
    int requeue = manage (row->name, plan, &request, &reason);
    bool anew = row->anew == ANEW;
    CHECK_INT (row->name, requeue, row->want_requeue);
    CHECK (row->name, !row->field || strncmp (reason.text, row->field, strlen (row->field)) == 0);
    CHECK_INT (row->name, plan->plan_time, row->want_time);
    CHECK_INT (row->name, plan->skip_num, row->want_num);
    CHECK_INT (row->name, plan->state, row->want_state);
    CHECK_INT (row->name, plan->extra, row->extra);
    CHECK_INT (row->name, plan->real_repet, anew ? 0 : 1);
    CHECK_INT (row->name, plan->error_count, anew ? 0 : 3);
    CHECK_INT (row->name, plan->skip_wait, anew ? 0 : 1);
    CHECK_INT (row->name, plan->skip_set, row->want_requeue == REFUSED ? 0 : row->skip_set);
    CHECK_INT (row->name, plan->schedule.received, anew ? 1032 : 900);
    if (requeue != REFUSED) {
        CHECK_INT (row->name, plan->schedule.type, row->schedule.type);
        CHECK_INT (row->name, plan->schedule.value, row->schedule.value);
        CHECK_INT (row->name, plan->schedule.repeat, row->schedule.repeat);
        CHECK_INT (row->name, plan->schedule.keep, row->schedule.keep);
        CHECK_INT (row->name, plan->schedule.base_time, row->schedule.base_time);
    }
    plan_destroy (&plan);
}

static void update_counts_a_changed_schedule_from_now (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (update_rows); i++)
        check_update (&update_rows[i]);
}

static void update_changes_the_title_and_the_vote_alone (void **state)
{
    (void)state;
    struct plan *plan = plan_at_1030 ();
    struct plan_fields fields = {.schedule = plan->schedule,
                                 .vote = {VOTE_COUNT, 2, 60},
                                 .description = "another title",
                                 .description_size = 13};
    struct reason reason;
    struct manage_request request = {.command = MANAGE_UPDATE, .fields = &fields, .now = 1032};
    plan->description = span_text ("title");
    plan->vote.need = VOTE_ALL;
    assert_int_equal (manage ("title and vote", plan, &request, &reason), REQUEUE_KEEP);
    assert_true (span_is (plan->description, "another title"));
    assert_int_equal (plan->vote.need, VOTE_COUNT);
    assert_int_equal (plan->vote.count, 2);
    assert_int_equal (plan->vote.deadline_s, 60);
    assert_int_equal (plan->plan_time, 1030);
    assert_int_equal (plan->real_repet, 1);
    assert_int_equal (plan->skip_num, 1);
    assert_int_equal (plan->error_count, 3);
    assert_int_equal (plan->schedule.received, 900);
    plan_destroy (&plan);
}

// Schedules that run once, whatever their plan_repet is: it is usually not given.
static const struct schedule once_rows[] = {
    {SCHEDULE_NONE, 0, 0, false, 0, 0},
    {SCHEDULE_NONE, 0, -2, false, 0, 0},
    {SCHEDULE_NONE, 0, 1, false, 0, 0},
    {SCHEDULE_TIME, 0, 0, false, 5000, 0},
    {SCHEDULE_TIME, 0, INT32_MIN, false, 5000, 0},
    {SCHEDULE_TIME, 0, -1, true, 5000, 0},
};

static void update_changes_the_title_of_a_plan_that_runs_once (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (once_rows); i++) {
        char name[64];
        snprintf (name, sizeof name, "%s, plan_repet %d", schedule_type_name (once_rows[i].type),
                  once_rows[i].repeat);
        struct plan *plan = plan_at_1030 ();
        struct plan_fields fields = {.schedule = once_rows[i]};
        struct reason reason;
        struct manage_request request = {.command = MANAGE_UPDATE, .fields = &fields, .now = 1032};
        plan->schedule = once_rows[i];
        plan->plan_time = 5000;
        plan->real_repet = plan->skip_num = 0;
        int requeue = manage (name, plan, &request, &reason);
        if (requeue != REQUEUE_KEEP)
            fail_msg ("%s: refused: %s", name, reason.text);
        CHECK_INT (name, plan->plan_time, 5000);
        plan_destroy (&plan);
    }
}

// The input of a run outside the schedule is for that run only. Feature B061.
static void what_a_run_is_given_goes_with_it (void **state)
{
    static const struct {
        const char *name;
        enum manage_command command;
        bool running;
        const char *left;
    } rows[] = {{"pause: it has not begun", MANAGE_PAUSE, false, NULL},
                {"pause: it is out", MANAGE_PAUSE, true, "{}"},
                {"close", MANAGE_CLOSE, false, NULL},
                {"run again", MANAGE_RUN, false, NULL}};
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = plan_at_1030 ();
        struct manage_request request = {
            .command = MANAGE_RUN, .with = span_text ("{}"), .now = 1020, .zone = utc};
        struct reason reason;
        enum requeue requeue;
        CHECK_INT (rows[i].name, engine_handle_command (plan, &request, &requeue, &reason), 0);
        CHECK_TEXT (rows[i].name, plan->run_with ? plan->run_with : "none", "{}");
        request = (struct manage_request){
            .command = rows[i].command, .running = rows[i].running, .now = 1021, .zone = utc};
        CHECK_INT (rows[i].name, engine_handle_command (plan, &request, &requeue, &reason), 0);
        CHECK_TEXT (rows[i].name, plan->run_with ? plan->run_with : "none",
                    rows[i].left ? rows[i].left : "none");
        plan_destroy (&plan);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (words_are_allowed_in_their_states),
        cmocka_unit_test (words_change_what_they_say),
        cmocka_unit_test (skip_goes_on_behind_those_skipped),
        cmocka_unit_test (a_run_that_is_out_is_none_of_those_skipped),
        cmocka_unit_test (a_skip_goes_on_behind_those_that_wait),
        cmocka_unit_test (skips_that_wait_can_be_stored),
        cmocka_unit_test (update_counts_a_changed_schedule_from_now),
        cmocka_unit_test (update_changes_the_title_and_the_vote_alone),
        cmocka_unit_test (update_changes_the_title_of_a_plan_that_runs_once),
        cmocka_unit_test (what_a_run_is_given_goes_with_it),
    };
    return cmocka_run_group_tests_name ("management", tests, start_zone, end_zone);
}
