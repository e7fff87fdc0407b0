// A filter for the oracle: for each line of standard input
//   ZONE TIME VALUES EXPRESSION
// prints the expression's value as JSON, or "! REASON". Fields are separated by a tab. TIME is the
// variable t, VALUES an object with the others.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "zonefile.h"

enum { LINE_SIZE = 16384, NAME_SIZE = 64, VALUE_MAX = 65536 };

// The zone of the line before.
static struct {
    char name[NAME_SIZE];
    struct zone *zone;
} last;

struct values {
    int64_t time;
    const json_t *others;
};

static int fail (const char *what)
{
    fprintf (stderr, "expr_dump: %s\n", what);
    return -1;
}

static int select_zone (const char *name)
{
    if (last.zone && strcmp (last.name, name) == 0)
        return 0;
    struct reason reason = {""};
    zone_destroy (&last.zone);
    last.zone = zonefile_load (name, &reason);
    snprintf (last.name, sizeof last.name, "%s", name);
    return last.zone ? 0 : fail (reason.text);
}

static int resolve (void *context, const struct expr_ref *ref, struct expr_value *ret,
                    struct reason *reason)
{
    (void)reason;
    const struct values *values = context;
    const json_t *value = json_object_get (values->others, ref->name);
    if (ref->kind == EXPR_REF_VARIABLE && strcmp (ref->name, "t") == 0)
        *ret = expr_of_time (values->time);
    else if (value && !ref->member)
        *ret = expr_of_json (value);
    else
        return EXPR_UNKNOWN;
    return 0;
}

static void print_value (const char *text, const struct values *values)
{
    struct expr_error error = {.code = 0};
    struct expr *expr = NULL;
    struct expr_memory *memory = expr_memory_new ();
    struct expr_value value;
    struct expr_env env = {.resolve = resolve, .context = (void *)values, .zone = last.zone};
    char *json = NULL;
    size_t size;
    int rc = expr_compile (span_text (text), &expr, &error);
    if (!rc)
        rc = expr_evaluate (expr, &env, memory, &value, &error);
    if (!rc)
        rc = expr_write_json (&value, VALUE_MAX, &json, &size, &error);
    if (rc)
        printf ("! %s\n", error.reason.text);
    else
        puts (json);
    free (json);
    expr_memory_destroy (&memory);
    expr_destroy (&expr);
}

static int answer (char *line)
{
    line[strcspn (line, "\n")] = '\0';
    const char *zone = strsep (&line, "\t"), *time = strsep (&line, "\t");
    const char *others = strsep (&line, "\t");
    struct reason reason = {""};
    struct values values = {0, NULL};
    if (!line)
        return fail ("fields are missing");
    if (select_zone (zone))
        return -1;
    if (!expr_time_parse (span_text (time), NULL, &values.time))
        return fail ("no such time");
    json_t *read = expr_read_json (span_text (others), &reason);
    if (!read)
        return fail (reason.text);
    values.others = read;
    print_value (line, &values);
    json_decref (read);
    return 0;
}

int main (void)
{
    static char line[LINE_SIZE];
    int failed = 0;
    while (!failed && fgets (line, sizeof line, stdin))
        failed = answer (line);
    zone_destroy (&last.zone);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
