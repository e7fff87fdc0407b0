// Hostile expressions: what is nested, long or shared ends with an error at its bound.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "expr_values.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

enum { ITEMS = 10000, WIDE = 65536 };

static json_t *values;

// `many` has 10000 integers, `more` one more, `wide` is a string of 65536 bytes.
static int set_up (void **state)
{
    (void)state;
    struct reason reason;
    values = expr_read_json (span_text (values_json), &reason);
    json_t *many = json_array (), *more;
    for (int i = 0; i < ITEMS; i++)
        json_array_append_new (many, json_integer (i));
    more = json_copy (many);
    json_array_append_new (more, json_integer (ITEMS));
    char *wide = memset (malloc (WIDE), 'w', WIDE);
    json_object_set_new (values, "wide", json_stringn (wide, WIDE));
    json_object_set_new (values, "many", many);
    json_object_set_new (values, "more", more);
    free (wide);
    return 0;
}

static int tear_down (void **state)
{
    (void)state;
    json_decref (values);
    return 0;
}

// -- built texts: a part so many times, a middle, another part as often

static const struct built_row {
    const char *before;
    int count;
    const char *middle, *after;
    const char *want; // beginning of the value, or "!" and words
} built_rows[] = {
    {"(", 64, "1", ")", "1"},
    {"(", 65, "1", ")", "! column 65: nested deeper than 64"},
    {"(", 1000, "1", ")", "! nested deeper than 64"},
    {"[", 64, "", "]", "[[["},
    {"[", 65, "", "]", "! nested deeper than 64"},
    {"-", 64, "1", "", "1"},
    {"-", 65, "1", "", "! column 65: nested deeper than 64"},
    {"-", 4000, "1", "", "! nested deeper than 64"},
    {"!", 64, "true", "", "true"},
    {"!", 4000, "true", "", "! nested deeper than 64"},
    {"true ? 1 : ", 64, "2", "", "1"},
    {"true ? 1 : ", 65, "2", "", "! nested deeper than 64"},
    {"true ? ", 65, "1", " : 2", "! nested deeper than 64"},
    {"default(", 64, "1", ", 2)", "1"},
    {"default(", 65, "1", ", 2)", "! nested deeper than 64"},
    {"has(", 65, "1", ")", "! nested deeper than 64"},
    {"#xs[", 65, "0", "]", "! nested deeper than 64"},
    {"@Math@abs(", 65, "0", ")", "! nested deeper than 64"},
    {"#xs.first().map(x,", 65, "0", ")", "! nested deeper than 64"},
    {"[0].map(x,", 64, "0", ")", "[[["},
    {"[0].map(x,", 65, "0", ")", "! nested deeper than 64"},
    {"1 + ", 1000, "1", "", "1001"},
    {"1 - ", 1000, "1", "", "-999"},
    {"true && ", 500, "false", "", "false"},
    {"false || ", 400, "true", "", "true"},
    {"", 0, "#xs", "", "[1,2,3,4]"},
    {"// comment\n", 370, "7", "", "7"},
    {" ", 4095, "7", "", "7"},
    {" ", 4096, "7", "", "! longer than 4096 bytes"},
    {"(", 4000, "", "", "! nested deeper than 64"},
    {"'a' + ", 600, "'b'", "", "aaaa"},
    {"[0].map(x,[0].map(y,", 33, "0", "))", "! nested deeper than 64"},
};

static char *build (const struct built_row *row)
{
    size_t before = strlen (row->before), after = strlen (row->after);
    char *text = malloc ((before + after) * (size_t)row->count + strlen (row->middle) + 1),
         *at = text;
    for (int i = 0; i < row->count; i++)
        at = mempcpy (at, row->before, before);
    at = mempcpy (at, row->middle, strlen (row->middle));
    for (int i = 0; i < row->count; i++)
        at = mempcpy (at, row->after, after);
    *at = '\0';
    return text;
}

static void check (const char *text, const char *want)
{
    char *got = values_evaluate (values, span_text (text), NULL, NULL);
    bool error = want[0] == '!';
    bool same =
        error ? got[0] == '!' && strstr (got, want + 2) : strncmp (got, want, strlen (want)) == 0;
    if (!same)
        fail_msg ("%.200s became %.200s, not %s", text, got, want);
    free (got);
}

static void test_built (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (built_rows); i++) {

        char *text = build (&built_rows[i]);
        check (text, built_rows[i].want);
        free (text);
    }
}

static const struct row {
    const char *text, *want;
} rows[] = {
    // steps
    {"many.map(x, many.map(y, 1))", "! takes more steps than are allowed (50000)"},
    {"many.filter(x, x != null).size()", "10000"},
    {"many.filter(x, x % 2 == 0).size()", "5000"},
    {"many.map(x, many)[0] == many", "true"},
    {"many.map(x, many) == many.map(x, many)", "! takes more steps"},
    {"many.all(x, x in many)", "! takes more steps"},
    {"xs.map(x, xs.map(x, xs.map(x, xs.map(x, xs.map(x, xs.map(x, xs.map(x, xs.map(x, "
     "xs.map(x, 1)))))))))",
     "! takes more steps"},
    {"many.all(x, wide == wide)", "! takes more steps"},
    {"many.all(x, wide.length() > 0)", "! takes more steps"},
    {"many.all(x, wide.contains('x') == false)", "! takes more steps"},
    {"many.all(x, wide.indexOf('x') < 0)", "! takes more steps"},
    {"many.all(x, wide.endsWith('w'))", "! takes more steps"},
    {"many.all(x, wide.substring(0, 1) == 'w')", "! takes more steps"},
    {"many.all(x, wide.trim() != '')", "! takes more steps"},
    {"many.all(x, wide < 'x')", "true"},
    {"many.all(x, wide <= wide)", "! takes more steps"},
    {"many.all(x, many.sum() > 0)", "! takes more steps"},
    {"many.all(x, many.max() > 0)", "! takes more steps"},
    {"many.all(x, many.size() > 0)", "true"},
    {"many.all(x, many == many)", "! takes more steps"},
    // sizes
    {"wide.length()", "65536"},
    {"wide + ''", "wwww"},
    {"wide + 'x'", "! a string of 65537 bytes, at most 65536"},
    {"[wide, ''].join('x')", "! a string of 65537 bytes"},
    {"wide.replace('w', 'xx')", "! a string of 131072 bytes"},
    {"many.all(x, wide.replace('w', 'x') != '')", "! takes more steps"},
    {"wide.substring(0, 40000).replace('w', 'xx')", "! a string of 80000 bytes"},
    {"wide.split('w')", "! a list of 65537 items"},
    {"wide.substring(0, 10000).split('w').size()", "! a list of 10001 items, at most 10000"},
    {"wide.substring(0, 9999).split('w').size()", "10000"},
    {"more.size()", "10001"},
    {"more.map(x, x)", "! a list of 10001 items, at most 10000"},
    {"more.filter(x, true)", "! a list of more than 10000 items"},
    {"more.filter(x, x > 0).size()", "10000"},
    {"more.all(x, x >= 0)", "true"},
    {"C.format(wide)", "! no letter 'w'"},
    {"C.format(wide.replace('w', '-')).length()", "65536"},
    {"C.format(\"'\" + wide.substring(2) + \"'\").length()", "65534"},
    {"C.format(wide.substring(0, 13000).replace('w', 'MMMM '))", "! a string of 104000 bytes"},
    // shared values, which unfold when they are written
    {"many.map(x, wide).size()", "10000"},
    {"many.map(x, wide)", "! as JSON larger than 65536 bytes"},
    {"xs.map(x, wide)", "! as JSON larger than 65536 bytes"},
    {"wide.substring(2)", "wwww"},
    {"[wide.substring(4)]", "[\"wwww"},
    {"[wide.substring(3)]", "! as JSON larger than 65536 bytes"},
    // memory
    {"many.map(x, wide.upper())", "! takes more steps"},
    {"wide.toInt()", "! no integer: 'wwww"},
    {"wide.toDecimal()", "! a string of 65537 bytes"},
};

static void test_bounds (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++)
        check (rows[i].text, rows[i].want);
}

// Bytes that are no text.
static void test_bytes (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *want;
    } byte_rows[] = {
        {"1\0", 2, "! column 2: not UTF-8, or a NUL byte"},
        {"'\xff'", 3, "! column 2: not UTF-8"},
        {"'\xe6\x97'", 4, "! column 2: not UTF-8"},
        {"'\xe6\x97\xa5\xed\xa0\x80'", 8, "! column 3: not UTF-8"},
        {"1\n + '\xc0\x80'", 8, "! line 2, column 5: not UTF-8"},
    };
    for (size_t i = 0; i < ROWS (byte_rows); i++) {
        struct span text = span_of (byte_rows[i].text, byte_rows[i].size);
        char *got = values_evaluate (values, text, NULL, NULL);
        if (!strstr (got, byte_rows[i].want + 2))
            fail_msg ("row %zu became %s", i, got);
        free (got);
    }
}

// Steps that are given to several evaluations are counted down, and end them.
static void test_steps (void **state)
{
    (void)state;
    uint32_t steps = 1000000;
    free (values_evaluate (values, span_text ("many.map(x, many.map(y, 1))"), NULL, &steps));
    assert_int_equal (steps, 1000000 - EXPR_STEPS_MAX);
    steps = 10;
    char *got = values_evaluate (values, span_text ("1 + 2"), NULL, &steps);
    assert_string_equal (got, "3");
    assert_int_equal (steps, 9);
    free (got);
    got = values_evaluate (values, span_text ("xs.map(x, x + 1)"), NULL, &steps);
    assert_non_null (strstr (got, "takes more steps than are allowed (9)"));
    assert_int_equal (steps, 0);
    free (got);
}

// Memory is one for several evaluations, and bounded whatever they keep.
static void test_memory (void **state)
{
    (void)state;
    struct expr_error error;
    struct expr *expr = NULL;
    struct expr_value value;
    struct expr_memory *memory = expr_memory_new ();
    struct expr_env env = {.resolve = values_resolve, .context = values};
    assert_int_equal (expr_compile (span_text ("wide.upper()"), &expr, &error), 0);
    int count = 0, rc;
    while (!(rc = expr_evaluate (expr, &env, memory, &value, &error)))
        count++;
    assert_int_equal (rc, EXPR_LIMIT);
    assert_non_null (strstr (error.reason.text, "bytes of memory"));
    assert_int_equal (count, EXPR_MEMORY_MAX / WIDE);
    expr_memory_clear (memory);
    assert_int_equal (expr_evaluate (expr, &env, memory, &value, &error), 0);
    expr_memory_destroy (&memory);
    expr_memory_destroy (&memory);
    expr_destroy (&expr);
    expr_destroy (&expr);
}

// Lists in lists, deeper than one text can nest them: neither written nor compared.
static void test_deep_values (void **state)
{
    (void)state;
    enum { LEVELS = 200 };
    struct expr_error error;
    struct expr_value levels[LEVELS];
    char *text = NULL;
    size_t size;
    levels[0] = expr_of_integer (1);
    for (int i = 1; i < LEVELS; i++)
        levels[i] = (struct expr_value){.type = EXPR_LIST, .size = 1, .items = &levels[i - 1]};
    assert_int_equal (expr_write_json (&levels[EXPR_DEPTH_MAX], 1000, &text, &size, &error), 0);
    assert_int_equal (size, 2 * EXPR_DEPTH_MAX + 1);
    free (text);
    assert_int_equal (expr_write_json (&levels[EXPR_DEPTH_MAX + 1], 1000, &text, &size, &error),
                      EXPR_LIMIT);
    assert_string_equal (error.reason.text, "nested deeper than 64");
    assert_null (expr_to_json (&levels[LEVELS - 1], 1000, &error));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_built),  cmocka_unit_test (test_bounds),
        cmocka_unit_test (test_bytes),  cmocka_unit_test (test_steps),
        cmocka_unit_test (test_memory), cmocka_unit_test (test_deep_values),
    };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
