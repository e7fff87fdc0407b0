// The vectors of proto/vectors, as far as they need no station: every number, descriptions and
// envelopes, PLAN frames, stored plans and what they are sent as, votes. Source: proto/.
#include "ballot.h"
#include "codes.h"
#include "dialect.h"
#include "ident.h"
#include "json.h"
#include "pack.h"
#include "pack_write.h"
#include "plan_json.h"
#include "plan_message.h"
#include "rows.h"
#include "status.h"

// -- files

static json_t *load (const char *name)
{
    char path[512];
    json_error_t error;
    snprintf (path, sizeof path, "%s/%s", VECTORS, name);
    json_t *file = json_load_file (path, JSON_REJECT_DUPLICATES, &error);
    if (!file)
        fail_msg ("%s:%d: %s", path, error.line, error.text);
    return file;
}

static const char *text_at (const json_t *object, const char *field)
{
    const char *text = json_string_value (json_object_get (object, field));
    return text ? text : "";
}

static struct span span_at (const json_t *object, const char *field)
{
    const json_t *text = json_object_get (object, field);
    return span_of (json_string_value (text), json_string_length (text));
}

static int digit (char character)
{
    const char *digits = "0123456789abcdef";
    const char *found = strchr (digits, character);
    if (!character || !found)
        fail_msg ("'%c' is no hex digit", character);
    return (int)(found - digits);
}

// Bytes of the vectors, freed at the end of the test.
struct kept {
    struct kept *next;
    uint8_t bytes[];
};

static struct kept *all_kept;

static int free_kept (void **state)
{
    (void)state;
    while (all_kept) {
        struct kept *next = all_kept->next;
        free (all_kept);
        all_kept = next;
    }
    return 0;
}

// Read a frame: hex digits, or {"text": "..."}.
static struct span frame_of (const json_t *value)
{
    const json_t *text = json_object_get (value, "text");
    const char *hex = json_string_value (value);
    size_t size = text ? json_string_length (text) : json_string_length (value) / 2;
    assert_true (text || hex);
    struct kept *kept = malloc (sizeof *kept + size);
    assert_non_null (kept);
    kept->next = all_kept;
    all_kept = kept;
    if (text)
        memcpy (kept->bytes, json_string_value (text), size);
    for (size_t i = 0; !text && i < size; i++)
        kept->bytes[i] = (uint8_t)(digit (hex[2 * i]) << 4 | digit (hex[2 * i + 1]));
    return span_of (kept->bytes, size);
}

enum { FRAMES = 64 };

static size_t frames_of (const json_t *list, struct span out[FRAMES])
{
    size_t count = json_array_size (list);
    assert_true (count <= FRAMES);
    for (size_t i = 0; i < count; i++)
        out[i] = frame_of (json_array_get (list, i));
    return count;
}

static int byte_at (const json_t *object, const char *field)
{
    const json_t *value = json_object_get (object, field);
    return json_is_null (value) ? -1 : *frame_of (value).data;
}

// -- numbers

struct number {
    const char *name;
    int zeronet, microzero;
    const char *word;
};

static const struct number commands[] = {
#define ZPLAN_COMMAND(name, value, word) {#name, value, value, word},
#include "zplan_codes.def"
};

static const struct number statuses[] = {
#define ZPLAN_STATUS(name, zeronet, microzero, word) {#name, zeronet, microzero, word},
#include "zplan_codes.def"
};

static const struct number frame_types[] = {
#define ZPLAN_FRAME(name, zeronet, microzero, word) {#name, zeronet, microzero, word},
#include "zplan_codes.def"
};

static const struct number *number_named (const struct number *numbers, size_t count,
                                          const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp (numbers[i].name, name) == 0)
            return &numbers[i];
    fail_msg ("%s: there is no such number", name);
    return NULL;
}

static void numbers_are_those_of_the_vectors (void **state)
{
    (void)state;
    size_t i;
    json_t *codes = load ("codes.json"), *row;
    const json_t *list = json_object_get (codes, "commands");
    assert_int_equal (json_array_size (list), ROWS (commands));
    json_array_foreach ((json_t *)list, i, row)
    {
        const char *name = text_at (row, "name");
        CHECK_INT (name, number_named (commands, ROWS (commands), name)->zeronet,
                   byte_at (row, "byte"));
    }
    list = json_object_get (codes, "statuses");
    assert_int_equal (json_array_size (list), ROWS (statuses));
    json_array_foreach ((json_t *)list, i, row)
    {
        const char *name = text_at (row, "name");
        const struct number *number = number_named (statuses, ROWS (statuses), name);
        CHECK_INT (name, number->zeronet, byte_at (row, "zeronet"));
        CHECK_INT (name, number->microzero, byte_at (row, "microzero"));
        CHECK_TEXT (name, status_word ((uint8_t)number->zeronet), text_at (row, "word"));
    }
    list = json_object_get (codes, "frames");
    assert_int_equal (json_array_size (list), ROWS (frame_types));
    json_array_foreach ((json_t *)list, i, row)
    {
        const char *name = text_at (row, "name");
        CHECK_INT (name, number_named (frame_types, ROWS (frame_types), name)->zeronet,
                   byte_at (row, "byte"));
        CHECK_TEXT (name, frame_name ((uint8_t)byte_at (row, "byte")), name);
    }
    assert_int_equal (byte_at (codes, "error_flag"), ZERO_STATUS_ERROR_FLAG);
    json_decref (codes);
}

static void names_are_those_of_the_vectors (void **state)
{
    (void)state;
    json_t *codes = load ("codes.json");
    const json_t *states = json_object_get (codes, "states");
    const json_t *types = json_object_get (codes, "plan_types");
    assert_int_equal (json_array_size (states), PLAN_STATES);
    assert_int_equal (json_array_size (types), SCHEDULE_TYPES);
    for (int i = 0; i < PLAN_STATES; i++)
        assert_string_equal (plan_state_name ((enum plan_state)i),
                             json_string_value (json_array_get (states, (size_t)i)));
    for (int i = 0; i < SCHEDULE_TYPES; i++)
        assert_string_equal (schedule_type_name ((enum schedule_type)i),
                             json_string_value (json_array_get (types, (size_t)i)));
    json_decref (codes);
}

static void statuses_are_turned_as_the_vectors_say (void **state)
{
    (void)state;
    json_t *codes = load ("codes.json");
    struct span in = frame_of (json_object_get (codes, "turned_in"));
    struct span out = frame_of (json_object_get (codes, "turned_out"));
    assert_true (in.size == 256 && out.size == 256);
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf (name, sizeof name, "%02x", (unsigned)i);
        CHECK_INT (name, dialect_status_in (DIALECT_MICROZERO, (uint8_t)i), in.data[i]);
        CHECK_INT (name, dialect_status_out (DIALECT_MICROZERO, (uint8_t)i), out.data[i]);
        CHECK_INT (name, dialect_status_in (DIALECT_ZERONET, (uint8_t)i),
                   i ? i : ZERO_STATUS_ERROR_ID);
        CHECK_INT (name, dialect_status_out (DIALECT_ZERONET, (uint8_t)i), i);
        // A number that is no status of MicroZero becomes ERROR, and so does a bug in a worker.
        bool defect = i == 0xD0 || i == 0xF0;
        CHECK (name, dialect_status_known (DIALECT_MICROZERO, (uint8_t)i) ==
                         (in.data[i] != ZERO_STATUS_ERROR_ID || defect));
        CHECK (name, dialect_status_known (DIALECT_ZERONET, (uint8_t)i) ==
                         (i && status_name ((uint8_t)i) != NULL));
    }
    json_decref (codes);
}

// -- framing

static const char *const envelope_names[] = {[ENVELOPE_PLAIN] = "plain",
                                             [ENVELOPE_REQ] = "req",
                                             [ENVELOPE_CALLER] = "caller",
                                             [ENVELOPE_MAILBOX] = "mailbox"};

static void check_framing (const json_t *vector, const struct span *frames, size_t count)
{
    struct message message;
    struct reason reason = {""};
    const char *name = text_at (vector, "name"), *verdict = text_at (vector, "verdict");
    int rc = message_read (frames, count, &message, &reason);
    bool silent =
        message.envelope == ENVELOPE_MAILBOX || message.desc.code >= ZERO_STATUS_ERROR_FLAG;
    CHECK_INT (name, silent, strcmp (verdict, "dropped") == 0);
    if (strcmp (verdict, "valid") == 0)
        CHECK_INT (name, rc, 0);
    else if (!silent)
        CHECK (name, (rc == ZPLAN_EFRAME && reason.text[0]) || message.desc.code == 0);
    if (json_object_get (vector, "envelope"))
        CHECK_TEXT (name, envelope_names[message.envelope], text_at (vector, "envelope"));
}

static void messages_are_told_as_the_vectors_say (void **state)
{
    (void)state;
    size_t i;
    struct span frames[FRAMES + 1];
    json_t *file = load ("description.json"), *vector;
    json_array_foreach (json_object_get (file, "descriptions"), i, vector)
    {
        frames[0] = frame_of (json_object_get (vector, "description"));
        size_t count = frames_of (json_object_get (vector, "frames"), frames + 1);
        check_framing (vector, frames, count + 1);
    }
    json_array_foreach (json_object_get (file, "envelopes"), i, vector)
    {
        check_framing (vector, frames, frames_of (json_object_get (vector, "frames"), frames));
    }
    json_decref (file);
}

// A message that a station sent in a vector, read and written again, must be the same.
static void check_step (const json_t *step)
{
    struct span frames[FRAMES], written[MESSAGE_FRAMES_MAX];
    struct message message;
    struct reason reason;
    uint8_t desc[DESC_SIZE_MAX];
    size_t count = frames_of (json_object_get (step, "frames"), frames);
    char *name = json_dumps (json_object_get (step, "frames"), JSON_COMPACT);
    CHECK_INT (name, message_read (frames, count, &message, &reason), 0);
    if (strcmp (text_at (step, "from"), "station") == 0) {
        CHECK_INT (name, message_layout (&message, desc, written), count);
        for (size_t i = 0; i < count; i++)
            CHECK (name, span_equal (written[i], frames[i]));
    }
    free (name);
}

static void stories_are_made_of_messages (void **state)
{
    (void)state;
    static const char *const files[] = {"broadcasts.json", "dispatch.json", "management.json",
                                        "votes.json"};
    for (size_t file = 0; file < ROWS (files); file++) {
        size_t i, j;
        json_t *vectors = load (files[file]), *story, *step;
        assert_true (json_array_size (json_object_get (vectors, "stories")) > 0);
        json_array_foreach (json_object_get (vectors, "stories"), i, story)
        {
            json_array_foreach (json_object_get (story, "steps"), j, step)
            {
                check_step (step);
            }
        }
        json_decref (vectors);
    }
}

// -- PLAN frames

static int64_t number_at (const json_t *fields, const char *name)
{
    return json_integer_value (json_object_get (fields, name));
}

static void check_fields (const char *name, const struct plan_fields *got, const json_t *want)
{
    CHECK_INT (name, got->schedule.type, number_at (want, "plan_type"));
    CHECK_INT (name, got->schedule.value, number_at (want, "plan_value"));
    CHECK_INT (name, got->schedule.repeat, number_at (want, "plan_repet"));
    CHECK_INT (name, got->schedule.base_time, number_at (want, "plan_time"));
    CHECK_INT (name, got->schedule.keep, json_is_true (json_object_get (want, "no_keep")));
    CHECK_INT (name, got->skip_set, number_at (want, "skip_set"));
    CHECK (name, span_equal (span_of (got->description, got->description_size),
                             span_at (want, "description")));
    const json_t *hold = json_object_get (want, "hold");
    CHECK_INT (name, got->hold,
               json_is_string (hold) ? HOLD_PAUSED
               : json_is_true (hold) ? HOLD_MARKED
                                     : HOLD_NONE);
    json_t *vote = vote_rule_write (&got->vote);
    CHECK (name, vote == json_object_get (want, "vote") ||
                     json_equal (vote, json_object_get (want, "vote")));
    json_decref (vote);
    const char *field;
    json_t *value;
    size_t said = 0;
    json_object_foreach ((json_t *)want, field, value)
    {
        const json_t *own = got->policy ? json_object_get (got->policy->fields, field) : NULL;
        CHECK (name, !policy_field (field) || json_equal ((json_t *)own, value));
        said += policy_field (field);
    }
    CHECK_INT (name, got->policy ? json_object_size (got->policy->fields) : 0, said);
}

static bool names_field (const struct reason *reason, const char *field)
{
    size_t size = strlen (field);
    return strncmp (reason->text, field, size) == 0 && reason->text[size] == ':';
}

static void plan_frames_are_read_as_the_vectors_say (void **state)
{
    (void)state;
    size_t i;
    json_t *file = load ("plan_frames.json"), *vector;
    json_array_foreach (json_object_get (file, "frames"), i, vector)
    {
        struct plan_fields fields;
        struct reason reason = {""};
        const char *name = text_at (vector, "name");
        struct span frame = frame_of (json_object_get (vector, "frame"));
        uint8_t *exact = exact_bytes (frame);
        int rc =
            plan_frame_parse (span_of (exact, frame.size), &plan_limits_default, &fields, &reason);
        free (exact);
        if (strcmp (text_at (vector, "verdict"), "valid") == 0) {
            CHECK_TEXT (name, reason.text, "");
            CHECK_INT (name, rc, 0);
            check_fields (name, &fields, json_object_get (vector, "fields"));
            plan_fields_clear (&fields);
        } else {
            CHECK_INT (name, rc, ZPLAN_EPLAN);
            if (!names_field (&reason, text_at (vector, "field")))
                CHECK_TEXT (name, reason.text, text_at (vector, "field"));
        }
    }
    json_decref (file);
}

// -- stored plans

// "plan:msg:STATION:ID"
static uint64_t key_of (const json_t *vector, struct span *ret_station)
{
    uint64_t id = 0;
    const char *start = text_at (vector, "key") + strlen ("plan:msg:");
    const char *colon = strchr (start, ':');
    assert_true (colon && ident_parse (span_text (colon + 1), &id));
    *ret_station = span_of (start, (size_t)(colon - start));
    return id;
}

static void check_written (const json_t *vector, const struct plan *plan)
{
    size_t size;
    char *text = plan_stored_text (plan, &size);
    const char *written = json_object_get (vector, "written") ? "written" : "text";
    CHECK_TEXT (text_at (vector, "name"), text, text_at (vector, written));
    free (text);
}

static void check_message (const json_t *vector)
{
    static const struct dispatch_way plain = {.key = ""};
    struct reason reason = {""};
    struct due due = {.exec_id = 7, .way = &plain, .now = 1795227062};
    const char *name = text_at (vector, "name"), *verdict = text_at (vector, "verdict");
    uint64_t id = key_of (vector, &due.key_station);
    struct plan *plan = plan_from_stored_json (id, span_at (vector, "text"), &reason);
    if (strcmp (verdict, "unreadable") == 0) {
        CHECK (name, !plan);
        CHECK (name, names_field (&reason, text_at (vector, "field")));
        return;
    }
    CHECK_TEXT (name, plan ? "" : reason.text, "");
    if (strcmp (verdict, "readable") == 0) {
        check_written (vector, plan);
    } else {
        struct decision decision = engine_due (plan, &due, &reason);
        CHECK (name, !decision.send && decision.commit == COMMIT_PARK && reason.text[0]);
        CHECK_INT (name, plan->last_state, ZERO_STATUS_FRAME_PLANERROR_ID);
        CHECK_INT (name, plan->state, PLAN_ERROR);
    }
    plan_destroy (&plan);
}

static void stored_plans_are_read_as_the_vectors_say (void **state)
{
    (void)state;
    size_t i;
    json_t *file = load ("redis.json"), *vector;
    json_array_foreach (json_object_get (file, "messages"), i, vector)
    {
        check_message (vector);
    }
    json_decref (file);
}

static void history_records_are_those_of_the_vectors (void **state)
{
    (void)state;
    size_t i, size;
    json_t *file = load ("redis.json"), *vector;
    json_array_foreach (json_object_get (file, "records"), i, vector)
    {
        struct reason reason;
        struct span record = frame_of (json_object_get (vector, "record"));
        const json_t *says = json_object_get (vector, "says");
        json_t *read = pack_read_object (record, &reason);
        char *written = pack_write (says, &size);
        assert_true (read && json_equal (read, says));
        assert_true (span_equal (record, span_of (written, size)));
        free (written);
        json_decref (read);
    }
    json_decref (file);
}

// -- dispatches

static void check_way (const char *name, const struct plan *plan, int64_t deadline,
                       const json_t *vector)
{
    struct plan_texts texts = {0};
    struct message message;
    struct desc stored;
    struct reason reason;
    struct span want[FRAMES], got[MESSAGE_FRAMES_MAX];
    uint8_t desc[DESC_SIZE_MAX];
    const struct dispatch_way way = {.by_identity =
                                         strcmp (text_at (vector, "mailbox"), "identity") == 0,
                                     .key = text_at (vector, "key")};
    size_t count = frames_of (json_object_get (vector, "frames"), want);
    CHECK_INT (name, desc_parse (plan->messages[1], plan->message_count - 2, &stored, &reason), 0);
    CHECK (name, plan_dispatch_fits (&stored, &way));
    plan_dispatch_message (plan, &way, deadline, &texts, &message);
    CHECK_INT (name, message_layout (&message, desc, got), count);
    for (size_t i = 0; i < count; i++)
        if (!span_equal (got[i], want[i]))
            fail_msg ("%s, %s: frame %zu: want %s, got %s", name, text_at (vector, "mailbox"), i,
                      quoted (want[i]), quoted (got[i]));
    free (texts.plan_json.bytes);
}

static void dispatches_are_those_of_the_vectors (void **state)
{
    (void)state;
    size_t i, j;
    json_t *file = load ("dispatch.json"), *vector, *way;
    json_array_foreach (json_object_get (file, "dispatches"), i, vector)
    {
        struct reason reason = {""};
        const char *name = text_at (vector, "name");
        json_t *stored = json_loads (text_at (vector, "stored"), 0, NULL);
        struct plan *plan = plan_from_stored_json ((uint64_t)number_at (stored, "plan_id"),
                                                   span_at (vector, "stored"), &reason);
        CHECK_TEXT (name, plan ? "" : reason.text, "");
        json_array_foreach (json_object_get (vector, "ways"), j, way)
        {
            check_way (name, plan, number_at (vector, "deadline"), way);
        }
        plan_destroy (&plan);
        json_decref (stored);
    }
    json_decref (file);
}

// -- votes

// Count a message in its vote, by the rules of README 7.5 that the engine does not have. False: it
// has no effect.
static bool count (struct ballot *ballot, const struct message *message, struct vote_tally *ret)
{
    bool named, counted = true;
    uint8_t code = message->desc.code;
    struct span voter = message_last_frame (message, ZERO_FRAME_RESPONSER, &named);
    enum poll event = named ? POLL_VOTE : POLL_NONE;
    if (code == ZERO_STATUS_VOTE_START_ID)
        event = POLL_OPENED;
    else if (code == ZERO_STATUS_VOTE_END_ID || code == ZERO_STATUS_VOTE_CLOSED_ID)
        event = POLL_CLOSED;
    else if (code == ZERO_STATUS_RUNING_ID || code == ZERO_STATUS_WAITING_ID ||
             code == ZERO_STATUS_VOTE_SENDED_ID)
        event = POLL_NONE;
    if (event == POLL_OPENED)
        ballot_open (ballot, message_frame (message, ZERO_FRAME_JSON, NULL));
    else if (event == POLL_VOTE)
        counted = ballot_cast (ballot, voter, ballot_in_favour (code), 0);
    *ret = event == POLL_NONE ? (struct vote_tally){.event = event} : ballot_tally (ballot, event);
    return counted;
}

// The status that the vote ended with; 0: it has not ended.
static int vote_step (struct plan *plan, struct run *run, struct ballot *ballot, const json_t *step)
{
    struct span frames[FRAMES];
    struct message message = {.desc = {.code = ZERO_STATUS_TIMEOUT_ID}};
    struct reason reason;
    struct answer answer = {.on_connection = true, .target = TARGET_VOTE};
    if (json_object_get (step, "frames")) {
        size_t size = frames_of (json_object_get (step, "frames"), frames);
        assert_int_equal (message_read (frames, size, &message, &reason), 0);
        if (!count (ballot, &message, &answer.tally))
            return 0;
    } else {
        answer.tally = ballot_tally (ballot, POLL_TIMEOUT);
    }
    answer.status = message.desc.code;
    struct decision decision = engine_answer (plan, run, &answer, NULL, 1795227062);
    assert_true (decision.commit == COMMIT_LEASE || decision.close_poll);
    return decision.commit == COMMIT_LEASE ? 0 : plan->last_state;
}

static void check_vote (const json_t *vector)
{
    size_t i;
    json_t *step;
    struct reason reason;
    struct run run = {.exec_id = 7};
    struct ballot *ballot = ballot_new ();
    struct plan *plan = plan_new (0);
    const char *name = text_at (vector, "name");
    CHECK (name, vote_rule_read (json_object_get (vector, "vote"), &plan->vote, &reason));
    json_array_foreach (json_object_get (vector, "steps"), i, step)
    {
        bool goes_on = strcmp (text_at (step, "then"), "goes on") == 0;
        CHECK_INT (name, vote_step (plan, &run, ballot, step),
                   goes_on ? 0 : byte_at (step, "then"));
    }
    plan_destroy (&plan);
    ballot_destroy (&ballot);
}

static void votes_end_as_the_vectors_say (void **state)
{
    (void)state;
    size_t i;
    json_t *file = load ("votes.json"), *vector;
    json_array_foreach (json_object_get (file, "rules"), i, vector)
    {
        check_vote (vector);
    }
    json_decref (file);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown (numbers_are_those_of_the_vectors, free_kept),
        cmocka_unit_test_teardown (names_are_those_of_the_vectors, free_kept),
        cmocka_unit_test_teardown (statuses_are_turned_as_the_vectors_say, free_kept),
        cmocka_unit_test_teardown (messages_are_told_as_the_vectors_say, free_kept),
        cmocka_unit_test_teardown (stories_are_made_of_messages, free_kept),
        cmocka_unit_test_teardown (plan_frames_are_read_as_the_vectors_say, free_kept),
        cmocka_unit_test_teardown (stored_plans_are_read_as_the_vectors_say, free_kept),
        cmocka_unit_test_teardown (history_records_are_those_of_the_vectors, free_kept),
        cmocka_unit_test_teardown (dispatches_are_those_of_the_vectors, free_kept),
        cmocka_unit_test_teardown (votes_end_as_the_vectors_say, free_kept),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
