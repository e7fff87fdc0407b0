// Teams: what the message says of them, what Redis keeps of them, and what the core decides on
// their runs. What it decides in random order is compared with Lua in
// tests/store/test_pull_model.py.
#include "rows.h"

#include <inttypes.h>
#include <string.h>

#include "core_pull.h"

#define T31 "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
#define T32 T31 "r"
#define TEXT(literal)                                                                              \
    {                                                                                              \
        (const uint8_t *)(literal), sizeof (literal) - 1                                           \
    }

// -- in Redis

// The bytes are those of Redis 7.0: cmsgpack.pack ({...}).
static const struct worker_row {
    const char *name;
    struct worker worker;
    struct span bytes;
} workers[] = {
    {"at work",
     {.state = WORKER_RUNNING,
      .started_ms = 1700000000250,
      .heard_ms = 1700000000250,
      .timeout_s = 60,
      .exec_id = 1700000000250000},
     BYTES ("\x98\xa7running\xcf\x00\x00\x01\x8b\xcf\xe5\x68\xfa\xcf\x00\x00\x01\x8b\xcf\xe5\x68"
            "\xfa\x00\x3c\xb0"
            "1700000000250000\xa0\xa0")},
    {"small numbers",
     {.state = WORKER_FAIL,
      .heard_ms = 127,
      .ended_ms = 128,
      .timeout_s = 255,
      .exec_id = 9,
      .reason = TEXT ("why"),
      .result = TEXT (T31)},
     BYTES ("\x98\xa4"
            "fail\x00\x7f\xcc\x80\xcc\xff\xa1"
            "9\xa3why\xbf" T31)},
    {"two and four bytes, and progress",
     {.state = WORKER_SUCCESS,
      .started_ms = 256,
      .heard_ms = 65535,
      .ended_ms = 65536,
      .timeout_s = 86400,
      .exec_id = 1,
      .reason = TEXT ("a"),
      .result = TEXT (T32),
      .progress = TEXT ("half")},
     BYTES ("\x99\xa7success\xcd\x01\x00\xcd\xff\xff\xce\x00\x01\x00\x00\xce\x00\x01\x51\x80\xa1"
            "1\xa1"
            "a\xd9\x20" T32 "\xa4"
            "half")},
    {"the last of four bytes",
     {.state = WORKER_OUT, .started_ms = 4294967295, .heard_ms = 4294967296, .exec_id = 1},
     BYTES ("\x98\xa3out\xce\xff\xff\xff\xff\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xa1"
            "1\xa0\xa0")},
};

static void workers_are_packed_as_lua_packs_them (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (workers); i++) {
        const struct worker_row *row = &workers[i];
        struct pack_text text = {0};
        struct worker read;
        uint8_t *bytes = exact_bytes (row->bytes);
        team_pack_worker (&row->worker, &text);
        CHECK (row->name, span_equal (span_of (text.data, text.size), row->bytes));
        CHECK (row->name, team_unpack_worker (span_of (bytes, row->bytes.size), &read));
        CHECK_INT (row->name, read.state, row->worker.state);
        CHECK_INT (row->name, read.started_ms, row->worker.started_ms);
        CHECK_INT (row->name, read.heard_ms, row->worker.heard_ms);
        CHECK_INT (row->name, read.ended_ms, row->worker.ended_ms);
        CHECK_INT (row->name, read.timeout_s, row->worker.timeout_s);
        CHECK_INT (row->name, read.exec_id, row->worker.exec_id);
        CHECK (row->name, span_equal (read.reason, row->worker.reason) &&
                              span_equal (read.result, row->worker.result) &&
                              span_equal (read.progress, row->worker.progress));
        worker_set (&read.reason, (struct span){0});
        worker_set (&read.result, (struct span){0});
        worker_set (&read.progress, (struct span){0});
        for (size_t size = 0; size < row->bytes.size; size++) { // cut short
            uint8_t *part = exact_bytes (span_of (bytes, size));
            CHECK (row->name, !team_unpack_worker (span_of (part, size), &read));
            free (part);
        }
        free (bytes);
        free (text.data);
    }
}

static const struct head_row {
    const char *name;
    const char *round;
    int64_t try;
    uint64_t since;
    struct span bytes;
} heads[] = {
    {"an occurrence", "1700000000", 0, 1700000000250000,
     BYTES ("\x93\xaa"
            "1700000000\x00\xb0"
            "1700000000250000")},
    {"a manual run", "x1700000000250000", 300, 7,
     BYTES ("\x93\xb1x1700000000250000\xcd\x01\x2c\xa1"
            "7")},
};

static void heads_are_packed_as_lua_packs_them (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (heads); i++) {
        const struct head_row *row = &heads[i];
        struct pack_text text = {0};
        struct team *team = team_new ();
        team_load (team, span_text ("team"), row->bytes);
        CHECK_TEXT (row->name, team->round, row->round);
        CHECK_INT (row->name, team->try, row->try);
        CHECK_INT (row->name, team->since, row->since);
        team_pack_head (team, &text);
        CHECK (row->name, span_equal (span_of (text.data, text.size), row->bytes));
        free (text.data);
        team_destroy (&team);
    }
}

static const struct broken_row {
    const char *name;
    struct span field, bytes;
} broken[] = {
    {"no array", BYTES ("w:a"), BYTES ("\xa3out")},
    {"empty", BYTES ("w:a"), BYTES ("")},
    {"too few", BYTES ("w:a"), BYTES ("\x97\xa3out\x00\x00\x00\x00\xa1\x31\xa0")},
    {"too many", BYTES ("w:a"), BYTES ("\x9a\xa3out\x00\x00\x00\x00\xa1\x31\xa0\xa0\xa0\xa0")},
    {"bytes behind it", BYTES ("w:a"), BYTES ("\x98\xa3out\x00\x00\x00\x00\xa1\x31\xa0\xa0\x00")},
    {"an unknown state", BYTES ("w:a"), BYTES ("\x98\xa3oud\x00\x00\x00\x00\xa1\x31\xa0\xa0")},
    {"a time before all", BYTES ("w:a"), BYTES ("\x98\xa3out\xff\x00\x00\x00\xa1\x31\xa0\xa0")},
    {"a text for a time", BYTES ("w:a"), BYTES ("\x98\xa3out\xa0\x00\x00\x00\xa1\x31\xa0\xa0")},
    {"a time that overflows", BYTES ("w:a"),
     BYTES ("\x98\xa3out\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\xa1\x31\xa0\xa0")},
    {"an exec_id of letters", BYTES ("w:a"), BYTES ("\x98\xa3out\x00\x00\x00\x00\xa1x\xa0\xa0")},
    {"no name", BYTES ("w:"), BYTES ("\x98\xa3out\x00\x00\x00\x00\xa1\x31\xa0\xa0")},
    {"a name with a NUL", BYTES ("w:a\0b"), BYTES ("\x98\xa3out\x00\x00\x00\x00\xa1\x31\xa0\xa0")},
    {"a nested array", BYTES ("team"), BYTES ("\x93\x90\x00\xa1\x31")},
    {"a round that is too long", BYTES ("team"),
     BYTES ("\x93\xd9\x18xxxxxxxxxxxxxxxxxxxxxxxx\x00\xa1\x31")},
};

static void broken_fields_are_passed_over (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (broken); i++) {
        const struct broken_row *row = &broken[i];
        struct team *team = team_new ();
        uint8_t *bytes = exact_bytes (row->bytes);
        team_load (team, row->field, span_of (bytes, row->bytes.size));
        CHECK (row->name, team->count == 0 && !*team->round && team->since == 0);
        CHECK (row->name, team->kept);
        free (bytes);
        team_destroy (&team);
    }
}

// -- the message

static const struct rule_row {
    const char *name, *message;
    struct team_rule rule;
    const char *only; // the second name; NULL = any
} rules[] = {
    {"defaults", "{}", {.count = 1, .ping_s = 30, .timeout_s = 60}, NULL},
    {"all of it",
     "{\"plan_state\":5,\"plan_time\":17,\"error_count\" : 2,\"priority\":9,\"timeout\":40,"
     "\"workers\":{\"count\":3,\"only\":[\"a\",\"b\"],\"ping_interval\":5,\"worker_timeout\":7,"
     "\"again\":true},\"extra\":1}",
     {.count = 3,
      .ping_s = 5,
      .timeout_s = 7,
      .again = true,
      .plan_time = 17,
      .error_count = 2,
      .priority = 9,
      .run_timeout_s = 40,
      .state = 5,
      .extra = true},
     "b"},
    {"nobody in particular",
     "{\"workers\":{\"only\":[]}}",
     {.count = 1, .ping_s = 30, .timeout_s = 60},
     NULL},
    {"broken members",
     "{\"workers\":{\"count\":\"3\",\"ping_interval\":[],\"worker_timeout\":1.5,\"again\":1},"
     "\"extra\":0,\"plan_time\":\"7\"}",
     {.count = 1, .ping_s = 30, .timeout_s = 1},
     NULL},
    {"no JSON", "{\"workers\":{\"count\":3,}}", {.count = 1, .ping_s = 30, .timeout_s = 60}, NULL},
    {"no end", "{\"workers\":{\"count\":3", {.count = 1, .ping_s = 30, .timeout_s = 60}, NULL},
    {"out of bounds",
     "{\"workers\":{\"count\":99999999999,\"worker_timeout\":-1},\"timeout\":99999999999999999999}",
     {.count = INT32_MAX, .ping_s = 30, .timeout_s = 0, .run_timeout_s = INT32_MAX},
     NULL},
    {"a text of a client that looks like it",
     "{\"title\":\"\\\"workers\\\":{}\",\"workers\":{\"count\":2}}",
     {.count = 2, .ping_s = 30, .timeout_s = 60},
     NULL},
};

static void the_message_tells_the_rule (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rules); i++) {
        const struct rule_row *row = &rules[i];
        const struct team_rule *want = &row->rule;
        struct team_rule rule = {0};
        uint8_t *bytes = exact_bytes (span_text (row->message));
        team_rule_read (&rule, span_of (bytes, strlen (row->message)));
        CHECK_INT (row->name, rule.count, want->count);
        CHECK_INT (row->name, rule.ping_s, want->ping_s);
        CHECK_INT (row->name, rule.timeout_s, want->timeout_s);
        CHECK_INT (row->name, rule.again, want->again);
        CHECK_INT (row->name, rule.plan_time, want->plan_time);
        CHECK_INT (row->name, rule.error_count, want->error_count);
        CHECK_INT (row->name, rule.priority, want->priority);
        CHECK_INT (row->name, rule.run_timeout_s, want->run_timeout_s);
        CHECK_INT (row->name, rule.state, want->state);
        CHECK_INT (row->name, rule.extra, want->extra);
        CHECK (row->name, team_rule_allows (&rule, span_text (row->only ? row->only : "x")));
        CHECK (row->name, !row->only || !team_rule_allows (&rule, span_text ("x")));
        team_rule_free (&rule);
        free (bytes);
    }
}

static void a_message_says_that_its_run_is_in_progress (void **state)
{
    static const char before[] = "{\"plan_state\" : 1,\"exec_time\":0,\"exec_id\":12,\"a\":1}";
    static const char after[] =
        "{\"plan_state\" : 2,\"exec_time\":1700000000,\"exec_id\":1700000000250000,\"a\":1}";
    (void)state;
    size_t size;
    uint8_t *text = message_as_running (span_text (before), 1700000000250000, &size);
    CHECK ("running", span_equal (span_of (text, size), span_text (after)));
    free (text);
    text = message_as_running (span_text ("{}"), 7, &size);
    CHECK ("without numbers", span_equal (span_of (text, size), span_text ("{}")));
    free (text);
}

// -- runs, as the core decides on them

enum { SECOND = 1000000, ID = 0x1f };

static int64_t now_us;
static struct core *core;

static struct span jobs (void)
{
    return span_text ("jobs");
}

static const struct rows *flush (void)
{
    static struct rows none;
    if (!core_has_rows (core))
        return &none;
    return core_take_rows (core);
}

static void acked (void)
{
    flush ();
    core_acked (core, now_us);
}

static void submit (uint64_t id, const char *message)
{
    struct core_refusal refusal;
    const struct core_submission submission = {.target = jobs (),
                                               .id = id,
                                               .message = span_text (message),
                                               .revision = 1,
                                               .queued = true,
                                               .due_us = now_us};
    assert_int_equal (core_submit (core, &submission, now_us, &refusal), CORE_DONE);
    acked ();
}

static void start (void)
{
    struct core_cursor cursor;
    now_us = 1700000000ll * SECOND;
    core = core_new (&(struct core_bounds){0});
    core_load_numbers (core, &(struct core_numbers){0});
    assert_true (core_wants_page (core, now_us, &cursor));
    core_page (core, NULL, 0, 0, now_us);
}

// Begin the next run, and offer it.
static struct core_offered offer (uint64_t *ret_exec_id)
{
    const struct core_room room = {.target = jobs (), .room = 100, .fetched = true};
    const struct core_wish wish = {
        .limit = 1, .lease_us = 300ll * SECOND, .rooms = &room, .room_count = 1};
    struct core_choice choice;
    struct core_taken taken;
    struct core_offered offered;
    assert_int_equal (core_choose (core, &wish, now_us, &choice, 1), 1);
    assert_false (choice.needs_read);
    assert_int_equal (core_take (core, &choice, &wish, now_us, &taken), CORE_DONE);
    const struct core_offer given = {
        .target = jobs (),
        .id = taken.id,
        .exec_id = taken.exec_id,
        .stands = memmem (taken.message.data, taken.message.size, "\"plan_state\":2", 14) != NULL,
        .lease_us = wish.lease_us,
        .found = &(struct core_found){.score_us = -1, .report = -1}};
    assert_int_equal (core_pull_offer (core, &given, now_us, &offered), CORE_DONE);
    *ret_exec_id = taken.exec_id;
    return offered;
}

static size_t take (const char *worker, struct core_pull_taken *ret)
{
    struct core_job given[10];
    const struct core_pull_take wanted = {.target = jobs (),
                                          .worker = span_text (worker),
                                          .limit = 10,
                                          .lease_us = 300ll * SECOND,
                                          .alone = true};
    struct core_pull_taken taken;
    core_pull_take (core, &wanted, now_us, given, &taken);
    if (ret)
        *ret = taken;
    return taken.count;
}

static struct core_worker worker_of (const char *worker, uint64_t exec_id)
{
    return (struct core_worker){.id = ID,
                                .target = jobs (),
                                .worker = span_text (worker),
                                .exec_id = exec_id,
                                .lease_us = 300ll * SECOND};
}

static struct core_reported report (const char *worker, uint64_t exec_id, const char *state)
{
    const struct core_worker of = worker_of (worker, exec_id);
    const struct core_report given = {.success = strcmp (state, "success") == 0,
                                      .reason = span_text (worker)};
    struct core_reported reported;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_DONE);
    return reported;
}

static enum core_result end (uint64_t exec_id, enum core_end how, const char *message)
{
    struct core_committed committed;
    const struct core_commit commit = {.target = jobs (),
                                       .id = ID,
                                       .exec_id = exec_id,
                                       .end = how,
                                       .queued = true,
                                       .due_us = now_us,
                                       .message = message ? span_text (message) : (struct span){0},
                                       .revision = 2,
                                       .decided_on = -1,
                                       .has_team = true};
    return core_commit (core, &commit, now_us, &committed);
}

static const struct end_row {
    const char *name;
    const char *reports[4]; // "WORKER STATE", a second apart
    const char *worker;
    int failed;
} ends[] = {
    {"the last of all", {"a success", "c success", "b success"}, "b", 0},
    {"the last that failed", {"a fail", "b fail", "c success"}, "b", 2},
    {"of those of one moment the last by name", {"b fail", "=c fail", "=a fail"}, "c", 3},
};

static void the_last_that_failed_tells_the_outcome (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (ends); i++) {
        const struct end_row *row = &ends[i];
        struct core_reported reported;
        uint64_t exec_id;
        start ();
        submit (ID, "{\"plan_time\":1,\"workers\":{\"count\":3}}");
        CHECK_INT (row->name, offer (&exec_id).free, 3);
        CHECK_INT (row->name, take ("a", NULL) + take ("b", NULL) + take ("c", NULL), 3);
        CHECK_INT (row->name, take ("d", NULL), 0);
        for (const char *const *one = row->reports; *one; one++) {
            bool same = **one == '=';
            now_us += same ? 0 : SECOND;
            const char name[] = {(*one)[same], '\0'};
            reported = report (name, exec_id, *one + same + 2);
            CHECK_INT (row->name, reported.outcome.complete, one[1] == NULL);
        }
        CHECK (row->name, span_is (reported.outcome.worker, row->worker));
        CHECK (row->name, span_is (reported.outcome.reason, row->worker));
        CHECK_INT (row->name, reported.outcome.failed, row->failed);
        CHECK_INT (row->name, reported.exec_id, exec_id);
        core_destroy (&core);
    }
}

static void a_late_worker_makes_way_and_its_run_counts_no_more (void **state)
{
    (void)state;
    const struct limit limit = {.concurrency = 1};
    struct core_pull_taken taken;
    uint64_t exec_id;
    start ();
    core_set_limit (core, span_text ("s:jobs"), &limit);
    submit (ID, "{\"plan_time\":1}");
    submit (ID + 1, "{\"plan_time\":1}");
    offer (&exec_id);
    offer (&exec_id);
    assert_int_equal (take ("a", &taken), 1);
    assert_true (taken.limited && taken.wait_ms == 0);
    now_us += 60ll * SECOND;
    assert_int_equal (take ("b", NULL), 0);
    assert_int_equal (core_limit (core, span_text ("s:jobs"))->busy, 1);
    now_us += 1000;
    assert_int_equal (take ("b", NULL), 1); // of the other plan: this one is offered at its look
    assert_int_equal (core_limit (core, span_text ("s:jobs"))->busy, 1);
    core_destroy (&core);
}

static void a_run_that_goes_on_uses_no_rate_again (void **state)
{
    (void)state;
    const struct limit limit = {.concurrency = 5, .rate = 0.01};
    uint64_t first, second;
    start ();
    core_set_limit (core, span_text ("s:jobs"), &limit);
    submit (ID, "{\"plan_time\":1,\"plan_state\":1,\"exec_id\":0,\"workers\":{\"count\":2}}");
    offer (&first);
    assert_int_equal (take ("a", NULL), 1);
    double used_us = core_limit (core, span_text ("s:jobs"))->used_us;
    struct core_alive alive;
    const struct core_worker of = worker_of ("a", 0);
    now_us += 50ll * SECOND;
    assert_int_equal (take ("b", NULL), 1); // the second of a run that has begun
    now_us += 11ll * SECOND;                // the first is late
    assert_int_equal (offer (&second).free, 1);
    assert_true (second > first);
    assert_int_equal (core_limit (core, span_text ("s:jobs"))->busy, 1);
    assert_true (core_limit (core, span_text ("s:jobs"))->used_us - used_us < 1);
    assert_int_equal (core_pull_alive (core, &of, &(struct core_sign){0}, now_us, &alive),
                      CORE_DONE);
    assert_string_equal (alive.stop, "the worker is not in the team");
    core_destroy (&core);
}

static const struct retry_row {
    const char *name, *workers;
    size_t failed, other; // whether who failed gets it now, and another
    size_t alone;         // and who failed, when nobody else has come
} retries[] = {
    {"it is for others", "{}", 0, 1, 1},
    {"again", "{\"again\":true}", 1, 0, 0},
    {"only", "{\"only\":[\"a\"]}", 0, 0, 1},
};

static void a_retry_is_for_other_workers (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (retries); i++) {
        const struct retry_row *row = &retries[i];
        char message[100];
        uint64_t exec_id;
        for (int alone = 0; alone < 2; alone++) {
            start ();
            snprintf (message, sizeof message, "{\"plan_time\":1,\"error_count\":0,\"workers\":%s}",
                      row->workers);
            submit (ID, message);
            offer (&exec_id);
            CHECK_INT (row->name, take ("a", NULL), 1);
            CHECK (row->name, report ("a", exec_id, "fail").outcome.complete);
            strstr (message, "count\":")[7] = '1';
            CHECK_INT (row->name, end (exec_id, CORE_RETRY, message), CORE_DONE);
            CHECK_INT (row->name, core_pull_offers (core, jobs ()), 0);
            acked ();
            offer (&exec_id);
            if (alone) {
                CHECK_INT (row->name, take ("a", NULL), row->failed);
                now_us += 5ll * SECOND + 2;
                CHECK_INT (row->name, take ("a", NULL), row->alone);
            } else {
                CHECK_INT (row->name, take ("a", NULL), row->failed);
                CHECK_INT (row->name, take ("b", NULL), row->other);
            }
            core_destroy (&core);
        }
    }
}

// -- batches

static size_t count_rows (const struct rows *rows, const char *command, const char *key)
{
    size_t found = 0;
    const struct span *word = rows->words.at;
    for (size_t i = 0; i < rows->command_count; word += rows->commands[i++])
        found += span_is (word[0], command) && span_is (word[1], key);
    for (int column = 0; column < COLUMNS; column++)
        for (size_t i = 0; i < rows->columns[column].count; i += column_forms[column].width)
            found += strcmp (column_forms[column].command, command) == 0 &&
                     span_is (rows->columns[column].at[i], key);
    return found;
}

// Rows of a team are made as the batch is closed, behind the deletion: they would make the key
// anew.
static void what_a_batch_deletes_it_does_not_write (void **state)
{
    (void)state;
    uint64_t exec_id;
    start ();
    submit (ID, "{\"plan_time\":1}");
    offer (&exec_id);
    assert_int_equal (take ("a", NULL), 1);
    const struct rows *rows = flush ();
    assert_int_equal (count_rows (rows, "HSET", "plan:team:jobs:1f"), 1);
    assert_int_equal (count_rows (rows, "DEL", "plan:team:jobs:1f"), 0);
    core_acked (core, now_us);
    assert_true (report ("a", exec_id, "success").outcome.complete);
    assert_int_equal (end (exec_id, CORE_GONE, NULL), CORE_DONE);
    rows = flush ();
    assert_int_equal (count_rows (rows, "HSET", "plan:team:jobs:1f"), 0);
    assert_int_equal (count_rows (rows, "DEL", "plan:team:jobs:1f"), 1);
    assert_int_equal (count_rows (rows, "ZADD", "plan:reports"), 1);
    core_acked (core, now_us);
    core_destroy (&core);
}

static const char whole[] =
    "{\"exec_id\":0               ,\"exec_time\":0         ,\"plan_state\":1"
    ",\"revision\":1,\"plan_time\":1,\"error_count\":0}";

// SETRANGE goes behind SET, and would write over what an admin decided later.
static void the_last_that_is_decided_on_a_message_is_written (void **state)
{
    (void)state;
    uint64_t exec_id;
    for (int changed = 0; changed < 3; changed++) {
        start ();
        submit (ID, whole);
        offer (&exec_id);
        const struct core_change change = {.target = jobs (),
                                           .id = ID,
                                           .message = span_text (whole),
                                           .revision = 2,
                                           .was_revision = 1,
                                           .exec_id = exec_id,
                                           .place = CORE_OUT};
        if (changed == 1)
            assert_int_equal (core_change (core, &change, now_us), CORE_DONE);
        if (changed == 2)
            core_remove (core, &(struct core_removal){jobs (), ID, {0}}, now_us);
        const struct rows *rows = flush ();
        assert_int_equal (count_rows (rows, "SETRANGE", "plan:msg:jobs:1f"), changed == 0);
        assert_int_equal (count_rows (rows, "MSET", "plan:msg:jobs:1f"), changed == 1);
        core_acked (core, now_us);
        core_destroy (&core);
    }
}

static void a_report_is_known_before_redis_has_it (void **state)
{
    (void)state;
    uint64_t exec_id;
    start ();
    submit (ID, whole);
    offer (&exec_id);
    assert_int_equal (take ("a", NULL), 1);
    assert_true (report ("a", exec_id, "success").outcome.complete);
    assert_int_equal (end (exec_id, CORE_GONE, NULL), CORE_DONE);
    for (int flown = 0; flown < 2; flown++) {
        assert_null (report ("a", exec_id, "success").refused);
        assert_string_equal (report ("a", exec_id, "fail").refused,
                             "the worker has reported another result of this run");
        flush ();
    }
    core_acked (core, now_us);
    struct core_worker of = worker_of ("a", exec_id);
    const struct core_report given = {.success = true, .reason = span_text ("a")};
    struct core_reported reported;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_UNREAD);
    // SHA-1 of "success a " begins with f3.
    const struct core_found found = {.score_us = -1, .report = now_us / 1000 * 256 + 0xf3};
    of.found = &found;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_DONE);
    assert_null (reported.refused);
    core_destroy (&core);
}

// -- many offers

static void a_look_ends_and_says_where (void **state)
{
    static const char message[] = "{\"plan_time\":1,\"workers\":{\"only\":[\"b\"]}}";
    (void)state;
    struct core_job given[2];
    struct core_pull_taken taken;
    uint64_t exec_id;
    start ();
    for (uint64_t id = 1; id <= 300; id++) {
        now_us += 1000; // of one moment they would be in the order of their ids as texts
        submit (id, message);
        offer (&exec_id);
    }
    now_us += 1000;
    submit (301, "{\"plan_time\":1}");
    offer (&exec_id);
    acked ();
    assert_int_equal (core_pull_offers (core, jobs ()), 301);
    struct core_pull_take wanted = {
        .target = jobs (), .worker = span_text ("a"), .limit = 2, .lease_us = SECOND};
    core_pull_take (core, &wanted, now_us, given, &taken);
    assert_int_equal (taken.count, 0);
    assert_int_equal (taken.next, PULL_LOOK_MAX);
    wanted.from = taken.next;
    core_pull_take (core, &wanted, now_us, given, &taken);
    assert_int_equal (taken.count, 1);
    assert_int_equal (given[0].id, 301);
    assert_int_equal (taken.next, 0);
    wanted.worker = span_text ("b");
    wanted.from = 0;
    for (uint64_t id = 1; id <= 300; id += 2) { // from the front, then anywhere
        core_pull_take (core, &wanted, now_us, given, &taken);
        assert_int_equal (taken.count, 2);
        assert_true (given[1].id > given[0].id);
        wanted.from = (int64_t)(id % 7);
        if (core_pull_offers (core, jobs ()) <= 8)
            wanted.from = 0;
    }
    assert_int_equal (core_pull_offers (core, jobs ()), 0);
    core_destroy (&core);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (workers_are_packed_as_lua_packs_them),
        cmocka_unit_test (heads_are_packed_as_lua_packs_them),
        cmocka_unit_test (broken_fields_are_passed_over),
        cmocka_unit_test (the_message_tells_the_rule),
        cmocka_unit_test (a_message_says_that_its_run_is_in_progress),
        cmocka_unit_test (the_last_that_failed_tells_the_outcome),
        cmocka_unit_test (a_late_worker_makes_way_and_its_run_counts_no_more),
        cmocka_unit_test (a_run_that_goes_on_uses_no_rate_again),
        cmocka_unit_test (a_retry_is_for_other_workers),
        cmocka_unit_test (what_a_batch_deletes_it_does_not_write),
        cmocka_unit_test (the_last_that_is_decided_on_a_message_is_written),
        cmocka_unit_test (a_report_is_known_before_redis_has_it),
        cmocka_unit_test (a_look_ends_and_says_where),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
