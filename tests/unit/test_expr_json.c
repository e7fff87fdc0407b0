// Rows for values from and to JSON, for their texts, and for times as text.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "expr_values.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

// Read and written again; NULL: it is refused.
static const struct json_row {
    const char *text, *want;
} json_rows[] = {
    {"1", "1"},
    {" [1, 2.5, \"a\", null, true, {\"b\": []}] ", "[1,2.5,\"a\",null,true,{\"b\":[]}]"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9.223372036854776e+18"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"-9223372036854775809", "-9.223372036854776e+18"},
    {"[123456789012345678901, 1]", "[1.2345678901234568e+20,1]"},
    {"12345678901234567890e1", "1.2345678901234568e+20"},
    {"1234567890123456789012.5", "1.2345678901234568e+21"},
    {"0.12345678901234567890", "0.12345678901234568"},
    {"1e1234567890123456789012", NULL},
    {"1e-12345678901234567890", "0.0"},
    {"\"12345678901234567890\"", "\"12345678901234567890\""},
    {"\"a\\\"12345678901234567890\"", "\"a\\\"12345678901234567890\""},
    {"{\"12345678901234567890\": 1}", "{\"12345678901234567890\":1}"},
    {"\"\\u00e9\\n\"", "\"é\\n\""},
    {"0.1", "0.1"},
    {"3.0", "3.0"},
    {"1e2", "100.0"},
    {"", NULL},
    {"[1", NULL},
    {"1 2", NULL},
    {"{\"a\": 1, \"a\": 2}", NULL},
    {"\"\\u0000\"", NULL},
    {"\"\xff\"", NULL},
    {"1e999", NULL},
    {"NaN", NULL},
    {"\"open", NULL},
    {"\"open\\", NULL},
};

static void test_json (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (json_rows); i++) {
        const struct json_row *row = &json_rows[i];
        struct reason reason = {""};
        struct expr_error error;
        char *got = NULL;
        size_t size = 0;
        json_t *json = expr_read_json (span_text (row->text), &reason);
        if (json) {
            struct expr_value value = expr_of_json (json);
            assert_int_equal (expr_write_json (&value, 1000, &got, &size, &error), 0);
            assert_int_equal (size, strlen (got));
            json_t *again = expr_to_json (&value, 1000, &error);
            if (!json_equal (json, again))
                fail_msg ("%s is not the same once it was written", row->text);
            json_decref (again);
        }
        if (!json != !row->want || (got && strcmp (got, row->want) != 0))
            fail_msg ("%s became %s", row->text, got ? got : reason.text);
        assert_true (json || reason.text[0]);
        json_decref (json);
        free (got);
    }
}

static void test_json_depth (void **state)
{
    (void)state;
    enum { LARGE = 10000000 };
    struct reason reason = {""};
    char *text = malloc (LARGE);
    memset (text, '[', LARGE);
    assert_null (expr_read_json (span_of (text, LARGE), &reason));
    assert_string_equal (reason.text, "JSON: nested deeper than 64");
    memset (text + EXPR_DEPTH_MAX, ']', EXPR_DEPTH_MAX);
    json_t *json = expr_read_json (span_of (text, 2 * EXPR_DEPTH_MAX), &reason);
    assert_non_null (json);
    json_decref (json);
    memset (text, '[', EXPR_DEPTH_MAX + 1);
    memset (text + EXPR_DEPTH_MAX + 1, ']', EXPR_DEPTH_MAX + 1);
    assert_null (expr_read_json (span_of (text, 2 * EXPR_DEPTH_MAX + 2), &reason));
    free (text);
}

// The bound counts what is written, to the byte.
static void test_json_bound (void **state)
{
    (void)state;
    struct expr_error error;
    struct reason reason;
    static const char text[] = "{\"a\":[1,2.5,\"b\"],\"c\":null}";
    json_t *json = expr_read_json (span_text (text), &reason);
    struct expr_value value = expr_of_json (json);
    for (size_t max = 0; max < sizeof text + 5; max++) {
        char *got = NULL;
        size_t size;
        int rc = expr_write_json (&value, max, &got, &size, &error);
        assert_int_equal (rc, max < sizeof text - 1 ? EXPR_LIMIT : 0);
        if (!rc)
            assert_string_equal (got, text);
        else
            assert_non_null (strstr (error.reason.text, "as JSON larger than"));
        free (got);
    }
    json_decref (json);
}

static const struct time_text_row {
    const char *text;
    int64_t local; // -1: it is none
} time_text_rows[] = {
    {"2024-03-31", 1711843200},
    {"2024-03-31T08:30", 1711873800},
    {"2024-03-31T08:30:01", 1711873801},
    {"2024-03-31T08:30:01Z", 1711873801},
    {"2024-03-31T08:30:01+02:00", 1711866601},
    {"1969-12-31T23:59:58", -2},
    {"0001-01-01", INT64_C (-62135596800)},
    {"9999-12-31T23:59:59", INT64_C (253402300799)},
    {"0000-01-01", -1},
    {"2023-02-29", -1},
    {"2024-13-01", -1},
    {"2024-00-01", -1},
    {"2024-01-00", -1},
    {"2024-1-1", -1},
    {"2024/01/01", -1},
    {"2024-01-01 08:30", -1},
    {"2024-01-01T24:00", -1},
    {"2024-01-01T08:60", -1},
    {"2024-01-01T08:30:60", -1},
    {"2024-01-01T08:30:6", -1},
    {"2024-01-01T08", -1},
    {"", -1},
    {"abcd-ef-gh", -1},
    {"2024-03-31T08:30:01.5Z", -1},
};

static void test_times (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (time_text_rows); i++) {
        const struct time_text_row *row = &time_text_rows[i];
        int64_t local = -1;
        bool taken = expr_time_parse (span_text (row->text), NULL, &local);
        if (taken != (row->local != -1) || local != row->local)
            fail_msg ("%s became %" PRId64, row->text, local);
    }
}

static void test_texts (void **state)
{
    (void)state;
    char buffer[EXPR_SCALAR_SIZE];
    struct reason reason;
    json_t *json =
        expr_read_json (span_text ("[null, [1], {\"a\": 1}, 5, 2.5, true, \"x\"]"), &reason);
    static const char *const want[] = {NULL, NULL, NULL, "5", "2.5", "true", "x"};
    struct expr_value list = expr_of_json (json);
    for (uint32_t i = 0; i < list.size; i++) {
        struct expr_value item = expr_item (&list, i);
        struct span text;
        assert_int_equal (expr_text (&item, buffer, &text), want[i] != NULL);
        if (want[i])
            assert_true (span_is (text, want[i]));
    }
    json_decref (json);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_json),       cmocka_unit_test (test_json_depth),
        cmocka_unit_test (test_json_bound), cmocka_unit_test (test_times),
        cmocka_unit_test (test_texts),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
