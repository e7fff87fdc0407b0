// Names and texts as Redis has them: keys of messages, marks of runs, scores, numbers, callers.
#include "rows.h"

#include "plan_json.h"
#include "store_private.h"

static const struct key_row {
    const char *name;
    struct span key;
    const char *target; // NULL: it is the key of no plan
    uint64_t id;
} key_rows[] = {
    {"a plan", BYTES ("plan:msg:jobs:2a"), "jobs", 0x2a},
    {"the greatest id", BYTES ("plan:msg:a.b-c_d:7fffffffffffffff"), "a.b-c_d", INT64_MAX},
    {"an id that is too great", BYTES ("plan:msg:jobs:8000000000000000"), NULL, 0},
    {"no id", BYTES ("plan:msg:jobs:"), NULL, 0},
    {"the id 0", BYTES ("plan:msg:jobs:0"), NULL, 0},
    {"an id of 17 digits", BYTES ("plan:msg:jobs:00000000000000001"), NULL, 0},
    {"no number", BYTES ("plan:msg:jobs:2g"), NULL, 0},
    {"no target", BYTES ("plan:msg::2a"), NULL, 0},
    {"a target with a colon", BYTES ("plan:msg:a:b:2a"), NULL, 0},
    {"a target with a blank", BYTES ("plan:msg:a b:2a"), NULL, 0},
    {"a NUL in it", BYTES ("plan:msg:jo\0s:2a"), NULL, 0},
    {"no colon", BYTES ("plan:msg:jobs"), NULL, 0},
    {"another key", BYTES ("plan:work:jobs:2a"), NULL, 0},
    {"its beginning", BYTES ("plan:msg:"), NULL, 0},
    {"nothing", BYTES (""), NULL, 0},
};

static void keys_of_messages_are_taken_apart (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (key_rows); i++) {
        const struct key_row *row = &key_rows[i];
        uint8_t *bytes = exact_bytes (row->key);
        struct span target;
        uint64_t id;
        char member[PLAN_KEY_SIZE];
        bool good = message_key_parse (span_of (bytes, row->key.size), &target, &id);
        CHECK_INT (row->name, good, row->target != NULL);
        if (good) {
            CHECK (row->name, span_is (target, row->target) && id == row->id);
            plan_key_make (member, KEY_MESSAGE, target, id);
            CHECK (row->name, span_is (row->key, member));
        }
        free (bytes);
    }
}

static const struct run_row {
    const char *run;
    uint64_t exec_id;
    bool again;
} run_rows[] = {
    {"1700000000000001", 1700000000000001, false},
    {"1700000000000001 5", 1700000000000001, false},
    {"1700000000000001+ 5", 1700000000000001, true},
    {"1700000000000001? 5", 1700000000000001, false},
    {"1700000000000001+?", 1700000000000001, true},
    {"1700000000000001!", 1700000000000001, false},
    {"1700000000000001?! 5", 1700000000000001, false},
    {"+", 0, true},
    {"somebody's", 0, false},
    {"", 0, false},
};

static void marks_of_runs_are_read (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (run_rows); i++) {
        const struct run_row *row = &run_rows[i];
        uint64_t exec_id;
        bool again;
        run_parse (span_text (row->run), &exec_id, &again);
        CHECK (row->run, exec_id == row->exec_id && again == row->again);
    }
}

static redisReply text_reply (const char *text)
{
    return (redisReply){.type = text ? REDIS_REPLY_STRING : REDIS_REPLY_NIL,
                        .str = (char *)(uintptr_t)text,
                        .len = text ? strlen (text) : 0};
}

static const struct number_row {
    const char *name, *text;
    int64_t score_us, counter;
} number_rows[] = {
    {"whole", "1700000000", 1700000000000000, 1700000000},
    {"with microseconds", "1700000000.000001", 1700000000000001, 1700000000},
    {"rounded", "0.0000015", 2, 0},
    {"negative", "-5", 0, 0},
    {"infinite", "inf", SCHEDULE_TIME_MAX * 1000000, 0},
    {"the least", "-inf", 0, 0},
    {"too large", "1e300", SCHEDULE_TIME_MAX * 1000000, 1},
    {"too large to be counted on", "9223372036854775807", SCHEDULE_TIME_MAX * 1000000, 0},
    {"larger than any", "18446744073709551615", SCHEDULE_TIME_MAX * 1000000, 0},
    {"none", "somebody's", 0, 0},
    {"nil", NULL, -1, 0},
};

static void scores_and_numbers_of_somebody_are_bounded (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (number_rows); i++) {
        redisReply reply = text_reply (number_rows[i].text);
        CHECK_INT (number_rows[i].name, reply_score_us (&reply), number_rows[i].score_us);
        CHECK_INT (number_rows[i].name, reply_counter (&reply), number_rows[i].counter);
    }
}

// One field for one caller, however it is spelled; in a message it is found again.
static const struct caller_row {
    const char *name;
    struct span caller;
    const char *field;
} caller_rows[] = {
    {"a name", BYTES ("alice"), "c:talice"},
    {"nobody", BYTES (""), "c:t"},
    {"UTF-8", BYTES ("\xc3\xa9"), "c:t\xc3\xa9"},
    {"bytes", BYTES ("\xff\x00"), "c:b/wA="},
    {"a quote", BYTES ("a\"b"), NULL},
    {"39 bytes", BYTES ("123456789012345678901234567890123456789"),
     "c:t123456789012345678901234567890123456789"},
    {"40 bytes", BYTES ("1234567890123456789012345678901234567890"), NULL},
};

static void callers_are_fields_of_the_count (void **state)
{
    (void)state;
    struct store store = {0};
    json_text_start (&store.text, 256);
    for (size_t i = 0; i < ROWS (caller_rows); i++) {
        const struct caller_row *row = &caller_rows[i];
        char field[CALLER_FIELD_MAX], found[CALLER_FIELD_MAX];
        caller_field_make (&store, row->caller, field);
        if (row->field)
            CHECK_TEXT (row->name, field, row->field);
        CHECK (row->name, strncmp (field, "c:", 2) == 0 && strlen (field) < CALLER_FIELD_MAX);
        struct plan *plan = plan_new (0);
        plan->id = 1;
        plan->caller = row->caller;
        plan->station = span_text ("jobs");
        size_t size;
        char *message = plan_stored_text (plan, &size);
        message_caller_field (&store, span_of (message, size), found);
        CHECK_TEXT (row->name, found, field);
        free (message);
        plan_destroy (&plan);
    }
    char found[CALLER_FIELD_MAX];
    message_caller_field (&store, span_text ("no message"), found);
    assert_string_equal (found, "");
    free (store.text.bytes);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (keys_of_messages_are_taken_apart),
        cmocka_unit_test (marks_of_runs_are_read),
        cmocka_unit_test (scores_and_numbers_of_somebody_are_bounded),
        cmocka_unit_test (callers_are_fields_of_the_count),
    };
    return cmocka_run_group_tests_name ("names in Redis", tests, NULL, NULL);
}
