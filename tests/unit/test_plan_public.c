// The public form of a stored plan: copied from the text, it is the same as converted by a tree.
#include "plan_public.h"
#include "rows.h"

enum { COMMAND_MAX = 16 };

#define HEAD                                                                                       \
    "{\"exec_id\":1795227062000519,\"exec_time\":1795227062,\"plan_state\":2,\"revision\":3,"      \
    "\"caller\":\"c\",\"plan_id\":7,\"request_id\":\"r\",\"station\":\"jobs\","
#define TITLE "\"description\":\"a title\",\"plan_type\":2"
#define DESC  "{\"b64\":\"AwICJCUA\"}" // three frames follow, the second is COMMAND

#define MESSAGES "\"messages\":[\"\"," DESC ",\"p\",\"do\",\"a\"]"
#define FRAMED   "{" MESSAGES ","

static const struct shown_row {
    const char *name, *stored;
    bool copied;
    const char *shown; // NULL: the text is invalid
} rows[] = {
    {"plain", HEAD TITLE "," MESSAGES "}", true,
     "{\"plan_id\":42,\"request_id\":\"r\",\"station\":\"jobs\",\"caller\":\"c\","
     "\"description\":\"a title\",\"revision\":3,\"plan_type\":2,\"exec_time\":1795227062,"
     "\"plan_state\":2,\"exec_id\":1795227062000519,\"command\":\"do\""},
    {"padded", FRAMED "\"exec_id\":  5 ,\"plan_state\":1}", true,
     "{\"plan_id\":42,\"plan_state\":1,\"exec_id\":5,\"command\":\"do\""},
    {"empty", "{}", false, "{\"plan_id\":42"},
    {"policies", FRAMED "\"plan_state\":1,\"retry\":{\"max\":2},\"tenant\":9,\"key\":\"n\"}", true,
     "{\"plan_id\":42,\"plan_state\":1,\"retry\":{\"max\":2},\"tenant\":9,\"key\":\"n\","
     "\"command\":\"do\""},
    {"escapes", FRAMED "\"description\":\"\\u00e9\\n\\\"\"}", true,
     "{\"plan_id\":42,\"description\":\"\xc3\xa9\\n\\\"\",\"command\":\"do\""},
    {"frames", "{\"revision\":1,\"messages\":[\"\"," DESC ",\"p\",\"do\",\"a\"]}", true,
     "{\"plan_id\":42,\"revision\":1,\"command\":\"do\""},
    {"no command", "{\"revision\":1,\"messages\":[\"\",{\"b64\":\"AQICAA==\"},\"p\"]}", true,
     "{\"plan_id\":42,\"revision\":1"},
    {"no description", "{\"revision\":1,\"messages\":[\"\",\"x\",\"do\"]}", false,
     "{\"plan_id\":42,\"revision\":1"},
    {"messages of an operator", "{\"revision\":1,\"messages\":5}", false,
     "{\"plan_id\":42,\"revision\":1"},
    {"no messages", "{\"revision\":1,\"messages\":[]}", false, "{\"plan_id\":42,\"revision\":1"},
    {"description with escapes",
     "{\"messages\":[\"\",{\"b64\":\"AwICJCU\\u0041\"},\"p\",\"do\",\"a\"]}", false,
     "{\"plan_id\":42,\"command\":\"do\""},
    {"description with a space", "{\"messages\":[\"\",{\"b64\" :\"AwICJCUA\"},\"p\",\"do\",\"a\"]}",
     false, "{\"plan_id\":42,\"command\":\"do\""},
    {"name twice inside a policy", "{\"revision\":1,\"retry\":{\"max\":1,\"max\":2}}", false, NULL},
    {"name twice inside a frame",
     "{\"messages\":[\"\"," DESC ",\"p\",{\"b64\":\"/w==\",\"b64\":\"/w==\"},\"a\"]}", false, NULL},
    {"too deep", "{\"revision\":1,\"retry\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}", false, NULL},
    {"not too deep", FRAMED "\"retry\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}", true,
     "{\"plan_id\":42,\"command\":\"do\",\"retry\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]"},
    {"long command", "{\"messages\":[\"\"," DESC ",\"p\",\"0123456789abcdefg\",\"a\"]}", false,
     "{\"plan_id\":42"},
    {"command with escapes",
     "{\"messages\":[\"\"," DESC ",\"p\",\"0123456789abcde\\u0041\",\"a\"]}", false,
     "{\"plan_id\":42,\"command\":\"0123456789abcdeA\""},
    {"cycle", "{\"real_repet\":5,\"skip_num\":0,\"iteration\":9,\"cycle\":3}", false,
     "{\"plan_id\":42,\"real_repet\":5,\"skip_num\":0,\"iteration\":9,\"cycle\":3,"
     "\"current_iteration\":2,\"current_cycle\":2"},
    {"object of a client", "{\"revision\":1,\"ext\":\"{\\\"a\\\":1}\"}", false,
     "{\"plan_id\":42,\"revision\":1,\"ext\":{\"a\":1}"},
    {"added by hand", "{\"revision\":1,\"note\":[1,2.5]}", false,
     "{\"plan_id\":42,\"revision\":1,\"note\":[1,2.5]"},
    {"names of this form, by hand", "{\"revision\":1,\"command\":\"x\",\"progress\":\"y\"}", false,
     "{\"plan_id\":42,\"revision\":1"},
    {"name twice", "{\"revision\":1,\"revision\":2}", false, NULL},
    {"policy twice", "{\"tenant\":1,\"tenant\":2}", false, NULL},
    {"number too large", "{\"revision\":9223372036854775808}", false, NULL},
    {"real number too large", "{\"revision\":1e999}", false, NULL},
    {"not ended", "{\"revision\":1", false, NULL},
    {"something follows", "{\"revision\":1}{}", false, NULL},
    {"no object", "[]", false, NULL},
    {"nothing", "", false, NULL},
};

static char *written (const struct shown_row *row, bool copies, bool *ret_done)
{
    struct json_text text;
    size_t size;
    uint8_t *stored = exact_bytes (span_text (row->stored));
    struct span bytes = span_of (stored, strlen (row->stored));
    json_text_start (&text, 16);
    json_text_raw (&text, span_text ("["));
    *ret_done = copies ? plan_copy_public (42, bytes, COMMAND_MAX, &text)
                       : plan_convert_public (42, bytes, COMMAND_MAX, &text);
    free (stored);
    return json_text_end (&text, &size);
}

// A copy keeps the escapes of the stored text, so both forms are compared decoded.
static void check_same (const struct shown_row *row, const char *text)
{
    char closed[1024];
    snprintf (closed, sizeof closed, "%s}]", text);
    json_t *got = json_loads (closed, 0, NULL);
    snprintf (closed, sizeof closed, "[%s}]", row->shown);
    json_t *want = json_loads (closed, 0, NULL);
    CHECK (row->name, want && json_equal (got, want));
    json_decref (got);
    json_decref (want);
}

static void copied_is_what_is_converted (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct shown_row *row = &rows[i];
        bool copied, converted;
        char *copy = written (row, true, &copied), *tree = written (row, false, &converted);
        CHECK_INT (row->name, copied, row->copied);
        CHECK_INT (row->name, converted, row->shown != NULL);
        if (copied)
            check_same (row, copy);
        else
            CHECK_TEXT (row->name, copy, "[");
        if (converted)
            check_same (row, tree);
        free (copy);
        free (tree);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (copied_is_what_is_converted)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
