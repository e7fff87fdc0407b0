// What was decided where the rules leave a choice: each case is a row that names it. Source:
// proto/flows.md 18.4 to 18.10. What needs a station is not here.
#include "flow_player.h"

#define CAUGHT(step) ", \"after\": [" ON (step, "\"caught\"") "]"
#define UNDO         ", \"undo\": {\"target\": \"u\"}"
#define BOTH(join)   ", \"after\": [\"a\", \"b\"], \"join\": " join

static const struct row rows[] = {
    // a source that ends after its join has started
    {"a late source keeps its state, and the join does not start again",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH ("\"any\"")), "a+ c+ b+", "FFF",
     FLOW_WELL, "a b c"},
    {"a late source's failure stops nothing, as the join passed",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH ("\"any\"")), "a+ c+ b-", "FXF",
     FLOW_WELL, "a b c"},
    {"a late source's failure counts where it stops something",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH ("\"any\"")) ", \"d\": " CALL (
         AFTER ("b")),
     "a+ c+ b-", "FXFB", FLOW_BADLY, "a b c"},
    {"a late source has no value yet, later it has",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH (
         "\"any\"") ", \"if\": \"!has(steps.b.value)\"") ", \"d\": " CALL (", \"after\": [\"b\", "
                                                                           "\"c\"], \"if\": "
                                                                           "\"has(steps.b.value)"
                                                                           "\""),
     "a+ c+ b+ d+", "FFFF", FLOW_WELL, "a b c d"},

    // n above what can still be live
    {"n that cannot be reached waits for all edges",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH ("2")), "a-", "XNN", FLOW_OPEN,
     "a b"},
    {"then it is blocked if one is broken",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH ("2")), "a- b+", "XFB",
     FLOW_BADLY, "a b"},
    {"and skipped by rule if none is",
     "\"a\": " CALL () ", \"b\": " CALL (", \"if\": \"false\"") ", \"c\": " CALL (BOTH ("2")), "a+",
     "FSS", FLOW_WELL, "a"},
    {"a skipped source does not hide a broken one",
     "\"a\": " CALL () ", \"b\": " CALL (", \"if\": \"false\"") ", \"c\": " CALL (BOTH ("2")), "a-",
     "XSB", FLOW_BADLY, "a"},

    // output fails
    {"a retry after an output that failed runs the call again",
     "\"a\": " CALL (", \"output\": \"result.no\""), "a+ < a+", "X", FLOW_BADLY, "a a"},
    {"the failure of an output blocks",
     "\"a\": " CALL (", \"output\": \"result.no\"") ", \"b\": " CALL (AFTER ("a")), "a+", "XB",
     FLOW_BADLY, "a"},
    {"and is caught as any failure",
     "\"a\": " CALL (", \"output\": \"result.no\"") ", \"b\": " CALL (CAUGHT ("a")), "a+ b+", "XF",
     FLOW_WELL, "a b"},

    // signals out of turn
    {"a signal that came before its step is taken when it waits",
     "\"a\": " CALL () ", \"b\": {\"after\": [\"a\"], \"signal\": {}}", "b! a+", "FF", FLOW_WELL,
     "a"},
    {"a rejection that came before its step as well",
     "\"a\": " CALL () ", \"b\": {\"after\": [\"a\"], \"signal\": {}}", "b? a+", "FX", FLOW_BADLY,
     "a"},
    {"a signal after its step is late", "\"a\": {\"signal\": {}}, \"b\": " CALL (), "a! a!", "FN",
     FLOW_OPEN, "b", "late: a is finished"},
    {"a signal of a run that has ended is late", "\"a\": {\"signal\": {}}", "a! a!", "F", FLOW_WELL,
     "", "late"},
    {"a signal in `undoing` is late",
     "\"a\": " CALL (UNDO) ", \"b\": " CALL () ", \"c\": {\"after\": [\"b\"], \"signal\": {}}",
     "a+ b- c! ~a+", "FXB", FLOW_BADLY, "a b ~a", "late"},
    {"behind a retry a signal is sent anew", "\"a\": {\"signal\": {}}", "a! <a a!", "F", FLOW_WELL,
     ""},
    {"a kept signal does not outlive a retry of its step",
     "\"a\": " CALL () ", \"b\": {\"after\": [\"a\"], \"signal\": {}}", "b! <a a/ a+", "FR",
     FLOW_OPEN, "a a"},
    {"a signal to a step that waits for none", "\"a\": " CALL (), "a!", "N", FLOW_OPEN, "a",
     "waits for no signal"},

    // suspend
    {"a suspended run goes on with what is in flight, and starts nothing",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")) ", \"w\": {\"wait\": 5}", "suspend a+ w*",
     "FNF", FLOW_OPEN, "a"},
    {"it does not end while it is suspended", "\"a\": " CALL (), "suspend a+", "F", FLOW_OPEN, "a"},
    {"and ends when it is resumed", "\"a\": " CALL (), "suspend a+ resume", "F", FLOW_WELL, "a"},
    {"a signal ends its step in a suspended run",
     "\"a\": {\"signal\": {}}, \"b\": " CALL (AFTER ("a")), "suspend a!", "FN", FLOW_OPEN, ""},
    {"items of a suspended run do not start",
     "\"a\": " CALL (", \"for_each\": 2, \"max_parallel\": 1"), "suspend a.0+", "R", FLOW_OPEN,
     "a.0"},
    {"its timeout ends the suspension", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")),
     "suspend a+ timeout", "FC", FLOW_LATE, "a"},
    {"a cancel does, too", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "suspend a+ cancel",
     "FC", FLOW_STOPPED, "a"},

    // cancel
    {"a cancelled run is in flight until its undo is over",
     "\"a\": " CALL (UNDO) ", \"b\": " CALL (), "a+ cancel b/", "FC", FLOW_OPEN, "a b ~a"},
    {"then it is cancelled", "\"a\": " CALL (UNDO) ", \"b\": " CALL (), "a+ cancel b/ ~a+", "FC",
     FLOW_STOPPED, "a b ~a"},
    {"a second cancel is rejected", "\"a\": " CALL (), "cancel cancel", "N", FLOW_OPEN, "a",
     "only with force"},
    {"also while it is undone", "\"a\": " CALL (UNDO) ", \"b\": " CALL (), "a+ cancel b/ cancel",
     "FC", FLOW_OPEN, "a b ~a", "only with force"},
    {"with force no more is undone",
     "\"a\": " CALL (UNDO) ", \"b\": " CALL (UNDO) ", \"c\": " CALL (), "a+ b+ cancel c/ force ~b/",
     "FFC", FLOW_STOPPED, "a b c ~b"},
    {"what has ended is not cancelled", "\"a\": " CALL (), "a+ cancel", "F", FLOW_WELL, "a",
     "has ended"},
    {"what becomes ready after a cancel is cancelled",
     "\"a\": " CALL () ", \"b\": " CALL (", \"after\": [" ON ("a", "\"ended\"") "]"), "cancel a/",
     "CC", FLOW_STOPPED, "a"},

    // a person cancels or removes the plan of a step
    {"a cancelled step is an uncaught failure", "\"a\": " CALL (), "a/", "C", FLOW_BADLY, "a"},
    {"`continue` is for failures only",
     "\"a\": " CALL (", \"on_error\": \"continue\"") ", \"b\": " CALL (AFTER ("a")), "a/", "CB",
     FLOW_BADLY, "a"},
    {"`caught` is, too", "\"a\": " CALL () ", \"b\": " CALL (CAUGHT ("a")), "a/", "CS", FLOW_BADLY,
     "a"},
    {"but a join that passed all the same handles it",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (BOTH ("\"any\"")), "a/ b+ c+", "CFF",
     FLOW_WELL, "a b c"},
    {"`ended` is live",
     "\"a\": " CALL () ", \"b\": " CALL (", \"after\": [" ON ("a", "\"ended\"") "]"), "a/ b+", "CF",
     FLOW_BADLY, "a b"},
    {"an item that a person cancelled counts as failed",
     "\"a\": " CALL (", \"for_each\": 2, \"tolerate\": 1"), "a.0/ a.1+", "F", FLOW_WELL, "a.0 a.1"},

    {"an item that a cancel of the run ended is not tolerated",
     "\"a\": " CALL (", \"for_each\": 2, \"tolerate\": 1"), "a.0+ cancel a.1/", "C", FLOW_STOPPED,
     "a.0 a.1"},
    {"nor one that its timeout ended", "\"a\": " CALL (", \"for_each\": 2, \"tolerate\": 1"),
     "a.0+ timeout a.1/", "C", FLOW_LATE, "a.0 a.1"},
    {"one that ended well all the same is kept",
     "\"a\": " CALL (", \"for_each\": 2, \"tolerate\": 1"), "a.0- cancel a.1+", "F", FLOW_STOPPED,
     "a.0 a.1"},
    {"a retry calls items that a cancel ended",
     "\"a\": " CALL (", \"for_each\": 2, \"tolerate\": 1"), "a.0+ cancel a.1/ < a.1+", "F",
     FLOW_WELL, "a.0 a.1 a.1"},

    // ends that come twice, late, or of another generation
    {"a second end changes nothing", "\"a\": " CALL () ", \"b\": " CALL (), "a+ a-", "FN",
     FLOW_OPEN, "a b", NULL, 1},
    {"nor does one of an older generation", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")),
     "a+ <a b/ a-", "NN", FLOW_OPEN, "a b a", NULL, 1},
    {"nor of an item", "\"a\": " CALL (", \"for_each\": 2"), "a.0+ a.0- a.2+", "R", FLOW_OPEN,
     "a.0 a.1", NULL, 2},
    {"nor of an undo", "\"a\": " CALL (UNDO) ", \"b\": " CALL (), "a+ b- ~a+ ~a+ ~a-", "FX",
     FLOW_BADLY, "a b ~a", NULL, 2},
    {"nor a timer of a wait that is over", "\"a\": {\"wait\": 5}, \"b\": " CALL (), "a* a*", "FN",
     FLOW_OPEN, "b", NULL, 1},
    {"nor a timeout of a run that has ended", "\"a\": " CALL (), "a+ timeout", "F", FLOW_WELL, "a",
     NULL, 1},

    // undo of what a retry kept
    {"undo goes by the order of ends over the whole run",
     "\"a\": " CALL (UNDO) ", \"b\": " CALL (UNDO) ", \"c\": " CALL (), "a+ b- <b b+ c- ~b+ ~a+",
     "FFX", FLOW_BADLY, "a b c b ~b ~a"},
    {"what ended before what a retry repeated is undone after it",
     "\"a\": " CALL (UNDO) ", \"b\": " CALL (UNDO) ", \"c\": " CALL (), "b+ a+ <b b1+ c- ~b+ ~a+",
     "FFX", FLOW_BADLY, "a b c b ~b ~a"},

    // sub-flows
    {"a run that has ended is undone when its caller is",
     "\"a\": " CALL (UNDO) ", \"b\": " CALL (UNDO), "a+ b+ undo ~b+ ~a+", "FF", FLOW_WELL,
     "a b ~b ~a"},
    {"once", "\"a\": " CALL (UNDO), "a+ undo ~a+ undo", "F", FLOW_WELL, "a ~a", "was undone"},
    {"not before it has ended", "\"a\": " CALL (UNDO), "undo", "N", FLOW_OPEN, "a",
     "has not ended"},
    {"without an undo of its steps that is over at once", "\"a\": " CALL (), "a+ undo", "F",
     FLOW_WELL, "a"},

    // ready steps
    {"ready steps start in the order of the definition",
     "\"d\": " CALL () ", \"a\": " CALL () ", \"c\": " CALL () ", \"b\": " CALL (), "", "NNNN",
     FLOW_OPEN, "d a c b"},
    {"also those that one end makes ready",
     "\"r\": " CALL () ", \"c\": " CALL (AFTER ("r")) ", \"a\": " CALL (
         AFTER ("r")) ", \"b\": " CALL (AFTER ("r")),
     "r+", "FNNN", FLOW_OPEN, "r c a b"},
    {"a for_each gives way after each item",
     "\"a\": " CALL (", \"for_each\": 3") ", \"b\": " CALL () ", \"c\": " CALL (), "", "RNN",
     FLOW_OPEN, "a.0 b c a.1 a.2"},
};

static const struct row flow_rows[] = {
    {"params that fail: the run has failed before any step, without undo and finally",
     "\"params\": {\"p\": \"=1 / 0\"}, \"finally\": \"b\", \"steps\": {\"a\": " CALL (
         UNDO) ", \"b\": " CALL () "}",
     "", "NN", FLOW_BADLY, ""},
    {"a list of params may have expressions",
     "\"params\": {\"p\": [\"=1 + 1\", 3], \"q\": \"=p[0] + 1\"}, \"steps\": {\"a\": " CALL (
         ", \"if\": \"q == 3\"") "}",
     "a+", "F", FLOW_WELL, "a"},
    {"a required param that is missing, too",
     "\"params\": {\"p\": {\"required\": true}}, \"steps\": {\"a\": " CALL () "}", "", "N",
     FLOW_BADLY, ""},
    {"`finally` that fails: a run that would have finished has failed, and is not undone",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL (UNDO) ", \"b\": " CALL () "}", "a+ b-", "FX",
     FLOW_BADLY, "a b"},
    {"with `continue` it has finished",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL (
         ", \"on_error\": \"continue\"") "}",
     "a+ b-", "FX", FLOW_WELL, "a b"},
    {"`finally` that fails changes no other outcome",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}", "cancel a/ b-",
     "CX", FLOW_STOPPED, "a b"},
    {"a run is in flight until `finally` is over",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}", "cancel a/", "CN",
     FLOW_OPEN, "a b"},
    {"`finally` comes after undo",
     "\"finally\": \"c\", \"steps\": {\"a\": " CALL (
         UNDO) ", \"b\": " CALL () ", \"c\": " CALL () "}",
     "a+ b- ~a+ c+", "FXF", FLOW_BADLY, "a b ~a c"},
    {"an undo of the caller does not run `finally` again",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL (UNDO) ", \"b\": " CALL () "}",
     "a+ b+ undo ~a+", "FF", FLOW_WELL, "a b ~a"},
    {"a run that was cancelled with force is not undone by its caller",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL (
         UNDO) ", \"b\": " CALL () ", \"c\": " CALL () "}",
     "a+ force c/ undo", "FNC", FLOW_STOPPED, "a c"},

    // items
    {"an item that fail_fast ended is not tolerated",
     "\"fail_fast\": true, \"steps\": {\"a\": " CALL (
         ", \"for_each\": 2, \"tolerate\": 1") ", \"b\": " CALL () ", \"c\": " CALL (AFTER ("a")) "}",
     "a.0+ b- a.1/", "CXB", FLOW_BADLY, "a.0 b a.1"},
};

static void test_steps (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf (text, sizeof text, "{\"flow\": \"f\", \"steps\": {%s}}", rows[i].definition);
        play (&rows[i], text);
    }
}

static void test_flows (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof flow_rows / sizeof *flow_rows; i++) {
        char text[1024];
        snprintf (text, sizeof text, "{\"flow\": \"f\", %s}", flow_rows[i].definition);
        play (&flow_rows[i], text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (test_steps),
                                       cmocka_unit_test (test_flows)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
