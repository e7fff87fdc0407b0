// Teams: their rule in a plan's message, and their fields in Redis.
#include "rows.h"

#include <string.h>

#include "team.h"

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
    struct team_worker worker;
    struct span bytes;
} workers[] = {
    {"at work",
     {.state = WORKER_RUNNING,
      .started_ms = 1700000000250,
      .last_report_ms = 1700000000250,
      .timeout_s = 60,
      .exec_id = 1700000000250000},
     BYTES ("\x98\xa7running\xcf\x00\x00\x01\x8b\xcf\xe5\x68\xfa\xcf\x00\x00\x01\x8b\xcf\xe5\x68"
            "\xfa\x00\x3c\xb0"
            "1700000000250000\xa0\xa0")},
    {"small numbers",
     {.state = WORKER_FAIL,
      .last_report_ms = 127,
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
      .last_report_ms = 65535,
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
     {.state = WORKER_FAILED_EARLIER,
      .started_ms = 4294967295,
      .last_report_ms = 4294967296,
      .exec_id = 1},
     BYTES ("\x98\xa3out\xce\xff\xff\xff\xff\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xa1"
            "1\xa0\xa0")},
    {"the retry that it asks for",
     {.state = WORKER_FAIL, .exec_id = 1, .advice = {ADVICE_AFTER, 300}},
     BYTES ("\x9b\xa4"
            "fail\x00\x00\x00\x00\xa1"
            "1\xa0\xa0\xa0\x02\xcd\x01\x2c")},
};

static void workers_are_packed_as_lua_packs_them (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (workers); i++) {
        const struct worker_row *row = &workers[i];
        struct pack_text text = {0};
        struct team_worker read;
        uint8_t *bytes = exact_bytes (row->bytes);
        team_pack_worker (&row->worker, &text);
        CHECK (row->name, span_equal (span_of (text.data, text.size), row->bytes));
        CHECK (row->name, team_unpack_worker (span_of (bytes, row->bytes.size), &read));
        CHECK_INT (row->name, read.state, row->worker.state);
        CHECK_INT (row->name, read.started_ms, row->worker.started_ms);
        CHECK_INT (row->name, read.last_report_ms, row->worker.last_report_ms);
        CHECK_INT (row->name, read.ended_ms, row->worker.ended_ms);
        CHECK_INT (row->name, read.timeout_s, row->worker.timeout_s);
        CHECK_INT (row->name, read.exec_id, row->worker.exec_id);
        CHECK_INT (row->name, read.advice.kind, row->worker.advice.kind);
        CHECK_INT (row->name, read.advice.after_s, row->worker.advice.after_s);
        CHECK (row->name, span_equal (read.reason, row->worker.reason) &&
                              span_equal (read.result, row->worker.result) &&
                              span_equal (read.progress, row->worker.progress));
        worker_set_text (&read.reason, (struct span){0});
        worker_set_text (&read.result, (struct span){0});
        worker_set_text (&read.progress, (struct span){0});
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
        CHECK (row->name, team->is_stored);
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

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (workers_are_packed_as_lua_packs_them),
        cmocka_unit_test (heads_are_packed_as_lua_packs_them),
        cmocka_unit_test (broken_fields_are_passed_over),
        cmocka_unit_test (the_message_tells_the_rule),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
