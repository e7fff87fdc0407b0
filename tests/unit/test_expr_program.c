// Rows for programs, for what expressions refer to, and for names.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "expr_values.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

// Evaluate a program; the names of earlier lines are variables of later ones. "NAME=VALUE" with
// blanks between, or "! REASON"; to free.
static char *run_program (struct span text)
{
    struct expr_program *program = NULL;
    struct expr_error error;
    char *got = NULL;
    size_t size;
    if (expr_program_compile (text, &program, &error)) {
        if (asprintf (&got, "! %s", error.reason.text) < 0)
            abort ();
        return got;
    }
    json_t *values = json_object ();
    FILE *out = open_memstream (&got, &size);
    struct expr_memory *memory = expr_memory_new ();
    struct expr_env env = {.resolve = values_resolve, .context = values};
    for (size_t i = 0; i < program->count; i++) {
        const struct expr_line *line = &program->lines[i];
        struct expr_value value;
        if (expr_evaluate (line->expr, &env, memory, &value, &error)) {
            fprintf (out, "%s! %s", i ? " " : "", error.reason.text);
            break;
        }
        json_t *json = expr_to_json (&value, 1000, &error);
        assert_non_null (json);
        char *plain = json_dumps (json, JSON_ENCODE_ANY | JSON_COMPACT);
        fprintf (out, "%s%s=%s", i ? " " : "", line->name, plain);
        json_object_set_new (values, line->name, json);
        free (plain);
    }
    fclose (out);
    expr_memory_destroy (&memory);
    expr_program_destroy (&program);
    expr_program_destroy (&program);
    json_decref (values);
    return got;
}

// Lines of `name = expression`. Feature B007.
static const struct program_row {
    const char *text, *want;
} program_rows[] = {
    {"a = 'x' + 1; b = #a + 'y'", "a=\"x1\" b=\"x1y\""},
    {"a = 1\nb = a + 1\r\n\n;;\nc = b * 2\n", "a=1 b=2 c=4"},
    {"", ""},
    {"\n ; // nothing\n", ""},
    {"// first; a = 'no\na = 1 // one; b = 2\nb = 3", "a=1 b=3"},
    {"a = ';' + \"\\n\"; b = 'x\ny'", "a=\";\\n\" b=\"x\\ny\""},
    {"a = 'it''s; '; b = 1", "a=\"it's; \" b=1"},
    {"a = [1,\n2]", "! column 8: the text ends"},
    {"a = 1; a = 2", "! column 8: there is a line before"},
    {"a = 1\n\n  a = 2", "! line 3, column 3: there is a line before"},
    {"true = 1", "! column 1: reserved"},
    {"item = 1", "! column 1: reserved"},
    {"idc = 1", "! reserved"},
    {"#a = 1", "! column 1: want NAME = EXPRESSION"},
    {"a 1", "! column 3: want ="},
    {"a == 1", "! column 3: want ="},
    {"a =", "! column 4: the text ends"},
    {"a = ; b = 1", "! column 5: the text ends"},
    {"a", "! column 2: want ="},
    {"1 = a", "! column 1: want NAME"},
    {"a = 1 +\nb = 2", "! column 8: the text ends"},
    {"a = 1\nb = 1 + #n", "a=1 ! line 2, column 9: no such variable: n"},
    {"a = 1\nb = 'open", "! line 2, column 5: the string is not closed"},
    {"a = ) 'open", "! column 5: unexpected"},
    {"é = 1", "! column 1"},
};

static void test_programs (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (program_rows); i++) {
        const struct program_row *row = &program_rows[i];
        char *got = run_program (span_text (row->text));
        bool same = row->want[0] == '!' ? got[0] == '!' && strstr (got, row->want + 2)
                                        : strncmp (got, row->want, strlen (row->want)) == 0;
        if (!same)
            fail_msg ("%s became %s, not %s", row->text, got, row->want);
        free (got);
    }
}

// Lines have the bounds of expressions; the whole has one of its own.
static void test_large (void **state)
{
    (void)state;
    char *text = malloc (EXPR_PROGRAM_MAX + 1), *got;
    memset (text, ' ', EXPR_PROGRAM_MAX + 1);
    got = run_program (span_of (text, EXPR_PROGRAM_MAX));
    assert_string_equal (got, "");
    free (got);
    got = run_program (span_of (text, EXPR_PROGRAM_MAX + 1));
    assert_non_null (strstr (got, "! column 1: longer than 65536 bytes"));
    free (got);
    memcpy (text, "a =", 3);
    got = run_program (span_of (text, EXPR_TEXT_MAX + 4));
    assert_non_null (strstr (got, "! column 4: longer than 4096 bytes"));
    free (got);
    memcpy (text, "a = 1 \x01", 7);
    got = run_program (span_of (text, EXPR_TEXT_MAX + 100));
    assert_string_equal (got, "! column 7: this character begins nothing");
    free (got);
    memcpy (text, "a = 'open", 9);
    got = run_program (span_of (text, EXPR_TEXT_MAX + 100));
    assert_non_null (strstr (got, "! column 5: the string is not closed"));
    free (got);
    char *at = text;
    for (int i = 0; i < EXPR_LINES_MAX; i++)
        at += sprintf (at, "a%d = %d\n", i, i);
    got = run_program (span_of (text, (size_t)(at - text)));
    assert_non_null (strstr (got, " a999=999"));
    free (got);
    at += sprintf (at, "b = 1");
    got = run_program (span_of (text, (size_t)(at - text)));
    assert_string_equal (got, "! line 1001, column 1: more than 1000 lines");
    free (got);
    free (text);
}

static void test_refs (void **state)
{
    (void)state;
    static const struct ref_row {
        enum expr_ref_kind kind;
        const char *name, *member;
        int column;
    } want[] = {
        {EXPR_REF_VARIABLE, "day", NULL, 1},   {EXPR_REF_INPUT, "input", NULL, 8},
        {EXPR_REF_STEP, "load", "value", 20},  {EXPR_REF_STEP, "my-step", "state", 44},
        {EXPR_REF_RUN, "run", "id", 72},       {EXPR_REF_IDC, "idc", "loadDate", 81},
        {EXPR_REF_ITEM, "item", NULL, 96},     {EXPR_REF_INDEX, "index", NULL, 103},
        {EXPR_REF_SELF, "self", "value", 111}, {EXPR_REF_RESULT, "result", NULL, 124},
        {EXPR_REF_VARIABLE, "xs", NULL, 133},  {EXPR_REF_VARIABLE, "x", NULL, 165},
    };
    static const char text[] =
        "#day + input.a.b + steps.load.value.rows + steps['my-step']['state'] + "
        "run.id + idc.loadDate + item + index + self.value + result + "
        "xs.map(x, x + day + item.x).y + x";
    struct expr *expr = NULL;
    struct expr_error error;
    const struct expr_ref *refs;
    if (expr_compile (span_text (text), &expr, &error))
        fail_msg ("%s", error.reason.text);
    size_t count = expr_refs (expr, &refs);
    for (size_t i = 0; i < count && i < ROWS (want); i++)
        if (refs[i].kind != want[i].kind || strcmp (refs[i].name, want[i].name) != 0 ||
            refs[i].line != 1 || refs[i].column != want[i].column ||
            (refs[i].member == NULL) != (want[i].member == NULL) ||
            (refs[i].member && strcmp (refs[i].member, want[i].member) != 0))
            fail_msg ("%zu is %s.%s at %d", i, refs[i].name, refs[i].member, refs[i].column);
    assert_int_equal (count, ROWS (want));
    expr_destroy (&expr);
}

// Names that a param may have, and those that are reserved. Feature B014.
static void test_names (void **state)
{
    (void)state;
    static const char *const valid[] = {"a", "_", "A9_", "trueish", "steps2", "idcx"};
    static const char *const invalid[] = {"",       "9a",         "a-b", "a b",     "é",     "true",
                                          "false",  "null",       "in",  "default", "has",   "idc",
                                          "input",  "steps",      "run", "item",    "index", "self",
                                          "result", "__proto__ ", "a:b"};
    char name[66];
    for (size_t i = 0; i < ROWS (valid); i++)
        if (!expr_name_valid (span_text (valid[i])))
            fail_msg ("%s is refused", valid[i]);
    for (size_t i = 0; i < ROWS (invalid); i++)
        if (expr_name_valid (span_text (invalid[i])))
            fail_msg ("%s is taken", invalid[i]);
    memset (name, 'a', sizeof name);
    assert_true (expr_name_valid (span_of (name, 64)));
    assert_false (expr_name_valid (span_of (name, 65)));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_programs),
        cmocka_unit_test (test_large),
        cmocka_unit_test (test_refs),
        cmocka_unit_test (test_names),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
