// The plan record: its stored JSON, which an operator may edit, and the messages made of it.
// Source: proto 7.2 and 8; proto/redis.md 3.
#include <inttypes.h>

#include "codes.h"
#include "plan_json.h"
#include "plan_message.h"
#include "rows.h"

static const uint8_t plan_desc[] = "\6\2\2$%\5\4B"; // and its NUL is END
static const uint8_t binary[] = {0, 0xFF, '"', '\\'};

// A plan that a client submitted, after a few runs.
static struct plan *sample_plan (void)
{
    const struct span frames[] = {span_of (plan_desc, sizeof plan_desc),
                                  span_text ("api1"),
                                  span_text ("do"),
                                  span_text ("arg \xc3\xa9"),
                                  span_text ("{\"plan_type\":2}"),
                                  span_text ("r-7"),
                                  span_of (binary, sizeof binary)};
    struct plan_fields fields = {.schedule = {SCHEDULE_SECOND, 5, 10, true, 0, 0}, .skip_set = 1};
    memcpy (fields.description, "title", 5);
    fields.description_size = 5;
    struct message request;
    struct reason reason;
    assert_int_equal (message_read (frames, ROWS (frames), &request, &reason), 0);
    struct plan *plan =
        plan_new_submitted (0x1f, &request, span_of ("\0bob", 4), &fields, 1767225600);
    plan->plan_time = 1767225610;
    plan->skip_num = 1;
    return plan;
}

// Two stations may choose the same id: the second then gives its new plan another one.
static void submitted_plan_can_be_numbered_anew (void **state)
{
    static const uint64_t ids[] = {0x20, INT64_MAX, 1, 0x1f};
    (void)state;
    struct plan *plan = sample_plan (), *first = sample_plan ();
    for (size_t i = 0; i < ROWS (ids); i++) {
        char mailbox[MAILBOX_SIZE], id[24];
        snprintf (id, sizeof id, "%" PRIx64, ids[i]);
        plan_renumber (plan, ids[i]);
        CHECK (id, plan->id == ids[i]);
        CHECK (id, span_is (plan->messages[0], mailbox_text (ids[i], mailbox)));
        CHECK (id, plan->message_count == first->message_count);
        for (size_t j = 1; j < plan->message_count; j++)
            CHECK (id, span_equal (plan->messages[j], first->messages[j]));
        CHECK (id, span_equal (plan->caller, first->caller));
        CHECK (id, span_equal (plan->description, first->description));
    }
    plan_destroy (&plan);
    plan_destroy (&first);
}

static struct plan *sample_plan_run (void)
{
    struct plan *plan = sample_plan ();
    plan->exec_time = 1767225611;
    plan->exec_id = 1767225611000001;
    plan->real_repet = 1;
    plan->error_count = 2;
    plan->revision = 42;
    plan->last_state = ZERO_STATUS_RUNING_ID;
    plan->state = PLAN_EXECUTE;
    return plan;
}

static char *stored_text (const struct plan *plan)
{
    size_t size;
    char *text = plan_stored_text (plan, &size);
    assert_int_equal (size, strlen (text));
    return text;
}

// -- the stored JSON

#define PUBLIC_FIELDS                                                                              \
    "\"plan_id\":31,\"request_id\":\"r-7\",\"station\":\"api1\",\"caller\":{\"b64\":\"AGJvYg==\"}" \
    ","                                                                                            \
    "\"description\":\"title\",\"revision\":42,\"plan_type\":2,\"plan_value\":5,"                  \
    "\"plan_repet\":10,\"real_repet\":1,\"last_state\":3,\"plan_time\":1767225610,\"exec_time\":"  \
    "1767225611,"                                                                                  \
    "\"base_time\":0,\"plan_state\":2,\"add_time\":1767225600,\"skip_set\":1,\"skip_num\":1,"      \
    "\"error_count\":2,\"exec_id\":1767225611000001,\"no_keep\":true"

#define MESSAGES                                                                                   \
    "\"messages\":[\"*1f\",{\"b64\":\"BgICJCUFBEIA\"},\"api1\",\"do\",\"arg \xc3\xa9\","           \
    "\"{\\\"plan_type\\\":2}\",\"r-7\",{\"b64\":\"AP8iXA==\"}]"

static void submitted_plan_keeps_what_was_sent (void **state)
{
    (void)state;
    struct plan *plan = sample_plan ();
    assert_true (span_is (plan->station, "api1") && span_is (plan->request_id, "r-7"));
    assert_true (span_is (plan->description, "title"));
    assert_true (span_equal (plan->caller, span_of ("\0bob", 4)));
    assert_int_equal (plan->schedule.received, 1767225600);
    assert_int_equal (plan->state, PLAN_QUEUE);
    assert_int_equal (plan->message_count, 8);
    assert_true (span_is (plan->messages[0], "*1f"));
    assert_true (span_equal (plan->messages[1], span_of (plan_desc, sizeof plan_desc)));
    assert_true (span_equal (plan->messages[7], span_of (binary, sizeof binary)));
    // Nothing has run yet.
    assert_int_equal (plan->last_state, 0);
    assert_int_equal (plan->exec_time, 0);
    assert_int_equal (plan->exec_id, 0);
    plan_destroy (&plan);
    assert_null (plan);
    plan_destroy (&plan);
}

static void stored_json_has_the_fields_of_the_protocol (void **state)
{
    (void)state;
    struct plan *plan = sample_plan_run ();
    char *text = stored_text (plan);
    json_t *got = json_loads (text, JSON_REJECT_DUPLICATES, NULL);
    json_t *wanted = json_loads ("{" PUBLIC_FIELDS "," MESSAGES "}", 0, NULL);
    assert_non_null (wanted);
    if (!json_equal (got, wanted))
        fail_msg ("got %s", text);
    json_decref (got);
    json_decref (wanted);
    free (text);
    plan_destroy (&plan);
}

// Scripts rely on the offsets of the head: proto/redis.md 3.
static const struct head_row {
    const char *name;
    uint64_t exec_id;
    int64_t exec_time;
    enum plan_state state;
    int64_t revision;
    const char *text;
} head_rows[] = {
    {"before the first run", 0, 0, PLAN_QUEUE, 0,
     "{\"exec_id\":0               ,\"exec_time\":0         ,\"plan_state\":1,\"revision\":0,"},
    {"in hand", 1767225611000001, 1767225611, PLAN_EXECUTE, 42,
     "{\"exec_id\":1767225611000001,\"exec_time\":1767225611,\"plan_state\":2,\"revision\":42,"},
    {"one digit less", 999999999999999, 999999999, PLAN_CLOSE, INT64_MAX,
     "{\"exec_id\":999999999999999 ,\"exec_time\":999999999 ,\"plan_state\":7,"
     "\"revision\":9223372036854775807,"},
    {"wider than their places", INT64_MAX, SCHEDULE_TIME_MAX, PLAN_NONE, 1,
     "{\"exec_id\":9223372036854775807,\"exec_time\":253402300799,\"plan_state\":0,"
     "\"revision\":1,"},
};

static void stored_json_begins_with_its_head (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (head_rows); i++) {
        const struct head_row *row = &head_rows[i];
        struct plan *plan = sample_plan_run ();
        plan->exec_id = row->exec_id;
        plan->exec_time = row->exec_time;
        plan->state = row->state;
        plan->revision = row->revision;
        char *text = stored_text (plan), wanted[256];
        snprintf (wanted, sizeof wanted,
                  "%s\"caller\":{\"b64\":\"AGJvYg==\"},\"plan_id\":31,\"request_id\":", row->text);
        text[strlen (wanted)] = '\0';
        CHECK_TEXT (row->name, text, wanted);
        free (text);
        plan_destroy (&plan);
    }
}

static void public_json_has_the_order_of_the_protocol (void **state)
{
    (void)state;
    struct plan *plan = sample_plan_run ();
    char *text = plan_public_text (plan);
    struct json_text dispatch = {0};
    size_t size;
    plan_write_dispatch (plan, 1767225900, &dispatch);
    assert_string_equal (text, "{" PUBLIC_FIELDS "}");
    assert_string_equal (json_text_end (&dispatch, &size),
                         "{" PUBLIC_FIELDS ",\"deadline\":1767225900}");
    free (dispatch.bytes);
    free (text);
    plan_destroy (&plan);
}

static void stored_json_comes_back_as_it_was (void **state)
{
    (void)state;
    struct plan *plan = sample_plan_run ();
    plan->exec_id = INT64_MAX;
    plan->id = INT64_MAX;
    plan->real_repet = plan->skip_num = plan->error_count = INT64_C (1) << 40;
    plan->plan_time = plan->exec_time = SCHEDULE_TIME_MAX;
    plan->revision = INT64_MAX;
    plan->poll = INT64_MAX;
    plan->skip_wait = INT32_MAX;
    plan->extra = PLAN_ERROR;
    plan->vote = (struct vote_rule){VOTE_COUNT, 3, 60};
    char *text = stored_text (plan);
    uint8_t *bytes = exact_bytes (span_text (text));
    struct reason reason = {""};
    struct plan *again = plan_from_stored_json (INT64_MAX, span_of (bytes, strlen (text)), &reason);
    free (bytes);
    assert_non_null (again);
    assert_memory_equal (&again->schedule, &plan->schedule, sizeof plan->schedule);
    assert_memory_equal (&again->vote, &plan->vote, sizeof plan->vote);
    assert_int_equal (again->message_count, plan->message_count);
    for (size_t i = 0; i < plan->message_count; i++)
        assert_true (span_equal (again->messages[i], plan->messages[i]));
    char *text_again = stored_text (again);
    assert_string_equal (text_again, text);
    free (text);
    free (text_again);
    plan_destroy (&again);
    plan_destroy (&plan);
}

// The greatest counters that a message may have, after one failure or run more.
static void a_counter_at_its_bound_stays_readable (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t counter;
    } rows[] = {
        {"real_repet", offsetof (struct plan, real_repet)},
        {"skip_num", offsetof (struct plan, skip_num)},
        {"skip_wait", offsetof (struct plan, skip_wait)},
        {"error_count", offsetof (struct plan, error_count)},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct plan *plan = sample_plan_run ();
        int64_t counter = INT64_MAX / 4 + 1;
        memcpy ((uint8_t *)plan + rows[i].counter, &counter, sizeof counter);
        char *text = stored_text (plan);
        struct reason reason = {""};
        struct plan *again = plan_from_stored_json (plan->id, span_text (text), &reason);
        CHECK (rows[i].name, again != NULL);
        memcpy (&counter, (uint8_t *)again + rows[i].counter, sizeof counter);
        CHECK_INT (rows[i].name, counter, INT64_MAX / 4);
        free (text);
        plan_destroy (&again);
        plan_destroy (&plan);
    }
}

// Rare fields are written only for plans that have them.
static const struct rare_row {
    const char *name;
    int64_t skip_wait;
    enum plan_state extra;
    struct vote_rule vote;
    const char *text; // what it adds to the public JSON
} rare_rows[] = {
    {"none of them", 0, PLAN_NONE, {0}, ""},
    {"skip_wait", 3, PLAN_NONE, {0}, ",\"skip_wait\":3"},
    {"extra, from the queue", 0, PLAN_QUEUE, {0}, ",\"extra\":1"},
    {"extra, from pause", 0, PLAN_PAUSE, {0}, ",\"extra\":5"},
    {"a vote", 0, PLAN_NONE, {VOTE_ALL, 0, 0}, ",\"vote\":{\"rule\":\"all\"}"},
    {"a vote with a number and a deadline",
     0,
     PLAN_NONE,
     {VOTE_COUNT, 3, 60},
     ",\"vote\":{\"rule\":3,\"deadline\":60}"},
    {"a deadline of no vote is not told", 0, PLAN_NONE, {VOTE_NONE, 0, 60}, ""},
};

static void rare_fields_are_written_when_they_are_set (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rare_rows); i++) {
        const struct rare_row *row = &rare_rows[i];
        struct plan *plan = sample_plan_run ();
        plan->skip_wait = row->skip_wait;
        plan->extra = row->extra;
        plan->vote = row->vote;
        char wanted[1024];
        snprintf (wanted, sizeof wanted, "{" PUBLIC_FIELDS "%s}", row->text);
        char *text = plan_public_text (plan);
        json_t *got = json_loads (text, JSON_REJECT_DUPLICATES, NULL);
        json_t *want = json_loads (wanted, 0, NULL);
        if (!json_equal (got, want))
            fail_msg ("%s: got %s", row->name, text);
        json_decref (got);
        json_decref (want);
        free (text);
        plan_destroy (&plan);
    }
}

// A text that plan_scan_stored accepts, plan_parse_stored must read as the same plan. Returns
// whether the first accepted it.
static bool check_ways (struct span text)
{
    struct reason reason = {""};
    uint8_t *bytes = exact_bytes (text);
    struct plan *scanned = plan_scan_stored (0x1f, span_of (bytes, text.size));
    struct plan *parsed = plan_parse_stored (0x1f, span_of (bytes, text.size), &reason);
    free (bytes);
    if (scanned) {
        if (!parsed)
            fail_msg ("scanned, but %s: %.*s", reason.text, (int)text.size, text.data);
        char *first = stored_text (scanned), *second = stored_text (parsed);
        assert_string_equal (first, second);
        assert_memory_equal (&scanned->schedule, &parsed->schedule, sizeof parsed->schedule);
        free (first);
        free (second);
    }
    bool taken = scanned != NULL;
    plan_destroy (&scanned);
    plan_destroy (&parsed);
    return taken;
}

// The stored message with one field edited; the value NULL removes the field.
static const struct edit_row {
    const char *field, *value;
    bool good;
} edit_rows[] = {
    {"plan_id", "99", true}, // the key's id counts
    {"unknown", "1", true},
    {"plan_value", "6", true},
    {"plan_time", "0", true},
    {"plan_time", "253402300799", true},
    {"plan_repet", "-1", true},
    {"real_repet", "5", true},
    {"real_repet", NULL, true}, // a missing counter is 0
    {"skip_num", NULL, true},
    {"error_count", NULL, true},
    {"exec_id", NULL, true},
    {"no_keep", NULL, true},
    {"no_keep", "false", true},
    {"station", "\"\"", true}, // the engine takes its right to run
    {"messages", "[]", true},
    {"messages", "[\"a\"]", true},
    {"description", "{\"b64\":\"AA==\"}", true},
    {"revision", NULL, true},
    {"revision", "9223372036854775807", true},
    {"skip_wait", "2147483647", true},
    {"extra", "7", true},
    {"poll", "9223372036854775807", true},
    {"vote", NULL, true},
    {"vote", "{}", true},
    {"vote", "{\"rule\":\"any\",\"deadline\":1}", true},
    {"step", "\"c 1f 0 -1 0 1 flow name\"", true},
    {"step", "\"garbage\"", false},
    {"step", "\"\"", false},
    {"step", "1", false},
    {"plan_type", "99", false},
    {"plan_type", "-1", false},
    {"plan_type", "2.0", false},
    {"plan_type", "\"second\"", false},
    {"plan_type", "4294967298", false},
    {"plan_value", "32767", false},
    {"plan_value", "-32", false},
    {"plan_value", "4294967296", false},
    {"plan_repet", "2147483648", false},
    {"plan_repet", "\"-1\"", false},
    {"real_repet", "-1", false},
    {"real_repet", "9223372036854775807", false},
    {"real_repet", "null", false},
    {"last_state", "256", false},
    {"last_state", "-1", false},
    {"plan_time", "-1", false},
    {"plan_time", "253402300800", false},
    {"plan_time", "9223372036854775807", false},
    {"plan_time", "1.5", false},
    {"plan_time", "\"2026-01-01T00:00:00Z\"", false},
    {"exec_time", "-1", false},
    {"base_time", "-1", false},
    {"base_time", "253402300800", false},
    {"add_time", "-1", false},
    {"plan_state", "8", false},
    {"plan_state", "-1", false},
    {"plan_state", "\"queue\"", false},
    {"skip_set", "-1", false},
    {"skip_num", "-1", false},
    {"error_count", "-1", false},
    {"exec_id", "-1", false},
    {"exec_id", "\"1\"", false},
    {"revision", "-1", false},
    {"revision", "\"1\"", false},
    {"skip_wait", "-1", false},
    {"skip_wait", "4611686018427387904", false},
    {"extra", "8", false},
    {"extra", "-1", false},
    {"extra", "true", false},
    {"poll", "-1", false},
    {"vote", "null", false},
    {"vote", "\"all\"", false},
    {"vote", "{\"rule\":0}", false},
    {"vote", "{\"deadline\":0}", false},
    {"vote", "{\"voters\":1}", false},
    {"station", "1", false},
    {"station", NULL, false},
    {"station", "{}", false},
    {"request_id", NULL, false},
    {"request_id", "null", false},
    {"caller", "[]", false},
    {"caller", "{\"b64\":\"A\"}", false},
    {"caller", "{\"b64\":\"AA==\",\"x\":1}", false},
    {"description", NULL, false},
    {"description", "{\"b64\":7}", false},
    {"messages", NULL, false},
    {"messages", "null", false},
    {"messages", "{}", false},
    {"messages", "\"x\"", false},
    {"messages", "[1]", false},
    {"messages", "[null]", false},
    {"messages", "[[]]", false},
    {"messages", "[\"*1\",{\"b64\":\"?\"}]", false},
    {"messages",
     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
     "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]",
     false}, // 35
};

// A flag of another type is rejected, and not read as false: the plan would skip occurrences that
// it must run.
static const struct edit_row flag_rows[] = {
    {"no_keep", "1", false},
    {"no_keep", "\"true\"", false},
    {"no_keep", "null", false},
};

static char *edited_text (const char *text, const struct edit_row *row)
{
    json_t *object = json_loads (text, 0, NULL);
    if (row->value) {
        json_t *value = json_loads (row->value, JSON_DECODE_ANY, NULL);
        if (!value)
            fail_msg ("the row is no JSON: %s", row->value);
        json_object_set_new (object, row->field, value);
    } else {
        json_object_del (object, row->field);
    }
    char *edited = json_write (object);
    json_decref (object);
    return edited;
}

static void check_edit (const char *text, const struct edit_row *row)
{
    char name[128];
    snprintf (name, sizeof name, "%s = %.60s", row->field, row->value ? row->value : "absent");
    char *edited = edited_text (text, row);
    uint8_t *bytes = exact_bytes (span_text (edited));
    struct reason reason = {""};
    struct plan *plan = plan_from_stored_json (0x1f, span_of (bytes, strlen (edited)), &reason);
    CHECK (name, (plan != NULL) == row->good);
    CHECK (name, !plan || plan->id == 0x1f);
    // The reason names the field.
    CHECK (name, plan || strncmp (reason.text, row->field, strlen (row->field)) == 0);
    check_ways (span_text (edited));
    plan_destroy (&plan);
    free (bytes);
    free (edited);
}

static void check_edits (const struct edit_row *rows, size_t count)
{
    struct plan *plan = sample_plan_run ();
    char *text = stored_text (plan);
    for (size_t i = 0; i < count; i++)
        check_edit (text, &rows[i]);
    free (text);
    plan_destroy (&plan);
}

static void stored_json_edited_by_hand_is_checked (void **state)
{
    (void)state;
    check_edits (edit_rows, ROWS (edit_rows));
}

static void stored_no_keep_is_a_flag (void **state)
{
    (void)state;
    check_edits (flag_rows, ROWS (flag_rows));
}

static const struct span no_plans[] = {
    BYTES (""),
    BYTES ("null"),
    BYTES ("[]"),
    BYTES ("{}"),
    BYTES ("{\"a\":1,\"a\":1}"),
    BYTES ("\0"),
    BYTES ("{}\0"),
    BYTES ("plan"),
    BYTES ("{\"messages\":[[[[[[[[[[[[[[[[[[[["),
    BYTES ("\xff"),
};

static void stored_json_that_is_no_plan_is_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (no_plans); i++) {
        struct reason reason = {""};
        uint8_t *bytes = exact_bytes (no_plans[i]);
        CHECK (quoted (no_plans[i]),
               !plan_from_stored_json (1, span_of (bytes, no_plans[i].size), &reason));
        CHECK (quoted (no_plans[i]), reason.text[0]);
        free (bytes);
    }
}

static void stored_json_cut_anywhere_is_refused (void **state)
{
    (void)state;
    struct plan *plan = sample_plan_run ();
    char *text = stored_text (plan);
    for (size_t size = 0; size < strlen (text); size++) {
        uint8_t *bytes = exact_bytes (span_of (text, size));
        struct reason reason;
        char name[48];
        snprintf (name, sizeof name, "the first %zu bytes", size);
        CHECK (name, !plan_from_stored_json (0x1f, span_of (bytes, size), &reason));
        free (bytes);
    }
    free (text);
    plan_destroy (&plan);
}

static void stored_json_with_broken_bytes_is_read_or_refused (void **state)
{
    (void)state;
    uint64_t random = 521288629521288629U;
    struct plan *plan = sample_plan_run ();
    char *text = stored_text (plan);
    size_t size = strlen (text);
    for (int round = 0; round < 5000; round++) {
        uint8_t *bytes = exact_bytes (span_of (text, size));
        for (size_t edits = 1 + next_random (&random) % 3; edits > 0; edits--)
            bytes[next_random (&random) % size] = (uint8_t)(next_random (&random) >> 30);
        struct reason reason;
        struct plan *read = plan_from_stored_json (0x1f, span_of (bytes, size), &reason);
        check_ways (span_of (bytes, size));
        free (bytes);
        if (read) {
            assert_in_range (read->message_count, 0, PLAN_MESSAGES_MAX);
            assert_in_range (read->schedule.type, 0, SCHEDULE_TYPES - 1);
            free (stored_text (read));
        }
        plan_destroy (&read);
    }
    free (text);
    plan_destroy (&plan);
}

// -- the two ways to read a stored text

static void random_counters (struct plan *plan, uint64_t *random)
{
    plan->exec_id = next_random (random) >> (1 + next_random (random) % 63);
    plan->revision = (int64_t)(next_random (random) >> (1 + next_random (random) % 63));
    plan->poll = next_random (random) % 4 ? 0 : next_random (random) >> 1;
    plan->skip_wait = next_random (random) % 4 ? 0 : 3;
    plan->extra = next_random (random) % 4 ? PLAN_NONE : PLAN_PAUSE;
    plan->state = (enum plan_state) (next_random (random) % PLAN_STATES);
    plan->last_state = (uint8_t)next_random (random);
    plan->schedule.repeat = (int32_t)(next_random (random) >> 20);
    plan->schedule.keep = next_random (random) % 2;
    plan->exec_time = (int64_t)(next_random (random) % SCHEDULE_TIME_MAX);
}

// Set random frames, each a part of these bytes.
static void random_frames (struct plan *plan, struct span bytes, uint64_t *random)
{
    plan->message_count = next_random (random) % (PLAN_MESSAGES_MAX + 1);
    for (size_t i = 0; i < plan->message_count; i++) {
        size_t start = next_random (random) % bytes.size;
        size_t size = next_random (random) % (bytes.size - start);
        plan->messages[i] =
            span_of (bytes.data + start, next_random (random) % 4 ? size % 24 : size);
    }
}

static const uint8_t frame_bytes[] = "{\"plan_type\":2} do it \xc3\xa9 more of the text "
                                     "\xe8\xae\xa1\xe5\x88\x92 \xf0\x9f\x98\x80 \n\t\x01"
                                     "\"quotes\" and \\ and / and \x7f, some binary "
                                     "\0\xff\xc3\xed\xa0\x80 and a long tail of letters";

static void what_is_written_is_read_without_a_tree (void **state)
{
    (void)state;
    uint64_t random = 88172645463325252U;
    for (int round = 0; round < 5000; round++) {
        struct plan *plan = sample_plan_run ();
        random_counters (plan, &random);
        random_frames (plan, span_of (frame_bytes, sizeof frame_bytes), &random);
        char *text = stored_text (plan);
        if (!check_ways (span_text (text)))
            fail_msg ("not taken: %s", text);
        struct plan *read = plan_scan_stored (plan->id, span_text (text));
        char *again = stored_text (read);
        assert_string_equal (again, text);
        free (again);
        free (text);
        plan_destroy (&read);
        plan_destroy (&plan);
    }
}

static void earlier_versions_are_read_without_a_tree (void **state)
{
    (void)state;
    assert_true (check_ways (span_text ("{" PUBLIC_FIELDS "," MESSAGES "}")));
    assert_true (check_ways (span_text ("{" MESSAGES "," PUBLIC_FIELDS "}")));
    assert_true (check_ways (span_text (" {\n\t" PUBLIC_FIELDS " , " MESSAGES " }\r\n")));
}

// Texts that an edit, or a fault, may insert anywhere.
static const char *const splices[] = {
    "",
    " ",
    ",",
    "\"",
    ":",
    "{",
    "}",
    "[",
    "]",
    "0",
    "-",
    "1.5",
    "e1",
    "null",
    "true",
    "\\",
    "\\u0000",
    "\\u0041",
    "\\ud83d",
    "\xc3",
    "\x1f",
    "\xc3\xa9",
    "/",
    "\xff",
    ",\"a\":1",
    ",\"poll\":1",
    "\"poll\":1,",
    ",\"vote\":{}",
    "\"vote\":null,",
    "\"plan_id\":\"x\",",
    "{\"b64\":\"AA==\"}",
    "{\"b64\":\"\"},",
    "\"station\":\"x\",",
    "99999999999999999999",
    "\n",
    "//",
};

static void edited_texts_are_read_in_both_ways_alike (void **state)
{
    (void)state;
    uint64_t random = 521288629521288629U;
    struct plan *plan = sample_plan_run ();
    char *text = stored_text (plan);
    size_t size = strlen (text), taken = 0;
    for (int round = 0; round < 40000; round++) {
        char edited[2048];
        size_t at = next_random (&random) % size;
        size_t cut =
            next_random (&random) % 3 ? next_random (&random) % 3 : next_random (&random) % 40;
        const char *splice = splices[next_random (&random) % ROWS (splices)];
        cut = cut < size - at ? cut : size - at;
        snprintf (edited, sizeof edited, "%.*s%s%s", (int)at, text, splice, text + at + cut);
        taken += check_ways (span_text (edited));
    }
    assert_true (taken > 1000); // spaces, letters, digits
    free (text);
    plan_destroy (&plan);
}

// -- the dispatch

static const struct dispatch_way by_frame = {false, ""};

static void check_frames (const char *name, const struct message *message,
                          const struct span *wanted, size_t count)
{
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[MESSAGE_FRAMES_MAX];
    CHECK_INT (name, message_layout (message, desc, frames), count);
    for (size_t i = 0; i < count; i++)
        if (!span_equal (frames[i], wanted[i]))
            fail_msg ("%s: frame %zu: want %s, got %s", name, i, quoted (wanted[i]),
                      quoted (frames[i]));
}

static void dispatch_is_byte_exact (void **state)
{
    (void)state;
    struct plan *plan = sample_plan_run ();
    struct plan_texts texts = {0};
    struct message message;
    plan_dispatch_message (plan, &by_frame, 1767225911, &texts, &message);
    const struct span wanted[] = {
        BYTES ("*1f"),
        BYTES ("\x8\x3$%\x4"
               "B\x5\x6\x8\x1\0"),
        BYTES ("do"),
        BYTES ("arg \xc3\xa9"),
        BYTES ("r-7"),
        span_of (binary, sizeof binary),
        BYTES ("{" PUBLIC_FIELDS ",\"deadline\":1767225911}"),
        BYTES ("1767225610"),
        BYTES ("6474846c818c1"),
        BYTES ("1f"),
    };
    check_frames ("dispatch", &message, wanted, ROWS (wanted));
    free (texts.plan_json.bytes);
    plan_destroy (&plan);
}

static void dispatch_keeps_the_clients_global_id (void **state)
{
    (void)state;
    static const struct span frames[] = {BYTES ("\5\2\1\5*\2T\0\xFE"),
                                         BYTES ("001F"),
                                         BYTES ("{}"),
                                         BYTES ("news"),
                                         BYTES ("pub1"),
                                         BYTES ("")};
    struct plan_fields fields = {.schedule = {.type = SCHEDULE_NONE}};
    struct message request, message;
    struct reason reason;
    struct plan_texts texts = {0};
    assert_int_equal (message_read (frames, ROWS (frames), &request, &reason), 0);
    struct plan *plan = plan_new_submitted (0x1f, &request, span_text (""), &fields, 1);
    plan->plan_time = 1;
    plan->exec_id = 0xabc;
    plan_dispatch_message (plan, &by_frame, 301, &texts, &message);
    const struct span wanted[] = {
        BYTES ("*1f"),  BYTES ("\6\3\1*T\5\6\x8\0"),
        BYTES ("001F"), BYTES ("news"),
        BYTES (""),     span_of (texts.plan_json.bytes, texts.plan_json.size),
        BYTES ("1"),    BYTES ("abc")};
    check_frames ("dispatch with GLOBAL_ID", &message, wanted, ROWS (wanted));
    free (texts.plan_json.bytes);
    plan_destroy (&plan);
}

// Numbers of submitted frames, including PLAN and STATION_ID (and GLOBAL_ID).
static const struct fits_row {
    const char *name;
    size_t count;
    bool global_id, fits;
} fits_rows[] = {
    {"three frames", 3, false, true},
    {"30 frames: 28 sent on, 4 added", 30, false, true},
    {"31 frames: 29 sent on, 4 added", 31, false, false},
    {"31 frames with GLOBAL_ID: 29 sent on, 3 added", 31, true, true},
    {"32 frames with GLOBAL_ID: 30 sent on, 3 added", 32, true, false},
    {"32 frames", 32, false, false},
};

static void dispatch_fits_into_32_frames (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (fits_rows); i++) {
        const struct fits_row *row = &fits_rows[i];
        struct desc desc = {.code = ZERO_BYTE_COMMAND_PLAN};
        desc_add (&desc, ZERO_FRAME_PLAN);
        desc_add (&desc, ZERO_FRAME_STATION_ID);
        if (row->global_id)
            desc_add (&desc, ZERO_FRAME_GLOBAL_ID);
        while (desc.count < row->count)
            desc_add (&desc, ZERO_FRAME_ARG);
        CHECK (row->name, plan_dispatch_fits (&desc, &by_frame) == row->fits);
    }
}

// -- the broadcast

static void broadcast_json_is_byte_exact (void **state)
{
    (void)state;
    struct plan *plan = sample_plan_run ();
    char *text = plan_public_text (plan);
    assert_string_equal (text, "{" PUBLIC_FIELDS "}");
    struct json_text room = {0};
    const char *json = plan_broadcast_json (text, 7, "65f0a1", &room);
    assert_string_equal (json, "{" PUBLIC_FIELDS ",\"seq\":7,\"epoch\":\"65f0a1\"}");
    json = plan_broadcast_json (text, INT64_MAX, "", &room);
    assert_string_equal (json, "{" PUBLIC_FIELDS ",\"seq\":9223372036854775807,\"epoch\":\"\"}");
    free (room.bytes);
    free (text);
    plan_destroy (&plan);
}

// -- names

static const struct station_row {
    struct span name;
    bool good;
} station_rows[] = {
    {BYTES ("a"), true},
    {BYTES ("API-1_x.y"), true},
    {BYTES ("0123456789012345678901234567890123456789012345678901234567890123"), true},
    {BYTES ("01234567890123456789012345678901234567890123456789012345678901234"), false},
    {BYTES (""), false},
    {BYTES ("a b"), false},
    {BYTES ("a:b"), false},
    {BYTES ("a\0"), false},
    {BYTES ("a/b"), false},
    {BYTES ("*"), false},
    {BYTES ("@"), false},
    {BYTES ("["), false},
    {BYTES ("`"), false},
    {BYTES ("{"), false},
    {BYTES ("\xc3\xa9"), false},
    {BYTES ("\xe1"), false},
    {BYTES ("a\n"), false},
};

static void station_names_are_plain (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (station_rows); i++)
        CHECK (quoted (station_rows[i].name),
               station_name_valid (station_rows[i].name) == station_rows[i].good);
}

static void state_names_go_there_and_back (void **state)
{
    (void)state;
    static const char *const names[] = {"none", "queue", "execute", "retry",
                                        "skip", "pause", "error",   "close"};
    assert_int_equal (ROWS (names), PLAN_STATES);
    for (int i = 0; i < PLAN_STATES; i++) {
        assert_string_equal (plan_state_name ((enum plan_state)i), names[i]);
        assert_int_equal (plan_state_parse (names[i]), i);
    }
    assert_int_equal (plan_state_parse ("Queue"), -1);
    assert_int_equal (plan_state_parse (""), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (submitted_plan_keeps_what_was_sent),
        cmocka_unit_test (submitted_plan_can_be_numbered_anew),
        cmocka_unit_test (stored_json_has_the_fields_of_the_protocol),
        cmocka_unit_test (stored_json_begins_with_its_head),
        cmocka_unit_test (public_json_has_the_order_of_the_protocol),
        cmocka_unit_test (stored_json_comes_back_as_it_was),
        cmocka_unit_test (a_counter_at_its_bound_stays_readable),
        cmocka_unit_test (rare_fields_are_written_when_they_are_set),
        cmocka_unit_test (stored_json_edited_by_hand_is_checked),
        cmocka_unit_test (stored_no_keep_is_a_flag),
        cmocka_unit_test (stored_json_that_is_no_plan_is_refused),
        cmocka_unit_test (stored_json_cut_anywhere_is_refused),
        cmocka_unit_test (stored_json_with_broken_bytes_is_read_or_refused),
        cmocka_unit_test (what_is_written_is_read_without_a_tree),
        cmocka_unit_test (earlier_versions_are_read_without_a_tree),
        cmocka_unit_test (edited_texts_are_read_in_both_ways_alike),
        cmocka_unit_test (dispatch_is_byte_exact),
        cmocka_unit_test (dispatch_keeps_the_clients_global_id),
        cmocka_unit_test (dispatch_fits_into_32_frames),
        cmocka_unit_test (broadcast_json_is_byte_exact),
        cmocka_unit_test (station_names_are_plain),
        cmocka_unit_test (state_names_go_there_and_back),
    };
    return cmocka_run_group_tests_name ("plan", tests, NULL, NULL);
}
