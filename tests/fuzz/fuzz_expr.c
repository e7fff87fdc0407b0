// Expressions and programs: input is a text up to the first NUL, and after it an object with the
// values that it refers to. A text that compiles must end within its bounds, twice with the same
// result.
#include "expr.h"
#include "fuzz.h"
#include "zones.h"

enum { VALUE_MAX = 65536 };

static int resolve (void *context, const struct expr_ref *ref, struct expr_value *ret,
                    struct reason *reason)
{
    (void)reason;
    HOLDS (ref->name[0] || ref->kind == EXPR_REF_STEP);
    const json_t *value = json_object_get (context, ref->member ? ref->member : ref->name);
    if (value)
        *ret = expr_of_json (value);
    else if (ref->kind == EXPR_REF_IDC || strcmp (ref->name, "t") == 0)
        *ret = expr_of_time (1711873800);
    else
        return ref->kind == EXPR_REF_STEP ? EXPR_MISSING : EXPR_UNKNOWN;
    return 0;
}

static void check_error (int rc, const struct expr_error *error)
{
    HOLDS (rc < 0 && rc >= EXPR_LIMIT && (int)error->code == rc);
    HOLDS (error->line >= 0 && error->column >= 0 && !error->line == !error->column);
    check_reason (&error->reason);
}

// The result as JSON, or NULL. It must be within the size limit, and valid JSON.
static char *evaluate (const struct expr *expr, json_t *values)
{
    uint32_t steps = EXPR_STEPS_MAX * 2;
    struct expr_error error = {.code = 0};
    struct expr_memory *memory = expr_memory_new ();
    struct expr_env env = {
        .resolve = resolve, .context = values, .zone = fuzz_zone (1), .steps = &steps};
    struct expr_value value;
    char buffer[EXPR_SCALAR_SIZE];
    struct span text;
    struct reason reason;
    size_t size = 0;
    char *json = NULL;
    int rc = expr_evaluate (expr, &env, memory, &value, &error);
    HOLDS (steps >= EXPR_STEPS_MAX && steps <= EXPR_STEPS_MAX * 2);
    if (!rc) {
        HOLDS (expr_text (&value, buffer, &text) !=
               (value.type == EXPR_NULL || value.type == EXPR_LIST || value.type == EXPR_OBJECT));
        rc = expr_write_json (&value, VALUE_MAX, &json, &size, &error);
    }
    if (rc) {
        check_error (rc, &error);
    } else {
        HOLDS (size <= VALUE_MAX && json[size] == '\0');
        json_t *again = expr_read_json (span_of (json, size), &reason);
        HOLDS (again);
        json_decref (again);
    }
    expr_memory_destroy (&memory);
    return json;
}

static void check_expr (const struct expr *expr, json_t *values)
{
    const struct expr_ref *refs;
    size_t count = expr_refs (expr, &refs);
    for (size_t i = 0; i < count; i++)
        HOLDS (refs[i].name && refs[i].line > 0 && refs[i].column > 0);
    char *first = evaluate (expr, values), *second = evaluate (expr, values);
    HOLDS (!first == !second && (!first || strcmp (first, second) == 0));
    free (first);
    free (second);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span text = feed_text (&feed);
    struct span rest = feed_take (&feed, feed.left.size);
    struct reason reason = {""};
    struct expr_error error = {.code = 0};
    struct expr *expr = NULL;
    struct expr_program *program = NULL;
    json_t *values = expr_read_json (rest, &reason);
    if (!values)
        check_reason (&reason);
    int rc = expr_compile (text, &expr, &error);
    if (rc)
        check_error (rc, &error);
    else
        check_expr (expr, values);
    expr_destroy (&expr);
    rc = expr_program_compile (text, &program, &error);
    if (rc)
        check_error (rc, &error);
    else
        for (size_t i = 0; i < program->count; i++)
            check_expr (program->lines[i].expr, values);
    expr_program_destroy (&program);
    json_decref (values);
    feed_free (&feed);
    return 0;
}
