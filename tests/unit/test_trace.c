// W3C trace context: what is valid, and the ids of runs.
#include "rows.h"

#include "trace.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void valid (void **state)
{
    static const struct {
        const char *name;
        struct span text;
        bool valid;
    } rows[] = {
        {"sampled", BYTES (PARENT), true},
        {"not sampled", BYTES ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"), true},
        {"nothing", BYTES (""), false},
        {"a version to come", BYTES ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
         false},
        {"capitals", BYTES ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), false},
        {"no digit", BYTES ("00-0gf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), false},
        {"flags", BYTES ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x"), false},
        {"no trace", BYTES ("00-00000000000000000000000000000000-b7ad6b7169203331-01"), false},
        {"no span", BYTES ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"), false},
        {"too short", BYTES ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"), false},
        {"too long", BYTES (PARENT "-"), false},
        {"other places", BYTES ("00-0af7651916cd43dd8448eb211c80319cb-7ad6b7169203331-01"), false},
        {"no dash before the flags",
         BYTES ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331a01"), false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        uint8_t *copy = exact_bytes (rows[i].text);
        CHECK_INT (rows[i].name, trace_valid (span_of (copy, rows[i].text.size)), rows[i].valid);
        free (copy);
    }
}

static void of_runs (void **state)
{
    static const struct {
        const char *name;
        struct trace_run run;
        bool same_trace, same_span; // as of the first row that repeats
    } rows[] = {
        {"the same run", {7, 100, 50, true}, true, true},
        {"a retry", {7, 101, 50, true}, true, false},
        {"the next occurrence", {7, 102, 60, true}, false, false},
        {"of another plan", {8, 100, 50, true}, false, false},
    };
    char first[TRACE_SIZE], own[TRACE_SIZE];
    (void)state;
    trace_of_run (PARENT, &rows[0].run, first);
    CHECK ("another trace", memcmp (first, PARENT, 35) != 0);
    for (size_t i = 0; i < ROWS (rows); i++) {
        trace_of_run (PARENT, &rows[i].run, own);
        CHECK (rows[i].name, trace_valid (span_text (own)));
        CHECK_INT (rows[i].name, memcmp (own, first, 35) == 0, rows[i].same_trace);
        CHECK_INT (rows[i].name, memcmp (own + 36, first + 36, 16) == 0, rows[i].same_span);
        CHECK_TEXT (rows[i].name, own + 52, "-01");
    }
    const struct trace_run once = {7, 100, 50, false};
    trace_of_run (PARENT, &once, own);
    CHECK_INT ("a plan that runs once", memcmp (own, PARENT, 36), 0);
    CHECK ("a span of its own", memcmp (own + 36, PARENT + 36, 16) != 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (valid), cmocka_unit_test (of_runs)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
