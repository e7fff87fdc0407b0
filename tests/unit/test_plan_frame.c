// The PLAN frame: a row for every rule about its fields, and the reason of each rejection, as JSON
// and as msgpack. Source: proto 5.2.
#include "pack_write.h"
#include "plan_frame.h"
#include "rows.h"
#include "status.h"

// The msgpack form of a JSON text; free () it. NULL: the text is no JSON.
static uint8_t *packed (struct span text, size_t *ret_size)
{
    json_t *value = json_loadb ((const char *)text.data, text.size,
                                JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    if (!value)
        return NULL;
    char *written = pack_write (value, ret_size);
    uint8_t *bytes = exact_bytes (span_of (written, *ret_size));
    free (written);
    json_decref (value);
    return bytes;
}

// -- the two ways

static bool same_fields (const struct plan_fields *a, const struct plan_fields *b)
{
    return span_equal (span_of (a->description, a->description_size),
                       span_of (b->description, b->description_size)) &&
           a->schedule.type == b->schedule.type && a->schedule.value == b->schedule.value &&
           a->schedule.repeat == b->schedule.repeat && a->schedule.keep == b->schedule.keep &&
           a->schedule.base_time == b->schedule.base_time &&
           a->schedule.received == b->schedule.received && a->skip_set == b->skip_set &&
           a->vote.need == b->vote.need && a->vote.count == b->vote.count &&
           a->vote.deadline_s == b->vote.deadline_s;
}

// A frame that plan_frame_scan accepts, plan_frame_parse_tree must read alike. Returns whether the
// first accepted it.
static bool check_ways (const char *name, struct span frame, const struct plan_limits *limits)
{
    struct plan_fields scanned, parsed;
    struct reason reason = {""};
    uint8_t *bytes = exact_bytes (frame);
    frame.data = bytes;
    memset (&scanned, 0xA5, sizeof scanned); // nothing is left as it was
    memset (&parsed, 0x5A, sizeof parsed);
    bool taken = plan_frame_scan (frame, limits, &scanned);
    int rc = plan_frame_parse_tree (frame, limits, &parsed, &reason);
    CHECK (name, !taken || rc == 0);
    CHECK (name, !taken || same_fields (&scanned, &parsed));
    free (bytes);
    return taken;
}

// -- what is taken

// clang-format off
static const struct good_row {
    const char *name, *text;
    struct schedule schedule;
    int64_t skip_set;
    const char *description;
} good_rows[] = {
    {"none", "{\"plan_type\":0}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
    {"none by name", "{\"plan_type\":\"none\"}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
    {"none, repeat 0", "{\"plan_type\":0,\"plan_repet\":0}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
    {"none, repeat 9", "{\"plan_type\":0,\"plan_repet\":9}", {SCHEDULE_NONE, 0, 9, false, 0, 0}, 0, ""},
    {"none, repeat -1", "{\"plan_type\":0,\"plan_repet\":-1}", {SCHEDULE_NONE, 0, -1, false, 0, 0}, 0, ""},
    {"none, repeat -2", "{\"plan_type\":0,\"plan_repet\":-2}", {SCHEDULE_NONE, 0, -2, false, 0, 0}, 0, ""},
    {"time", "{\"plan_type\":1,\"plan_time\":1}", {SCHEDULE_TIME, 0, 0, false, 1, 0}, 0, ""},
    {"time by name", "{\"plan_type\":\"time\",\"plan_time\":1,\"plan_repet\":0}", {SCHEDULE_TIME, 0, 0, false, 1, 0}, 0, ""},
    {"second", "{\"plan_type\":2,\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_SECOND, 1, 1, false, 0, 0}, 0, ""},
    {"minute", "{\"plan_type\":3,\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_MINUTE, 1, 1, false, 0, 0}, 0, ""},
    {"hour", "{\"plan_type\":4,\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_HOUR, 1, 1, false, 0, 0}, 0, ""},
    {"day", "{\"plan_type\":5,\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_DAY, 1, 1, false, 0, 0}, 0, ""},
    {"week", "{\"plan_type\":6,\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_WEEK, 1, 1, false, 0, 0}, 0, ""},
    {"month", "{\"plan_type\":7,\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_MONTH, 1, 1, false, 0, 0}, 0, ""},
    {"second by name", "{\"plan_type\":\"second\",\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_SECOND, 1, 1, false, 0, 0}, 0, ""},
    {"minute by name", "{\"plan_type\":\"minute\",\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_MINUTE, 1, 1, false, 0, 0}, 0, ""},
    {"hour by name", "{\"plan_type\":\"hour\",\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_HOUR, 1, 1, false, 0, 0}, 0, ""},
    {"day by name", "{\"plan_type\":\"day\",\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_DAY, 1, 1, false, 0, 0}, 0, ""},
    {"week by name", "{\"plan_type\":\"week\",\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_WEEK, 1, 1, false, 0, 0}, 0, ""},
    {"month by name", "{\"plan_type\":\"month\",\"plan_value\":1,\"plan_repet\":1}", {SCHEDULE_MONTH, 1, 1, false, 0, 0}, 0, ""},
    {"any order", "{\"plan_repet\":3,\"plan_value\":2,\"plan_type\":2}", {SCHEDULE_SECOND, 2, 3, false, 0, 0}, 0, ""},
    {"interval 0", "{\"plan_type\":2,\"plan_value\":0,\"plan_repet\":3}", {SCHEDULE_SECOND, 0, 3, false, 0, 0}, 0, ""},
    {"greatest interval", "{\"plan_type\":5,\"plan_value\":32766,\"plan_repet\":3}", {SCHEDULE_DAY, 32766, 3, false, 0, 0}, 0, ""},
    {"Sunday is 0", "{\"plan_type\":6,\"plan_value\":0,\"plan_repet\":3}", {SCHEDULE_WEEK, 0, 3, false, 0, 0}, 0, ""},
    {"Saturday is 6", "{\"plan_type\":6,\"plan_value\":6,\"plan_repet\":3}", {SCHEDULE_WEEK, 6, 3, false, 0, 0}, 0, ""},
    {"7 is taken as Sunday", "{\"plan_type\":6,\"plan_value\":7,\"plan_repet\":3}", {SCHEDULE_WEEK, 0, 3, false, 0, 0}, 0, ""},
    {"month -31", "{\"plan_type\":7,\"plan_value\":-31,\"plan_repet\":3}", {SCHEDULE_MONTH, -31, 3, false, 0, 0}, 0, ""},
    {"month 0", "{\"plan_type\":7,\"plan_value\":0,\"plan_repet\":3}", {SCHEDULE_MONTH, 0, 3, false, 0, 0}, 0, ""},
    {"month 31", "{\"plan_type\":7,\"plan_value\":31,\"plan_repet\":3}", {SCHEDULE_MONTH, 31, 3, false, 0, 0}, 0, ""},
    {"for ever", "{\"plan_type\":2,\"plan_value\":1,\"plan_repet\":-1}", {SCHEDULE_SECOND, 1, -1, false, 0, 0}, 0, ""},
    {"greatest repeat", "{\"plan_type\":2,\"plan_value\":1,\"plan_repet\":2147483647}", {SCHEDULE_SECOND, 1, INT32_MAX, false, 0, 0}, 0, ""},
    {"no_keep", "{\"plan_type\":0,\"no_keep\":true}", {SCHEDULE_NONE, 0, 0, true, 0, 0}, 0, ""},
    {"no_keep false", "{\"plan_type\":0,\"no_keep\":false}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
    {"no_skip is no_keep", "{\"plan_type\":0,\"no_skip\":true}", {SCHEDULE_NONE, 0, 0, true, 0, 0}, 0, ""},
    {"plan_time 0", "{\"plan_type\":2,\"plan_value\":1,\"plan_repet\":1,\"plan_time\":0}", {SCHEDULE_SECOND, 1, 1, false, 0, 0}, 0, ""},
    {"last plan_time", "{\"plan_type\":1,\"plan_time\":253402300799}", {SCHEDULE_TIME, 0, 0, false, SCHEDULE_TIME_MAX, 0}, 0, ""},
    {"plan_time as text", "{\"plan_type\":1,\"plan_time\":\"2026-01-01T00:00:00Z\"}", {SCHEDULE_TIME, 0, 0, false, 1767225600, 0}, 0, ""},
    {"plan_time with an offset", "{\"plan_type\":1,\"plan_time\":\"2026-01-01T08:00:00+08:00\"}", {SCHEDULE_TIME, 0, 0, false, 1767225600, 0}, 0, ""},
    {"last plan_time as text", "{\"plan_type\":1,\"plan_time\":\"9999-12-31T23:59:59Z\"}", {SCHEDULE_TIME, 0, 0, false, SCHEDULE_TIME_MAX, 0}, 0, ""},
    {"skip_set", "{\"plan_type\":2,\"plan_value\":1,\"plan_repet\":5,\"skip_set\":4}", {SCHEDULE_SECOND, 1, 5, false, 0, 0}, 4, ""},
    {"skip_set 0", "{\"plan_type\":0,\"skip_set\":0}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
    {"skip_set of weeks for ever", "{\"plan_type\":6,\"plan_value\":1,\"plan_repet\":-1,\"skip_set\":2147483647}", {SCHEDULE_WEEK, 1, -1, false, 0, 0}, INT32_MAX, ""},
    {"skip_set of a plan for ever", "{\"plan_type\":2,\"plan_value\":1,\"plan_repet\":-1,\"skip_set\":2147483647}", {SCHEDULE_SECOND, 1, -1, false, 0, 0}, INT32_MAX, ""},
    {"description", "{\"plan_type\":0,\"description\":\"say \\u00e9\\n\"}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, "say \xc3\xa9\n"},
    {"empty description", "{\"plan_type\":0,\"description\":\"\"}", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
    {"space around", " {\"plan_type\" : 0 } \n", {SCHEDULE_NONE, 0, 0, false, 0, 0}, 0, ""},
};
// clang-format on

static void check_good (const struct good_row *row, struct span frame)
{
    struct plan_fields fields;
    struct reason reason = {""};
    int rc = plan_frame_parse (frame, &plan_limits_default, &fields, &reason);
    CHECK_TEXT (row->name, reason.text, "");
    CHECK_INT (row->name, rc, 0);
    CHECK_INT (row->name, fields.schedule.type, row->schedule.type);
    CHECK_INT (row->name, fields.schedule.value, row->schedule.value);
    CHECK_INT (row->name, fields.schedule.repeat, row->schedule.repeat);
    CHECK_INT (row->name, fields.schedule.keep, row->schedule.keep);
    CHECK_INT (row->name, fields.schedule.base_time, row->schedule.base_time);
    CHECK_INT (row->name, fields.skip_set, row->skip_set);
    CHECK (row->name,
           span_is (span_of (fields.description, fields.description_size), row->description));
    check_ways (row->name, frame, &plan_limits_default);
}

static void good_plan_frames_are_read (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (good_rows); i++) {
        uint8_t *text = exact_bytes (span_text (good_rows[i].text));
        check_good (&good_rows[i], span_of (text, strlen (good_rows[i].text)));
        free (text);
    }
}

static void good_plan_frames_are_read_as_msgpack (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (good_rows); i++) {
        size_t size = 0;
        uint8_t *bytes = packed (span_text (good_rows[i].text), &size);
        CHECK (good_rows[i].name, bytes != NULL);
        check_good (&good_rows[i], span_of (bytes, size));
        free (bytes);
    }
}

// -- what is refused

#define SECOND_1 "\"plan_type\":2,\"plan_value\":1"

// clang-format off
static const struct bad_row {
    const char *name;
    struct span text;
    const char *reason; // what it starts with
} bad_rows[] = {
    {"no plan_type", BYTES ("{}"), "plan_type: is missing"},
    {"no plan_type, the rest good", BYTES ("{\"plan_value\":1,\"plan_repet\":1}"), "plan_type: is missing"},
    {"plan_type 99", BYTES ("{\"plan_type\":99}"), "plan_type: want 0.."},
    {"plan_type -1", BYTES ("{\"plan_type\":-1}"), "plan_type: want 0.."},
    {"plan_type 2^32", BYTES ("{\"plan_type\":4294967296}"), "plan_type: want 0.."},
    {"plan_type real", BYTES ("{\"plan_type\":2.0}"), "plan_type: want 0.."},
    {"plan_type unknown name", BYTES ("{\"plan_type\":\"never\"}"), "plan_type: want 0.."},
    {"plan_type upper case", BYTES ("{\"plan_type\":\"NONE\"}"), "plan_type: want 0.."},
    {"plan_type number as text", BYTES ("{\"plan_type\":\"2\"}"), "plan_type: want 0.."},
    {"plan_type empty name", BYTES ("{\"plan_type\":\"\"}"), "plan_type: want 0.."},
    {"plan_type null", BYTES ("{\"plan_type\":null}"), "plan_type: want 0.."},
    {"plan_type true", BYTES ("{\"plan_type\":true}"), "plan_type: want 0.."},
    {"plan_value missing", BYTES ("{\"plan_type\":2,\"plan_repet\":1}"), "plan_value: is missing"},
    {"plan_value missing, month", BYTES ("{\"plan_type\":7,\"plan_repet\":1}"), "plan_value: is missing"},
    {"plan_value -1", BYTES ("{\"plan_type\":2,\"plan_value\":-1,\"plan_repet\":1}"), "plan_value: want 0..32766, got -1"},
    {"plan_value 32767", BYTES ("{\"plan_type\":3,\"plan_value\":32767,\"plan_repet\":1}"), "plan_value: want 0..32766, got 32767"},
    {"plan_value 40000", BYTES ("{\"plan_type\":4,\"plan_value\":40000,\"plan_repet\":1}"), "plan_value: want 0..32766, got 40000"},
    {"plan_value 2^32", BYTES ("{\"plan_type\":5,\"plan_value\":4294967296,\"plan_repet\":1}"), "plan_value: want 0..32766, got 4294967296"},
    {"plan_value of a week, 8", BYTES ("{\"plan_type\":6,\"plan_value\":8,\"plan_repet\":1}"), "plan_value: want 0..6, got 8"},
    {"plan_value of a week, -1", BYTES ("{\"plan_type\":6,\"plan_value\":-1,\"plan_repet\":1}"), "plan_value: want 0..6, got -1"},
    {"plan_value of a month, 32", BYTES ("{\"plan_type\":7,\"plan_value\":32,\"plan_repet\":1}"), "plan_value: want -31..31, got 32"},
    {"plan_value of a month, -32", BYTES ("{\"plan_type\":7,\"plan_value\":-32,\"plan_repet\":1}"), "plan_value: want -31..31, got -32"},
    {"plan_value text", BYTES ("{\"plan_type\":2,\"plan_value\":\"1\",\"plan_repet\":1}"), "plan_value: want an integer"},
    {"plan_value real", BYTES ("{\"plan_type\":2,\"plan_value\":1.0,\"plan_repet\":1}"), "plan_value: want an integer"},
    {"plan_value null", BYTES ("{\"plan_type\":2,\"plan_value\":null,\"plan_repet\":1}"), "plan_value: want an integer"},
    {"plan_repet missing", BYTES ("{" SECOND_1 "}"), "plan_repet: is missing"},
    {"plan_repet 0", BYTES ("{" SECOND_1 ",\"plan_repet\":0}"), "plan_repet: want -1 (for ever) or 1.."},
    {"plan_repet 0 of a week", BYTES ("{\"plan_type\":6,\"plan_value\":1,\"plan_repet\":0}"), "plan_repet: want -1 (for ever) or 1.."},
    {"plan_repet -2", BYTES ("{" SECOND_1 ",\"plan_repet\":-2}"), "plan_repet: want -1 (for ever) or 1.."},
    {"plan_repet 2^31", BYTES ("{" SECOND_1 ",\"plan_repet\":2147483648}"), "plan_repet: want -1 or 1.."},
    {"plan_repet 2^32 - 1 is not -1", BYTES ("{" SECOND_1 ",\"plan_repet\":4294967295}"), "plan_repet: want -1 or 1.."},
    {"plan_repet real", BYTES ("{" SECOND_1 ",\"plan_repet\":1.5}"), "plan_repet: want an integer"},
    {"plan_repet text", BYTES ("{" SECOND_1 ",\"plan_repet\":\"forever\"}"), "plan_repet: want an integer"},
    {"no_keep 1", BYTES ("{\"plan_type\":0,\"no_keep\":1}"), "no_keep: want true or false"},
    {"no_keep text", BYTES ("{\"plan_type\":0,\"no_keep\":\"true\"}"), "no_keep: want true or false"},
    {"no_keep null", BYTES ("{\"plan_type\":0,\"no_keep\":null}"), "no_keep: want true or false"},
    {"no_skip 0", BYTES ("{\"plan_type\":0,\"no_skip\":0}"), "no_skip: want true or false"},
    {"no_keep and no_skip", BYTES ("{\"plan_type\":0,\"no_keep\":true,\"no_skip\":false}"), "no_skip: is the same"},
    {"no_skip and no_keep, the same", BYTES ("{\"plan_type\":0,\"no_skip\":true,\"no_keep\":true}"), "no_skip: is the same"},
    {"time without plan_time", BYTES ("{\"plan_type\":1}"), "plan_time: is missing"},
    {"time with plan_time 0", BYTES ("{\"plan_type\":1,\"plan_time\":0}"), "plan_time: is missing"},
    {"plan_time -1", BYTES ("{\"plan_type\":1,\"plan_time\":-1}"), "plan_time: want Unix seconds"},
    {"plan_time year 10000", BYTES ("{\"plan_type\":1,\"plan_time\":253402300800}"), "plan_time: want Unix seconds"},
    {"plan_time int64 max", BYTES ("{\"plan_type\":1,\"plan_time\":9223372036854775807}"), "plan_time: want Unix seconds"},
    {"plan_time with a fraction", BYTES ("{\"plan_type\":1,\"plan_time\":1.5}"), "plan_time: want whole Unix seconds"},
    {"plan_time 1.0", BYTES ("{\"plan_type\":1,\"plan_time\":1.0}"), "plan_time: want whole Unix seconds"},
    {"plan_time exponent", BYTES ("{\"plan_type\":1,\"plan_time\":1e9}"), "plan_time: want whole Unix seconds"},
    {"plan_time true", BYTES ("{\"plan_type\":1,\"plan_time\":true}"), "plan_time: want whole Unix seconds"},
    {"plan_time null", BYTES ("{\"plan_type\":1,\"plan_time\":null}"), "plan_time: want whole Unix seconds"},
    {"plan_time text with a fraction", BYTES ("{\"plan_type\":1,\"plan_time\":\"2026-01-01T00:00:00.5Z\"}"), "plan_time: "},
    {"plan_time text without offset", BYTES ("{\"plan_type\":1,\"plan_time\":\"2026-01-01T00:00:00\"}"), "plan_time: "},
    {"plan_time a date only", BYTES ("{\"plan_type\":1,\"plan_time\":\"2026-01-01\"}"), "plan_time: "},
    {"plan_time February 30", BYTES ("{\"plan_type\":1,\"plan_time\":\"2026-02-30T00:00:00Z\"}"), "plan_time: "},
    {"plan_time before 1970", BYTES ("{\"plan_type\":1,\"plan_time\":\"1969-12-31T23:59:59Z\"}"), "plan_time: "},
    {"plan_time over 9999", BYTES ("{\"plan_type\":1,\"plan_time\":\"9999-12-31T23:59:59-00:01\"}"), "plan_time: "},
    {"plan_time empty text", BYTES ("{\"plan_type\":1,\"plan_time\":\"\"}"), "plan_time: "},
    {"plan_time seconds as text", BYTES ("{\"plan_type\":1,\"plan_time\":\"1767225600\"}"), "plan_time: "},
    {"skip_set -1", BYTES ("{" SECOND_1 ",\"plan_repet\":5,\"skip_set\":-1}"), "skip_set: want 0.."},
    {"skip_set 2^31", BYTES ("{" SECOND_1 ",\"plan_repet\":-1,\"skip_set\":2147483648}"), "skip_set: want 0.."},
    {"skip_set as plan_repet", BYTES ("{" SECOND_1 ",\"plan_repet\":5,\"skip_set\":5}"), "skip_set: want less than plan_repet (5), got 5"},
    {"skip_set before plan_repet", BYTES ("{\"skip_set\":6,\"plan_repet\":5," SECOND_1 "}"), "skip_set: want less than plan_repet (5), got 6"},
    {"skip_set of a plan that runs once", BYTES ("{\"plan_type\":0,\"plan_repet\":5,\"skip_set\":1}"), "skip_set: want less than plan_repet (1), got 1"},
    {"skip_set of a plan with time", BYTES ("{\"plan_type\":1,\"plan_time\":1,\"plan_repet\":-1,\"skip_set\":1}"), "skip_set: want less than plan_repet (1), got 1"},
    {"skip_set of cron, 100001", BYTES ("{\"plan_type\":8,\"cron\":\"* * * * *\",\"skip_set\":100001}"), "skip_set: want 0..100000 "},
    {"skip_set of days in a zone, 100001", BYTES ("{\"plan_type\":5,\"plan_value\":1,\"plan_repet\":-1,\"timezone\":\"UTC\",\"skip_set\":100001}"), "skip_set: want 0..100000 "},
    {"skip_set real", BYTES ("{" SECOND_1 ",\"plan_repet\":5,\"skip_set\":1.0}"), "skip_set: want an integer"},
    {"description number", BYTES ("{\"plan_type\":0,\"description\":1}"), "description: want a string"},
    {"description null", BYTES ("{\"plan_type\":0,\"description\":null}"), "description: want a string"},
    {"description array", BYTES ("{\"plan_type\":0,\"description\":[\"x\"]}"), "description: want a string"},
    {"unknown field", BYTES ("{\"plan_type\":0,\"plan_color\":1}"), "'plan_color': unknown field"},
    {"unknown field, upper case", BYTES ("{\"Plan_type\":0}"), "'Plan_type': unknown field"},
    {"unknown field, empty name", BYTES ("{\"plan_type\":0,\"\":1}"), "'': unknown field"},
    {"unknown field, hostile name", BYTES ("{\"plan_type\":0,\"\\n%s\\u001b\":1}"), "'\\x0a%s\\x1b': unknown field"},
    {"duplicate field", BYTES ("{\"plan_type\":0,\"plan_type\":0}"), "PLAN: "},
    {"duplicate skip_set", BYTES ("{" SECOND_1 ",\"plan_repet\":5,\"skip_set\":1,\"skip_set\":2}"), "PLAN: "},
    {"plan_id", BYTES ("{\"plan_type\":0,\"plan_id\":1}"), "plan_id: is set by the station"},
    {"request_id", BYTES ("{\"plan_type\":0,\"request_id\":\"\"}"), "request_id: is set by the station"},
    {"station", BYTES ("{\"plan_type\":0,\"station\":\"a\"}"), "station: is set by the station"},
    {"caller", BYTES ("{\"plan_type\":0,\"caller\":\"a\"}"), "caller: is set by the station"},
    {"real_repet", BYTES ("{\"plan_type\":0,\"real_repet\":0}"), "real_repet: is set by the station"},
    {"last_state", BYTES ("{\"plan_type\":0,\"last_state\":0}"), "last_state: is set by the station"},
    {"exec_time", BYTES ("{\"plan_type\":0,\"exec_time\":0}"), "exec_time: is set by the station"},
    {"messages", BYTES ("{\"plan_type\":0,\"messages\":[]}"), "messages: is set by the station"},
    {"base_time", BYTES ("{\"plan_type\":0,\"base_time\":0}"), "base_time: is set by the station"},
    {"plan_state", BYTES ("{\"plan_type\":0,\"plan_state\":0}"), "plan_state: is set by the station"},
    {"add_time", BYTES ("{\"plan_type\":0,\"add_time\":0}"), "add_time: is set by the station"},
    {"skip_num", BYTES ("{\"plan_type\":0,\"skip_num\":0}"), "skip_num: is set by the station"},
    {"error_count", BYTES ("{\"plan_type\":0,\"error_count\":0}"), "error_count: is set by the station"},
    {"exec_id", BYTES ("{\"plan_type\":0,\"exec_id\":0}"), "exec_id: is set by the station"},
    {"revision", BYTES ("{\"plan_type\":0,\"revision\":0}"), "revision: is set by the station"},
    {"skip_wait", BYTES ("{\"plan_type\":0,\"skip_wait\":0}"), "skip_wait: is set by the station"},
    {"extra", BYTES ("{\"plan_type\":0,\"extra\":0}"), "extra: is set by the station"},
    {"poll", BYTES ("{\"plan_type\":0,\"poll\":0}"), "poll: is set by the station"},
    {"vote of a wrong rule", BYTES ("{\"plan_type\":0,\"vote\":{\"rule\":\"most\"}}"), "vote: rule: want "},
    {"vote no object", BYTES ("{\"plan_type\":0,\"vote\":true}"), "vote: want an object"},
    {"vote twice", BYTES ("{\"plan_type\":0,\"vote\":{},\"vote\":{}}"), "PLAN: "},
    {"trailing bytes", BYTES ("{\"plan_type\":0}x"), "PLAN: "},
    {"trailing object", BYTES ("{\"plan_type\":0}{}"), "PLAN: "},
    {"trailing NUL", BYTES ("{\"plan_type\":0}\0"), "PLAN: "},
    {"invalid UTF-8", BYTES ("{\"plan_type\":0,\"description\":\"\xff\"}"), "PLAN: "},
    {"NUL in the description", BYTES ("{\"plan_type\":0,\"description\":\"a\\u0000b\"}"), "PLAN: "},
    {"NUL in a type's name", BYTES ("{\"plan_type\":\"none\\u0000x\"}"), "PLAN: "},
    {"empty", BYTES (""), "PLAN: "},
    {"no object", BYTES ("[]"), "PLAN: "},
    {"a number", BYTES ("1"), "PLAN: "},
    {"cut", BYTES ("{\"plan_type\":0"), "PLAN: "},
};
// clang-format on

static void check_bad (const struct bad_row *row, struct span frame)
{
    struct plan_fields fields;
    struct reason reason = {""};
    CHECK_INT (row->name, plan_frame_parse (frame, &plan_limits_default, &fields, &reason),
               ZPLAN_EPLAN);
    if (strncmp (reason.text, row->reason, strlen (row->reason)) != 0)
        fail_msg ("%s: want \"%s...\", got \"%s\"", row->name, row->reason, reason.text);
    CHECK (row->name, !check_ways (row->name, frame, &plan_limits_default));
}

static void bad_plan_frames_are_refused_with_the_field (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (bad_rows); i++) {
        uint8_t *text = exact_bytes (bad_rows[i].text);
        check_bad (&bad_rows[i], span_of (text, bad_rows[i].text.size));
        free (text);
    }
}

static void bad_plan_frames_are_refused_as_msgpack (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (bad_rows); i++) {
        size_t size = 0;
        uint8_t *bytes = packed (bad_rows[i].text, &size);
        // Rows that are no JSON have no msgpack form; msgpack has its own below.
        CHECK (bad_rows[i].name, bytes || strcmp (bad_rows[i].reason, "PLAN: ") == 0);
        if (bytes)
            check_bad (&bad_rows[i], span_of (bytes, size));
        free (bytes);
    }
}

#define NONE "\xa9plan_type\0"

// clang-format off
static const struct bad_row bad_packs[] = {
    {"duplicate field", BYTES ("\x82" NONE NONE), "PLAN: msgpack: a duplicate name, in field 'plan_type'"},
    {"trailing NUL", BYTES ("\x81" NONE "\0"), "PLAN: msgpack: bytes after the map"},
    {"trailing map", BYTES ("\x81" NONE "\x80"), "PLAN: msgpack: bytes after the map"},
    {"trailing JSON", BYTES ("\x81" NONE "{}"), "PLAN: msgpack: bytes after the map"},
    {"JSON, then a map", BYTES ("{\"plan_type\":0}\x80"), "PLAN: JSON: "},
    {"space, then a map", BYTES (" \x81" NONE), "PLAN: JSON: "},
    {"in an array", BYTES ("\x91\x81" NONE), "PLAN: JSON: "},
    {"invalid UTF-8", BYTES ("\x82" NONE "\xab" "description\xa1\xff"), "PLAN: msgpack: a string that is not UTF-8, in field 'description'"},
    {"bin", BYTES ("\x82" NONE "\xab" "description\xc4\1x"), "PLAN: msgpack: bytes (bin), want a string, in field 'description'"},
    {"timestamp", BYTES ("\x82" NONE "\xa9plan_time\xd6\xff\0\0\0\1"), "PLAN: msgpack: an extension (ext), in field 'plan_time'"},
    {"uint 64 over int 64", BYTES ("\x82" NONE "\xa9plan_time\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "PLAN: msgpack: an integer over 9223372036854775807, in field 'plan_time'"},
    {"NaN", BYTES ("\x82" NONE "\xa9plan_time\xca\x7f\xc0\0\0"), "PLAN: msgpack: a number that is not finite, in field 'plan_time'"},
    {"float 32", BYTES ("\x82" NONE "\xa9plan_time\xca\x3f\x80\0\0"), "plan_time: want whole Unix seconds"},
    {"name 1", BYTES ("\x82" NONE "\1\1"), "PLAN: msgpack: a field name that is not a string"},
    {"unknown field", BYTES ("\x82" NONE "\xa1x\1"), "'x': unknown field"},
    {"empty map", BYTES ("\x80"), "plan_type: is missing"},
    {"hostile map", BYTES ("\xdf\xff\xff\xff\xff" NONE), "PLAN: msgpack: cut short, or a count"},
    {"hostile array", BYTES ("\x82" NONE "\xab" "description\xdd\xff\xff\xff\xff"), "PLAN: msgpack: cut short, or a count"},
    {"nested deep", BYTES ("\x81\xa9plan_type\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\0"), "PLAN: msgpack: nested deeper than 16"},
};
// clang-format on

static void bad_packs_are_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (bad_packs); i++) {
        uint8_t *bytes = exact_bytes (bad_packs[i].text);
        check_bad (&bad_packs[i], span_of (bytes, bad_packs[i].text.size));
        free (bytes);
    }
}

// Parse a PLAN frame with `size` bytes of description, padded to `total` bytes if that is more.
static int parse_sized (size_t size, size_t total, struct plan_fields *fields,
                        struct reason *reason)
{
    char text[2 * 4096], letters[4096 + 1];
    memset (letters, 'a', size);
    letters[size] = '\0';
    snprintf (text, sizeof text, "{\"plan_type\":0,\"description\":\"%s\"}", letters);
    size_t length = strlen (text);
    if (length < total) {
        memset (text + length, ' ', total - length);
        length = total;
    }
    return plan_frame_parse (span_of (text, length), &plan_limits_default, fields, reason);
}

static void plan_frames_are_bounded (void **state)
{
    (void)state;
    struct plan_fields fields;
    struct reason reason = {""};
    assert_int_equal (parse_sized (1024, 0, &fields, &reason), 0);
    assert_int_equal (fields.description_size, 1024);
    assert_int_equal (parse_sized (1024 + 1, 0, &fields, &reason), ZPLAN_EPLAN);
    assert_string_equal (reason.text, "description: at most 1024 bytes, got 1025");
    assert_int_equal (parse_sized (1, 4096, &fields, &reason), 0);
    assert_int_equal (parse_sized (1, 4096 + 1, &fields, &reason), ZPLAN_EPLAN);
    assert_string_equal (reason.text, "PLAN: at most 4096 bytes, got 4097");
    uint8_t map[4096 + 1] = {0x80};
    assert_int_equal (
        plan_frame_parse (span_of (map, sizeof map), &plan_limits_default, &fields, &reason),
        ZPLAN_EPLAN);
    assert_string_equal (reason.text, "PLAN: at most 4096 bytes, got 4097");
}

// Check that the frame is accepted, and every shorter start of it rejected.
static void check_cut (struct span frame)
{
    struct plan_fields fields;
    struct reason reason;
    for (size_t size = 0; size < frame.size; size++) {
        uint8_t *bytes = exact_bytes (span_of (frame.data, size));
        assert_int_equal (
            plan_frame_parse (span_of (bytes, size), &plan_limits_default, &fields, &reason),
            ZPLAN_EPLAN);
        free (bytes);
    }
    assert_int_equal (plan_frame_parse (frame, &plan_limits_default, &fields, &reason), 0);
}

static void plan_frame_cut_anywhere_is_refused (void **state)
{
    (void)state;
    static const char text[] =
        "{\"description\":\"\xc3\xa9\",\"plan_type\":\"day\",\"plan_value\":1,"
        "\"plan_repet\":3,\"no_keep\":true,\"plan_time\":\"2026-01-01T00:00:00Z\","
        "\"skip_set\":1}";
    check_cut (span_text (text));
    size_t size = 0;
    uint8_t *bytes = packed (span_text (text), &size);
    check_cut (span_of (bytes, size));
    free (bytes);
}

static void a_vote_is_read_where_it_is_given (void **state)
{
    (void)state;
    struct plan_fields fields;
    struct reason reason = {""};
    struct span text =
        span_text ("{\"vote\":{\"deadline\":60,\"rule\":\"majority\"},\"plan_type\":\"none\"}");
    assert_int_equal (plan_frame_parse (text, &plan_limits_default, &fields, &reason), 0);
    assert_int_equal (fields.vote.need, VOTE_MAJORITY);
    assert_int_equal (fields.vote.deadline_s, 60);
    assert_int_equal (
        plan_frame_parse (span_text ("{\"plan_type\":0}"), &plan_limits_default, &fields, &reason),
        0);
    assert_int_equal (fields.vote.need, VOTE_NONE);
    assert_int_equal (fields.vote.deadline_s, 0);
}

// -- without a tree

#define NAMED "{\"plan_type\":\"none\",\"description\":"

static const struct way_row {
    struct span text;
    bool taken;
} way_rows[] = {
    {BYTES ("{\"description\":\"bench\",\"plan_type\":\"time\",\"plan_time\":1797881074}"), true},
    {BYTES ("\r\n{ \"plan_type\": \"week\", \"plan_repet\": -1,\t\"plan_value\": 7 }\n"), true},
    {BYTES ("{\"skip_set\":1,\"plan_time\":\"2026-01-01T00:00:00Z\",\"no_keep\":true,"
            "\"plan_repet\":3,\"plan_value\":0,\"plan_type\":2}"),
     true},
    {BYTES ("{\"no_skip\":true,\"plan_type\":0}"), true},
    {BYTES ("{\"plan_type\":-0}"), true},
    {BYTES (NAMED "\"\"}"), true},
    {BYTES (NAMED "\"\\u8ba1\\ud83d\\ude00\\n\\\"\\\\\"}"), true},
    {BYTES (NAMED "\"\xe8\xae\xa1\xf0\x9f\x98\x80\x7f\"}"), true},
    // Valid, but only the parser with a tree reads them.
    {BYTES ("{\"plan_type\":0,\"vote\":{}}"), false},
    {BYTES ("{\"plan_\\u0074ype\":0}"), false},
    {BYTES ("{\"plan_type\" :0}"), false},
    {BYTES ("\x81\xa9plan_type\0"), false},
    // Invalid.
    {BYTES ("{\"plan_type\":0,}"), false},
    {BYTES ("{,\"plan_type\":0}"), false},
    {BYTES ("{\"plan_type\":00}"), false},
    {BYTES ("{\"plan_type\":0x0}"), false},
    {BYTES ("{\"plan_type\":0\0}"), false},
    {BYTES ("{\"plan_type\":\"none\"\"}"), false},
    {BYTES ("{\"plan_type\":0}}"), false},
    {BYTES ("{\"plan_type\":0,\"no_keep\":truefalse}"), false},
    {BYTES ("{\"plan_type\":0,\"skip_set\":9223372036854775808}"), false},
    {BYTES ("{\"plan_type\":1,\"plan_time\":18446744073709551617}"), false},
    {BYTES ("{\"plan_type\":0,\"plan_type\":0}"), false},
    {BYTES ("{\"plan_type\":0,\"description\":\"\",\"description\":\"\"}"), false},
    {BYTES ("{\"plan_type\":0,\"plan_value\":1,\"plan_value\":1}"), false},
    {BYTES (NAMED "\"a\nb\"}"), false},
    {BYTES (NAMED "\"\\ud83d\"}"), false},
    {BYTES (NAMED "\"\xed\xa0\x80\"}"), false},
};

static void the_usual_frames_are_read_without_a_tree (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (way_rows); i++) {
        const char *name = quoted (way_rows[i].text);
        CHECK_INT (name, check_ways (name, way_rows[i].text, &plan_limits_default),
                   way_rows[i].taken);
    }
}

// The limit of the description applies to its decoded bytes, and the station's limits are used.
static void limits_hold_without_a_tree (void **state)
{
    (void)state;
    struct span text = span_text (NAMED "\"\\u0061\\u00e9\"}"); // three bytes
    struct plan_limits limits = {.bytes = 4096, .description = 3, .depth = 1};
    assert_true (check_ways ("as many as allowed", text, &limits));
    limits.description = 2;
    assert_false (check_ways ("one too many", text, &limits));
    limits = (struct plan_limits){.bytes = 4096, .description = 3, .depth = 0};
    assert_false (check_ways ("no object allowed", text, &limits));

    // As large as the buffer, and one byte more.
    char large[DESCRIPTION_ROOM + 1];
    memset (large, 'a', sizeof large);
    memcpy (large, NAMED "\"", strlen (NAMED "\""));
    limits =
        (struct plan_limits){.bytes = sizeof large, .description = DESCRIPTION_ROOM, .depth = 1};
    memcpy (large + sizeof large - 2, "\"}", 2);
    assert_false (check_ways ("no room", span_of (large, sizeof large), &limits));
    memcpy (large + sizeof large - 3, "\"}", 2);
    assert_true (check_ways ("room", span_of (large, sizeof large - 1), &limits));
}

static void random_frames_are_read_as_by_a_tree (void **state)
{
    (void)state;
    static const char *const names[] = {"description", "plan_type", "plan_value", "plan_repet",
                                        "no_keep",     "no_skip",   "plan_time",  "skip_set",
                                        "vote",        "plan_id",   "plan"};
    static const char *const values[] = {"0",
                                         "1",
                                         "2",
                                         "6",
                                         "7",
                                         "-1",
                                         "1",
                                         "3",
                                         "true",
                                         "false",
                                         "\"none\"",
                                         "\"time\"",
                                         "\"week\"",
                                         "\"\\u0074ime\"",
                                         "\"d\\u00e9j\xc3\xa0\"",
                                         "\"2026-12-24T18:00:00+01:00\"",
                                         "253402300799",
                                         "253402300800",
                                         "2147483647",
                                         "2147483648",
                                         "-0",
                                         "1.0",
                                         "1e2",
                                         "null",
                                         "{}",
                                         "[]",
                                         "{\"rule\":\"any\"}",
                                         "\"",
                                         "01",
                                         ""};
    uint64_t random = 88172645463325252U;
    size_t taken = 0;
    for (int round = 0; round < 200000; round++) {
        char text[1024];
        size_t size = 0;
        const char *before = "{";
        for (uint64_t left = 1 + next_random (&random) % 5; left; left--, before = ",") {
            // Mostly valid values, as one invalid value rejects the whole frame.
            bool any = next_random (&random) % 8 == 0;
            size += (size_t)snprintf (text + size, sizeof text - size, "%s\"%s\":%s", before,
                                      names[next_random (&random) % (any ? ROWS (names) : 8)],
                                      values[next_random (&random) % (any ? ROWS (values) : 21)]);
        }
        size += (size_t)snprintf (text + size, sizeof text - size, "}");
        taken += check_ways (text, span_of (text, size), &plan_limits_default);
    }
    assert_in_range (taken, 1000, 200000);
}

// An update accepts the fields of a PLAN frame and no others.
static void the_fields_of_a_plan_frame_have_names (void **state)
{
    (void)state;
    static const char *const good[] = {"description", "plan_type", "plan_value",
                                       "plan_repet",  "no_keep",   "no_skip",
                                       "plan_time",   "skip_set",  "vote"};
    static const char *const bad[] = {"",           "revision",  "plan_id",    "messages",
                                      "extra",      "skip_num",  "plan_state", "Plan_type",
                                      "plan",       "skip_wait", "station",    "exec_id",
                                      "plan_types", "add_time",  "base_time"};
    for (size_t i = 0; i < ROWS (good); i++)
        CHECK (good[i], plan_frame_field (good[i]));
    for (size_t i = 0; i < ROWS (bad); i++)
        CHECK (bad[i], !plan_frame_field (bad[i]));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (good_plan_frames_are_read),
        cmocka_unit_test (good_plan_frames_are_read_as_msgpack),
        cmocka_unit_test (bad_plan_frames_are_refused_with_the_field),
        cmocka_unit_test (bad_plan_frames_are_refused_as_msgpack),
        cmocka_unit_test (bad_packs_are_refused),
        cmocka_unit_test (plan_frames_are_bounded),
        cmocka_unit_test (plan_frame_cut_anywhere_is_refused),
        cmocka_unit_test (the_usual_frames_are_read_without_a_tree),
        cmocka_unit_test (limits_hold_without_a_tree),
        cmocka_unit_test (random_frames_are_read_as_by_a_tree),
        cmocka_unit_test (a_vote_is_read_where_it_is_given),
        cmocka_unit_test (the_fields_of_a_plan_frame_have_names),
    };
    return cmocka_run_group_tests_name ("plan frame", tests, NULL, NULL);
}
