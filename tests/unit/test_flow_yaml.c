// YAML files of flows as JSON.
#include <jansson.h>

#include "flow_yaml.h"
#include "rows.h"

static const struct good_row {
    const char *name, *yaml, *json;
} good_rows[] = {
    {"a mapping", "flow: f\nsteps:\n  a: {target: jobs}\n  b:\n    after: [a]\n",
     "{\"flow\":\"f\",\"steps\":{\"a\":{\"target\":\"jobs\"},\"b\":{\"after\":[\"a\"]}}}"},
    {"the order of keys is kept", "b: 1\na: 2\nc: 3\n", "{\"b\":1,\"a\":2,\"c\":3}"},
    {"words of JSON", "[true, false, null, 1, -2, 1.5, 1e3, 0]",
     "[true,false,null,1,-2,1.5,1000.0,0]"},
    {"other words are texts",
     "[yes, no, on, True, NULL, ~, 0x1f, 0o7, 01, +1, 1., .5, .inf, 2024-01-01, 1:30]",
     "[\"yes\",\"no\",\"on\",\"True\",\"NULL\",\"~\",\"0x1f\",\"0o7\",\"01\",\"+1\",\"1.\",\".5\","
     "\".inf\","
     "\"2024-01-01\",\"1:30\"]"},
    {"quoted words are texts", "['true', \"null\", '1', '']", "[\"true\",\"null\",\"1\",\"\"]"},
    {"integers beyond 64 bits are decimals", "[9223372036854775807, 9223372036854775808]",
     "[9223372036854775807,9.2233720368547758e18]"},
    {"an expression", "if: input.a > 1 && input.b\nx: |\n  =a #b\n",
     "{\"if\":\"input.a > 1 && input.b\",\"x\":\"=a #b\\n\"}"},
    {"a comment cuts a plain text", "if: input.a #name\n", "{\"if\":\"input.a\"}"},
    {"UTF-8", "title: Prüfung\n", "{\"title\":\"Prüfung\"}"},
    {"a document mark", "---\na: 1\n...\n", "{\"a\":1}"},
    {"keys of numbers are texts", "1: a\ntrue: b\n", "{\"1\":\"a\",\"true\":\"b\"}"},
    {"empty collections", "{a: {}, b: []}", "{\"a\":{},\"b\":[]}"},
};

static const struct bad_row {
    const char *name, *yaml, *reason;
} bad_rows[] = {
    {"nothing", "", "line 1: empty"},
    {"a comment", "# nothing\n", "line 1: empty"},
    {"no value", "a: 1\nb:\n", "line 2: no value: write null, \"\", {} or []"},
    {"an anchor", "a: &x 1\n", "line 1: anchors are not allowed"},
    {"an anchor of a mapping", "a: &x {b: 1}\n", "line 1: anchors are not allowed"},
    {"an alias", "a: *x\n", "line 1: aliases are not allowed"},
    {"a tag", "a: !!python/object:os.system x\n", "line 1: tags are not allowed"},
    {"a tag of a list", "a: !x [1]\n", "line 1: tags are not allowed"},
    {"a merge key", "a: 1\n<<: {b: 2}\n", "line 2: merge keys are not allowed"},
    {"a key twice", "a: 1\nb: 2\na: 3\n", "line 3: key 'a' twice"},
    {"a key that is a list", "[1]: 2\n", "line 1: a key must be a text"},
    {"a key that is a mapping", "? {a: 1}\n: 2\n", "line 1: a key must be a text"},
    {"a second document", "a: 1\n---\nb: 2\n", "line 2: a second document"},
    {"a number out of range", "a: 1e999\n", "line 1: a number out of range"},
    {"a NUL", "a: \"x\\0y\"\n", "line 1: a string with a NUL"},
    {"a NUL in a key", "\"x\\0y\": 1\n", "line 1: a key with a NUL"},
    {"broken", "a: [1\nb: 2\n", "line 2: did not find expected ',' or ']'"},
    {"no UTF-8", "a: \xff\n", "line 1: invalid leading UTF-8 octet"},
};

static void documents_are_read (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (good_rows); i++) {
        struct reason reason = {{0}};
        json_t *got = flow_yaml_read (span_text (good_rows[i].yaml), &reason);
        CHECK (good_rows[i].name, got);
        char *text = json_dumps (got, JSON_COMPACT);
        CHECK_TEXT (good_rows[i].name, text, good_rows[i].json);
        free (text);
        json_decref (got);
    }
}

static void others_are_rejected (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (bad_rows); i++) {
        struct reason reason = {{0}};
        CHECK (bad_rows[i].name, !flow_yaml_read (span_text (bad_rows[i].yaml), &reason));
        CHECK_TEXT (bad_rows[i].name, reason.text, bad_rows[i].reason);
    }
}

// 10 MB of "[" end at the 65th; 64 are read.
static void depth_is_bounded (void **state)
{
    (void)state;
    enum { SIZE = 10000000 };
    char *text = malloc (SIZE);
    struct reason reason = {{0}};
    memset (text, '[', SIZE);
    CHECK ("10 MB of [", !flow_yaml_read (span_of (text, SIZE), &reason));
    CHECK_TEXT ("10 MB of [", reason.text, "line 1: nested deeper than 64 levels");
    memset (text + 64, ']', 64);
    json_t *deep = flow_yaml_read (span_of (text, 128), &reason);
    CHECK ("64 levels", deep);
    json_decref (deep);
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (documents_are_read),
                                       cmocka_unit_test (others_are_rejected),
                                       cmocka_unit_test (depth_is_bounded)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
