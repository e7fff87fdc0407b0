// Flows: rows of a definition, events, and the states of the steps and the run after them.
#include "flow_player.h"

#define LET_Q(value) ", \"let\": {\"q\": \"" value "\"}"
#define UNDO_Q       ", \"undo\": {\"target\": \"u\", \"args\": [\"=q\"]}"

static const struct row rows[] = {
    {"a chain", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "a+ b+", "FF", FLOW_WELL, "a b"},
    {"a failure blocks", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "a-", "XB", FLOW_BADLY,
     "a"},
    {"continue", "\"a\": " CALL (", \"on_error\": \"continue\"") ", \"b\": " CALL (AFTER ("a")),
     "a- b+", "XF", FLOW_WELL, "a b"},
    {"failed only reports",
     "\"a\": " CALL () ", \"b\": " CALL (", \"after\": [" ON ("a", "\"failed\"") "]"), "a- b+",
     "XF", FLOW_BADLY, "a b"},
    {"caught handles",
     "\"a\": " CALL () ", \"b\": " CALL (", \"after\": [" ON ("a", "\"caught\"") "]"), "a- b+",
     "XF", FLOW_WELL, "a b"},
    {"a caught step that was skipped by rule handles nothing",
     "\"a\": " CALL () ", \"b\": " CALL (
         ", \"if\": \"false\", \"after\": [" ON ("a", "\"caught\"") "]"),
     "a-", "XS", FLOW_BADLY, "a"},
    {"dead edges do not count: an if and its join",
     "\"a\": " CALL (", \"if\": \"false\"") ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [\"a\", \"b\"]"),
     "b+ c+", "SFF", FLOW_WELL, "b c"},
    {"all edges dead: skipped by rule",
     "\"a\": " CALL (", \"if\": \"false\"") ", \"b\": " CALL (AFTER ("a")), "", "SS", FLOW_WELL,
     ""},
    {"an else",
     "\"a\": " CALL (", \"if\": \"false\"") ", \"b\": " CALL (
         ", \"after\": [" ON ("a", "\"skipped\"") "]"),
     "b+", "SF", FLOW_WELL, "b"},
    {"any starts once",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [\"a\", \"b\"], \"join\": \"any\""),
     "a+ b+ c+", "FFF", FLOW_WELL, "a b c"},
    {"any started all the same: the failure stops nothing",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [\"a\", \"b\"], \"join\": \"any\""),
     "a- b+ c+", "XFF", FLOW_WELL, "a b c"},
    {"over a blocked step to any",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")) ", \"c\": " CALL () ", \"d\": " CALL (
         ", \"after\": [\"b\", \"c\"], \"join\": 1"),
     "a- c+ d+", "XBFF", FLOW_WELL, "a c d"},
    {"n above what can be live: blocked when all are decided",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [\"a\", \"b\"], \"join\": 2"),
     "a- b+", "XFB", FLOW_BADLY, "a b"},
    {"n above what can be live: skipped when none is broken",
     "\"a\": " CALL (", \"if\": \"false\"") ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [\"a\", \"b\"], \"join\": \"majority\""),
     "b+", "SFS", FLOW_WELL, "b"},
    {"all_done",
     "\"a\": " CALL () ", \"b\": " CALL (", \"after\": [" ON ("a", "[\"ended\", \"skipped\"]") "]"),
     "a/ b+", "CF", FLOW_BADLY, "a b"},
    {"a step that a person cancelled is not caught",
     "\"a\": " CALL (", \"on_error\": \"continue\"") ", \"b\": " CALL (
         ", \"after\": [" ON ("a", "\"caught\"") "]"),
     "a/", "CS", FLOW_BADLY, "a"},
    {"an error of an if", "\"a\": " CALL (", \"if\": \"1 / 0 == 1\""), "", "X", FLOW_BADLY, ""},
    {"output fails though the work was done", "\"a\": " CALL (", \"output\": \"result.no\""), "a+",
     "X", FLOW_BADLY, "a"},
    {"computing steps place nothing",
     "\"a\": {\"let\": {\"x\": \"1 + 1\"}}, \"b\": " CALL (
         AFTER ("a") ", \"if\": \"steps.a.value.x == 2\""),
     "b+", "FF", FLOW_WELL, "b"},
    {"items, three at a time by max_parallel of the step",
     "\"a\": " CALL (", \"for_each\": 3, \"max_parallel\": 1"), "a.0+ a.1+ a.2+", "F", FLOW_WELL,
     "a.0 a.1 a.2"},
    {"no items: finished", "\"a\": " CALL (", \"for_each\": []"), "", "F", FLOW_WELL, ""},
    {"one failure too many: no further item starts",
     "\"a\": " CALL (", \"for_each\": 3, \"max_parallel\": 1"), "a.0-", "X", FLOW_BADLY, "a.0"},
    {"tolerated", "\"a\": " CALL (", \"for_each\": 3, \"tolerate\": \"34%\""), "a.0- a.1+ a.2+",
     "F", FLOW_WELL, "a.0 a.1 a.2"},
    {"only failed items run again", "\"a\": " CALL (", \"for_each\": 2"), "a.0- a.1+ < a.0+", "F",
     FLOW_WELL, "a.0 a.1 a.0"},
    {"an item that is named runs again, and no other",
     "\"a\": " CALL (", \"for_each\": 3, \"tolerate\": 1"), "a.0- a.1+ a.2- <a.2 a.2+", "F",
     FLOW_WELL, "a.0 a.1 a.2 a.2"},
    {"an item that had finished, too, with another generation",
     "\"a\": " CALL (", \"for_each\": 2"), "a.0+ a.1+ <a.1 a.1+ a.1:1+", "F", FLOW_WELL,
     "a.0 a.1 a.1", .dropped = 1},
    {"an item that is named does not cancel the others", "\"a\": " CALL (", \"for_each\": 3"),
     "a.0- <a.0 a.1+ a.2+ a.0+", "F", FLOW_WELL, "a.0 a.1 a.2 a.0"},
    {"failed items that are not named count again when those that are have ended",
     "\"a\": " CALL (", \"for_each\": 2"), "a.0- a.1- <a.0 a.0+", "X", FLOW_BADLY, "a.0 a.1 a.0"},
    {"an item that is named runs, however many others have failed",
     "\"a\": " CALL (", \"for_each\": 3"), "a.0- a.1+ a.2- <a.0", "R", FLOW_OPEN,
     "a.0 a.1 a.2 a.0"},
    {"so does one that had finished", "\"a\": " CALL (", \"for_each\": 3"),
     "a.0+ a.1- a.2- <a.0 a.0:1+", "X", FLOW_BADLY, "a.0 a.1 a.2 a.0"},
    {"and one that never started, and no other",
     "\"a\": " CALL (", \"for_each\": 4, \"max_parallel\": 1"), "a.0- <a.3 a.3+", "X", FLOW_BADLY,
     "a.0 a.3"},
    {"those that never started follow when no more have failed than is tolerated",
     "\"a\": " CALL (", \"for_each\": 3, \"max_parallel\": 1"), "a.0- <a.0 a.0+ a.1+ a.2+", "F",
     FLOW_WELL, "a.0 a.0 a.1 a.2"},
    {"one after the other is named", "\"a\": " CALL (", \"for_each\": 3"),
     "a.0+ a.1- a.2- <a.1 a.1+ <a.2 a.2+", "F", FLOW_WELL, "a.0 a.1 a.2 a.1 a.2"},
    {"what was named and cancelled is named no more",
     "\"a\": " CALL (", \"for_each\": 4, \"max_parallel\": 1"), "a.0- <a.1 cancel a.1/ <a.3 a.3+",
     "X", FLOW_BADLY, "a.0 a.1 a.3"},
    {"an item of a blocked step cannot run",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a") ", \"for_each\": 2"),
     "a+ b.0- b.1- <a a1- <b.0", "XB", FLOW_BADLY, "a b.0 b.1 a",
     .refused = "b is blocked, and cannot run: a failed"},
    {"it can with the source that blocks it", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")),
     "a- <b < a+ b+", "FF", FLOW_WELL, "a a b", .refused = "b is blocked"},
    {"what was skipped by rule cannot run",
     "\"a\": " CALL (", \"if\": \"1 > 2\"") ", \"b\": " CALL (AFTER ("a")), "<b", "SS", FLOW_WELL,
     "", .refused = "b was skipped by rule"},
    {"total_timeout: when its plan is cancelled, it has failed", "\"a\": " CALL (TOTAL), "a* a/",
     "X", FLOW_BADLY, "a"},
    {"until then it has not ended", "\"a\": " CALL (TOTAL), "a*", "N", FLOW_OPEN, "a"},
    {"a result comes too late", "\"a\": " CALL (TOTAL), "a* a+", "X", FLOW_BADLY, "a"},
    {"its timer goes with it", "\"a\": " CALL (TOTAL) ", \"b\": " CALL (TOTAL), "a+ a* b- b*", "FX",
     FLOW_BADLY, "a b", .dropped = 2},
    {"a cancel came before", "\"a\": " CALL (TOTAL), "cancel a* a/", "C", FLOW_STOPPED, "a"},
    {"a cancel comes after it", "\"a\": " CALL (TOTAL), "a* cancel a/", "X", FLOW_STOPPED, "a"},
    {"it has another one when it is called again", "\"a\": " CALL (TOTAL), "a* a/ < a* a/ < a+",
     "F", FLOW_WELL, "a a a"},
    {"a retry while it is being cancelled", "\"a\": " CALL (TOTAL), "a* <a a/ a+", "F", FLOW_WELL,
     "a a"},
    {"it is skipped", "\"a\": " CALL (TOTAL) ", \"b\": " CALL (AFTER ("a")), ">a b+", "PF",
     FLOW_WELL, "a b"},
    {"the total_timeout of an item is its own", "\"a\": " CALL (TOTAL ", \"for_each\": 3"),
     "a.0+ a.1* a.2+ a.1/", "X", FLOW_BADLY, "a.0 a.1 a.2"},
    {"and may be tolerated", "\"a\": " CALL (TOTAL ", \"for_each\": 2, \"tolerate\": 1"),
     "a.0* a.1+ a.0/ a.0*", "F", FLOW_WELL, "a.0 a.1", .dropped = 1},
    {"an item is skipped, and its timer goes", "\"a\": " CALL (TOTAL ", \"for_each\": 2"),
     ">a.0 a.1+ a.0*", "F", FLOW_WELL, "a.0 a.1", .dropped = 1},
    {"no such item", "\"a\": " CALL (", \"for_each\": 2"), "a.0- a.1+ <a.2 <a.x <a.", "X",
     FLOW_BADLY, "a.0 a.1", .refused = "no such step: 'a.'"},
    {"a recorded list without items needs no free slot",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"d\": " CALL () ", \"c\": " CALL (
         AFTER ("a") ", \"for_each\": []"),
     "a+ <a b+ a1+", "FFNF", FLOW_OPEN, "a b a d"},
    {"an item is skipped", "\"a\": " CALL (", \"for_each\": 2"), "a.0- a.1+ >a.0", "F", FLOW_WELL,
     "a.0 a.1"},
    {"an item is skipped before the sources of its step have ended",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a") ", \"for_each\": 2"),
     "a+ b.0- b.1- <a >b.0 a1+ b.1+", "FF", FLOW_WELL, "a b.0 b.1 a b.1"},
    {"an item of a blocked step is skipped: it stays blocked",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a") ", \"for_each\": 2"),
     "a+ b.0- b.1- <a a1- >b.0", "XB", FLOW_BADLY, "a b.0 b.1 a"},
    {"and the item stays skipped when its step goes on",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a") ", \"for_each\": 2"),
     "a+ b.0- b.1- <a a1- >b.0 >a b.1+", "PF", FLOW_WELL, "a b.0 b.1 a b.1"},
    {"a for_each starves nobody",
     "\"a\": " CALL (", \"for_each\": 5") ", \"b\": " CALL (AFTER ("c")) ", \"c\": " CALL (),
     "c+ a.0+ a.1+ a.2+ a.3+ a.4+ b+", "FFF", FLOW_WELL, "a.0 c b a.1 a.2 a.3 a.4"},
    {"retry by default", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "a- < a+ b+", "FF",
     FLOW_WELL, "a a b"},
    {"retry of what had finished raises the generation",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "a+ b- <a a+ a1+ b+", "FF", FLOW_WELL,
     "a b a b", .dropped = 1},
    {"retry while a call is in flight waits for its end",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "a+ <a b/ a1+ b+", "FF", FLOW_WELL,
     "a b a b"},
    {"nothing has failed", "\"a\": " CALL (), "a+ <", "F", FLOW_WELL, "a",
     .refused = "nothing has failed"},
    {"skip of a failed one", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "a- >a b+", "PF",
     FLOW_WELL, "a b"},
    {"skip of a blocked one",
     "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")) ", \"c\": " CALL (AFTER ("b")), "a- >b c+",
     "XPF", FLOW_BADLY, "a c"},
    {"what a person's skip leads to is decided anew",
     "\"a\": " CALL (", \"on_error\": \"block\"") ", \"b\": " CALL (
         ", \"after\": [" ON ("a", "\"caught\"") "]"),
     "a- >a b+", "PF", FLOW_WELL, "a b"},
    {"a wait", "\"a\": {\"wait\": 5}, \"b\": " CALL (AFTER ("a")), "a* b+", "FF", FLOW_WELL, "b"},
    {"a wait that is over", "\"a\": {\"wait\": \"1970-01-01T00:00:00Z\"}", "", "F", FLOW_WELL, ""},
    {"the value of a wait is null",
     "\"a\": {\"wait\": 5}, \"b\": " CALL (AFTER ("a") ", \"if\": \"steps.a.value == null\""),
     "a* b+", "FF", FLOW_WELL, "b"},
    {"so is that of one that is over",
     "\"a\": {\"wait\": \"1970-01-01T00:00:00Z\"}, \"b\": " CALL (
         AFTER ("a") ", \"if\": \"steps.a.value == null\""),
     "b+", "FF", FLOW_WELL, "b"},
    {"a wait is skipped", "\"a\": {\"wait\": 5}", ">a", "P", FLOW_WELL, ""},
    {"a signal before its step waits is kept",
     "\"a\": " CALL () ", \"b\": {\"after\": [\"a\"], \"signal\": {}}", "b! a+", "FF", FLOW_WELL,
     "a"},
    {"one rejection fails it", "\"a\": {\"signal\": {\"count\": 2}}", "a! a?", "X", FLOW_BADLY, ""},
    {"no signal in time", "\"a\": {\"signal\": {\"timeout\": 5}}", "a*", "X", FLOW_BADLY, ""},
    {"a timeout that skips", "\"a\": {\"signal\": {\"timeout\": 5, \"on_timeout\": \"skip\"}}",
     "a*", "S", FLOW_WELL, ""},
    {"a timeout with a value",
     "\"a\": {\"signal\": {\"timeout\": 5, \"on_timeout\": {\"value\": 1}}}", "a*", "F", FLOW_WELL,
     ""},
    {"behind a retry signals are sent anew", "\"a\": {\"signal\": {}}", "a! <a", "R", FLOW_OPEN,
     ""},
    {"a timeout that says a value computes it",
     "\"p\": " CALL () ", \"a\": {\"after\": [\"p\"], \"signal\": {\"timeout\": 5, \"on_timeout\": "
                       "{\"value\": "
                       "\"=steps.p.value.no\"}}}",
     "p+ a*", "FX", FLOW_BADLY, "p"},
    {"what a cancel cancelled is retried by default",
     "\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [\"a\", \"b\"], \"join\": \"any\""),
     "b+ cancel a/ c/ < a+ c+", "FFF", FLOW_WELL, "a b c a c"},
    {"the run's timeout ends a suspension", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")),
     "suspend a+ timeout", "FC", FLOW_LATE, "a"},
    {"suspend: nothing else starts", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "suspend a+",
     "FN", FLOW_OPEN, "a"},
    {"resume", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")), "suspend a+ resume b+", "FF",
     FLOW_WELL, "a b"},
    {"cancel waits for what is in flight", "\"a\": " CALL () ", \"b\": " CALL (AFTER ("a")),
     "cancel a+", "FC", FLOW_STOPPED, "a"},
    {"a second cancel is rejected, with force it is not", "\"a\": " CALL (),
     "cancel cancel force a/", "C", FLOW_STOPPED, "a", .refused = "only with force"},
    {"timeout is as a cancel", "\"a\": " CALL (), "timeout a/", "C", FLOW_LATE, "a"},
    {"undo, the last to end first",
     "\"a\": " CALL (", \"undo\": {\"target\": \"u\"}") ", \"b\": " CALL (
         ", \"undo\": {\"target\": \"u\"}") ", \"c\": " CALL (),
     "b+ a+ c- ~a+ ~b+", "FFX", FLOW_BADLY, "a b c ~a ~b"},
    {"undo of what has started",
     "\"a\": " CALL (", \"undo\": {\"target\": \"u\", \"on\": \"started\"}"), "a- ~a+", "X",
     FLOW_BADLY, "a ~a"},
    {"an undo that fails is parked until done",
     "\"a\": " CALL (", \"undo\": {\"target\": \"u\"}") ", \"b\": " CALL (), "a+ b- ~a-", "FX",
     FLOW_OPEN, "a b ~a"},
    {"an undo is called again",
     "\"a\": " CALL (", \"undo\": {\"target\": \"u\"}") ", \"b\": " CALL (), "a+ b- ~a- reset ~a+",
     "FX", FLOW_BADLY, "a b ~a ~a"},
    {"of a run that was undone only restart is left",
     "\"a\": " CALL (", \"undo\": {\"target\": \"u\"}") ", \"b\": " CALL (),
     "a+ b- ~a- done < restart a1+ b1+", "FF", FLOW_WELL, "a b ~a a b",
     .refused = "restart is left"},
    {"a handled failure undoes nothing",
     "\"a\": " CALL (", \"undo\": {\"target\": \"u\"}") ", \"b\": " CALL (
         ", \"on_error\": \"continue\""),
     "a+ b-", "FX", FLOW_WELL, "a b"},
    {"items are undone, each on its own",
     "\"a\": " CALL (
         ", \"for_each\": 2, \"undo\": {\"target\": \"u\", \"args\": [\"=item\"]}") ", "
                                                                                    "\"b\":"
                                                                                    " " CALL (),
     "a.0+ a.1+ b- ~a.1+ ~a.0+", "FX", FLOW_BADLY, "a.0 b a.1 ~a.1 ~a.0"},
    {"an undo sees the let of its step", "\"a\": " CALL (LET_Q ("1") UNDO_Q) ", \"b\": " CALL (),
     "a+ b- ~a+", "FX", FLOW_BADLY, "a b ~a"},
    {"and of its item",
     "\"a\": " CALL (LET_Q ("item + 1") UNDO_Q ", \"for_each\": 2") ", \"b\": " CALL (),
     "a.0+ a.1+ b- ~a.1+ ~a.0+", "FX", FLOW_BADLY, "a.0 b a.1 ~a.1 ~a.0"},
    {"so does the value of a timeout",
     "\"a\": {\"signal\": {\"timeout\": 5, \"on_timeout\": {\"value\": \"=q\"}}" LET_Q (
         "2") "}, \"b\": " CALL (AFTER ("a") ", \"if\": \"steps.a.value == 2\""),
     "a* b+", "FF", FLOW_WELL, "b"},
    {"the output of a wait is its value",
     "\"a\": {\"wait\": 5, \"output\": \"[result, q]\"" LET_Q ("2") "}, \"b\": " CALL (
         AFTER ("a") ", \"if\": \"steps.a.value == [null, 2]\""),
     "a* b+", "FF", FLOW_WELL, "b"},
    {"and may fail it", "\"a\": {\"wait\": 5, \"output\": \"result.no\"}", "a*", "X", FLOW_BADLY,
     ""},
    {"the output of a signal has what was sent",
     "\"a\": {\"signal\": {}, \"output\": \"[result]\"}, \"b\": " CALL (
         AFTER ("a") ", \"if\": \"steps.a.value == [null]\""),
     "a! b+", "FF", FLOW_WELL, "b"},
    {"that of several a list of it",
     "\"a\": {\"signal\": {\"count\": 2}, \"output\": \"result.size()\"}, \"b\": " CALL (
         AFTER ("a") ", \"if\": \"steps.a.value == 2\""),
     "a! a! b+", "FF", FLOW_WELL, "b"},
    {"the value of a timeout is no result",
     "\"a\": {\"signal\": {\"timeout\": 5, \"on_timeout\": {\"value\": 1}}, \"output\": "
     "\"[result]\"}, \"b\": " CALL (AFTER ("a") ", \"if\": \"steps.a.value == 1\""),
     "a* b+", "FF", FLOW_WELL, "b"},
};

static const struct row flow_rows[] = {
    {"finally runs last", "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}",
     "a- b+", "XF", FLOW_BADLY, "a b"},
    {"finally after cancel",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}", "cancel a/ b+",
     "CF", FLOW_STOPPED, "a b"},
    {"cancel with force: no finally",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}", "force a/", "CN",
     FLOW_STOPPED, "a"},
    {"finally fails", "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}",
     "a+ b-", "FX", FLOW_BADLY, "a b"},
    {"finally reads how it went",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL (
         ", \"if\": \"run.outcome == 'failed' && run.failed == ['a']\"") "}",
     "a- b+", "XF", FLOW_BADLY, "a b"},
    {"finally is reset by a retry",
     "\"finally\": \"b\", \"steps\": {\"a\": " CALL () ", \"b\": " CALL () "}", "a- b+ < a+ b1+",
     "FF", FLOW_WELL, "a b a b"},
    {"fail_fast cancels what is in flight, handlers run",
     "\"fail_fast\": true, \"steps\": {\"a\": " CALL () ", \"b\": " CALL () ", \"c\": " CALL (
         ", \"after\": [" ON ("a", "\"failed\"") "]") ", \"d\": {\"wait\": 5}}",
     "a- b/ c+", "XCFC", FLOW_BADLY, "a b c"},
    {"params fail: nothing starts",
     "\"params\": {\"p\": \"=1 / 0\"}, \"finally\": \"b\", \"steps\": {\"a\": " CALL () ", "
                                                                                        "\"b\":"
                                                                                        " " CALL () "}",
     "", "NN", FLOW_BADLY, ""},
    {"output of the run fails",
     "\"output\": \"=steps.a.value.no\", \"steps\": {\"a\": " CALL () "}", "a+", "F", FLOW_BADLY,
     "a"},
    {"at most max_parallel calls",
     "\"max_parallel\": 1, \"steps\": {\"a\": " CALL () ", \"w\": {\"wait\": 5}, \"b\": " CALL () "}",
     "a+ w* b+", "FFF", FLOW_WELL, "a b"},
};

// B096, B098: joins of all, any, n and a majority with all outcomes of their sources; and which
// failures fail the run.
static void test_steps (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf (text, sizeof text, "{\"flow\": \"f\", \"steps\": {%s}, \"max_parallel\": %d}",
                  rows[i].definition,
                  strstr (rows[i].name, "slot")      ? 1
                  : strstr (rows[i].name, "starves") ? 2
                                                     : 9);
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

// All errors of a definition are reported, each by its path. Features B014, B040.
static const struct {
    const char *definition, *paths;
} error_rows[] = {
    {"[]", " "},
    {"{\"flow\": \"a:b\", \"steps\": {}}", "flow steps "},
    {"{\"flow\": \"f\", \"stepz\": 1, \"steps\": {\"a\": {}}}", "'stepz' "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"after\": [\"a\"]}}}", "steps.a.after[0] "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"after\": [\"b\"]}, \"b\": {\"after\": [\"a\"]}}}",
     "steps "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"after\": [\"x\"]}, \"b\": {\"join\": 2}}}",
     "steps.a.after[0] steps.b.join "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"target\": \"t\", \"wait\": 1}}}", "steps.a "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"wait\": 1, \"retry\": {}}}}", "steps.a.retry "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"target\": \"=x\"}}}", "steps.a.target "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"target\": \"f\"}}}", "steps.a.target "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"let\": {\"x\": \"steps.b.value\"}}, \"b\": {}}}",
     "steps.a.let.x "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"let\": {\"x\": \"item\", \"y\": \"nope\"}}}}",
     "steps.a.let.x steps.a.let.y "},
    {"{\"flow\": \"f\", \"params\": {\"idc\": 1}, \"steps\": {\"a\": {}}}", "params.idc "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {}, \"b\": {\"after\": [{\"step\": \"a\", \"on\": "
     "\"failed\"}]}}}",
     "steps.b "},
    {"{\"flow\": \"f\", \"steps\": {\"a\": {\"signal\": {\"count\": 0, \"x\": 1}}}}",
     "steps.a.signal steps.a.signal.count "},
    {"{\"flow\": \"f\", \"finally\": \"b\", \"steps\": {\"a\": {\"after\": [\"b\"]}, \"b\": {}}}",
     "steps.a.after[0] "},
};

static void test_errors (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof error_rows / sizeof *error_rows; i++) {
        json_t *errors = NULL, *error;
        char paths[512] = "";
        size_t index;
        struct flow *flow = flow_parse (span_text (error_rows[i].definition), NULL, &errors);
        json_array_foreach (errors, index, error)
            snprintf (paths + strlen (paths), sizeof paths - strlen (paths), "%s ",
                      json_string_value (json_object_get (error, "path")));
        if (flow || strcmp (paths, error_rows[i].paths) != 0)
            fail_msg ("%s: '%s', want '%s'", error_rows[i].definition, paths, error_rows[i].paths);
        json_decref (errors);
    }
}

// -- another version

static struct flow *flow_of (const char *text)
{
    json_t *errors = NULL;
    struct flow *flow = flow_parse (span_text (text), NULL, &errors);
    if (!flow)
        fail_msg ("%s: %s", text, json_dumps (errors, 0));
    return flow;
}

#define VERSION(params, a, b)                                                                      \
    "{\"flow\": \"f\", \"params\": {" params "}, \"steps\": {\"a\": " a ", \"b\": " b "}}"

static const struct {
    const char *name, *newer, *states, *placed; // after a+ b- and a retry with it, and a+ b+
    bool rejected;
} version_rows[] = {
    {"what failed is called by the new text",
     VERSION ("", CALL (), CALL (", \"text\": \"2\"" AFTER ("a"))), "FF", "a b b", false},
    {"what changed and had finished begins anew",
     VERSION ("\"p\": 1", CALL (", \"args\": [\"=p\"]"), CALL (AFTER ("a"))), "FF", "a b a b",
     false},
    {"other edges", VERSION ("", CALL (), CALL ()), "FX", "a b", true},
    {"another order", "{\"flow\": \"f\", \"steps\": {\"b\": {}, \"a\": {\"after\": [\"b\"]}}}",
     "FX", "a b", true},
    {"a step more",
     "{\"flow\": \"f\", \"steps\": {\"a\": {}, \"b\": {\"after\": [\"a\"]}, \"c\": {}}}", "FX",
     "a b", true},
    {"a new param that fails", VERSION ("\"p\": \"=1 / 0\"", CALL (), CALL (AFTER ("a"))), "FX",
     "a b", true},
};

static void test_versions (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof version_rows / sizeof *version_rows; i++) {
        struct flow *old = flow_of (VERSION ("", CALL (), CALL (AFTER ("a")))),
                    *newer = flow_of (version_rows[i].newer);
        struct player player = {.flow = old, .run = flow_run_new (old, "1f")};
        struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1},
                          retry = {.kind = FLOW_RETRY, .item = -1, .former = old, .version = 2};
        struct flow_effects effects = {.count = 0};
        carry (&player, &begin);
        play_word (&player, "a+");
        play_word (&player, "b-");
        flow_step (newer, player.run, &retry, 1000, &effects);
        bool rejected = effects.rejected.text[0];
        if (!rejected)
            player.flow = newer;
        for (size_t j = 0; j < effects.count; j++) {
            strcat (player.placed, " ");
            strcat (player.placed, newer->steps[effects.items[j].step].name);
        }
        flow_effects_clear (&effects);
        play_word (&player, "a1+");
        play_word (&player, "b+");
        char states[3] = {"NNRFXSC"[player.run->nodes[0].state],
                          "NNRFXSC"[player.run->nodes[1].state], '\0'};
        if (rejected != version_rows[i].rejected || strcmp (states, version_rows[i].states) != 0 ||
            strcmp (player.placed, version_rows[i].placed) != 0 ||
            player.run->version != (rejected ? 1 : 2))
            fail_msg ("%s: %s placed '%s', version %d", version_rows[i].name, states, player.placed,
                      player.run->version);
        flow_run_destroy (&player.run, player.flow);
        flow_destroy (&old);
        flow_destroy (&newer);
    }
}

// A retry that is rejected for its params leaves no mark on the items that it named.
static void test_version_rejected_with_items (void **state)
{
    (void)state;
    struct flow *old = flow_of (VERSION ("", CALL (", \"for_each\": 2"), CALL (AFTER ("a")))),
                *newer = flow_of (
                    VERSION ("\"p\": \"=1 / 0\"", CALL (", \"for_each\": 2"), CALL (AFTER ("a"))));
    struct player player = {.flow = old, .run = flow_run_new (old, "1f")};
    json_t *steps = json_pack ("[s]", "a.0");
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1}, retry = {.kind = FLOW_RETRY,
                                                                         .item = -1,
                                                                         .former = old,
                                                                         .version = 2,
                                                                         .steps = steps};
    struct flow_effects effects = {.count = 0};
    carry (&player, &begin);
    play_word (&player, "a.0+");
    play_word (&player, "a.1-");
    flow_step (newer, player.run, &retry, 1000, &effects);
    assert_true (effects.rejected.text[0]);
    assert_int_equal (effects.count, 0);
    flow_effects_clear (&effects);
    play_word (&player, "<");
    assert_string_equal (player.placed, "a.0 a.1 a.1");
    json_decref (steps);
    flow_run_destroy (&player.run, old);
    flow_destroy (&old);
    flow_destroy (&newer);
}

// Whether a step counts for those after it depends on the definition that it ran with.
static void test_version_of_counts (void **state)
{
    (void)state;
    struct flow *old = flow_of (VERSION ("", CALL (), CALL (AFTER ("a")))),
                *newer = flow_of (
                    VERSION ("", CALL (", \"on_error\": \"continue\""), CALL (AFTER ("a"))));
    struct player player = {.flow = old, .run = flow_run_new (old, "1f")};
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1},
                      retry = {.kind = FLOW_RETRY, .item = -1, .former = old, .version = 2};
    carry (&player, &begin);
    play_word (&player, "a-");
    assert_int_equal (player.run->outcome, FLOW_BADLY);
    player.flow = newer;
    carry (&player, &retry);
    play_word (&player, "a-");
    play_word (&player, "b+");
    assert_int_equal (player.run->outcome, FLOW_WELL);
    assert_int_equal (player.run->nodes[1].live, 1);
    flow_run_destroy (&player.run, newer);
    flow_destroy (&old);
    flow_destroy (&newer);
}

// After a restart undo begins again, whatever was suspended before.
static void test_undo_again (void **state)
{
    (void)state;
    struct flow *flow = flow_of (
        "{\"flow\": \"f\", \"steps\": {\"a\": {\"target\": \"t\", \"undo\": {\"target\": \"t\"}}, "
        "\"b\": {\"target\": \"t\", \"after\": [\"a\"]}}}");
    struct player player = {.flow = flow, .run = flow_run_new (flow, "1f")};
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    static const char *const words[] = {"a+", "b-", "~a-", "force", "restart", "a1+", "b1-", "~a+"};
    carry (&player, &begin);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        play_word (&player, words[i]);
    assert_string_equal (player.placed, "a b ~a a b ~a");
    assert_int_equal (player.run->phase, FLOW_ENDED);
    flow_run_destroy (&player.run, flow);
    flow_destroy (&flow);
}

// The error of a for_each counts what has failed by now, and has no other such text in it.
static void test_error_of_items (void **state)
{
    (void)state;
    struct flow *flow = flow_of ("{\"flow\": \"f\", \"steps\": {\"a\": {\"target\": \"t\", "
                                 "\"for_each\": 3, \"tolerate\": 1, \"total_timeout\": 3}}}");
    struct player player = {.flow = flow, .run = flow_run_new (flow, "1f")};
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    static const struct {
        const char *word, *error;
    } words[] = {{"a.0-", "failed"},
                 {"a.1-", "failed"},
                 {"a.2-", "3 of 3 items failed: failed"},
                 {">a.0", "2 of 3 items failed"},
                 {"<a.1", NULL},
                 {"a.1-", "2 of 3 items failed: failed"},
                 {"<a.2", NULL},
                 {"a.2*", "total_timeout: not ended within 3 s"},
                 {"a.2/", "2 of 3 items failed: total_timeout: not ended within 3 s"},
                 {">a.1", NULL}};
    carry (&player, &begin);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        play_word (&player, words[i].word);
        const char *error = player.run->data[0]->error;
        if (!error != !words[i].error || (error && strcmp (error, words[i].error) != 0))
            fail_msg ("%s: '%s'", words[i].word, error ? error : "");
    }
    assert_int_equal (player.run->outcome, FLOW_WELL);
    flow_run_destroy (&player.run, flow);
    flow_destroy (&flow);
}

// A run whose params failed has nothing to be undone, and no `finally`.
static void test_undo_of_nothing (void **state)
{
    (void)state;
    struct flow *flow = flow_of ("{\"flow\": \"f\", \"params\": {\"p\": \"=1 / 0\"}, \"steps\": "
                                 "{\"a\": {\"target\": \"t\"}, \"b\": {\"target\": \"t\"}}, "
                                 "\"finally\": \"b\"}");
    struct player player = {.flow = flow, .run = flow_run_new (flow, "1f")};
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    carry (&player, &begin);
    play_word (&player, "undo");
    assert_string_equal (player.placed, "");
    assert_int_equal (player.run->phase, FLOW_ENDED);
    flow_run_destroy (&player.run, flow);
    flow_destroy (&flow);
}

// Signals that were read count no more for the bound on those that wait.
static void test_signals (void **state)
{
    (void)state;
    struct flow *flow = flow_of ("{\"flow\": \"f\", \"steps\": {\"a\": {\"signal\": {}}, \"b\": "
                                 "{\"signal\": {\"count\": 1000}}, \"c\": {\"signal\": {}}}}");
    struct player player = {.flow = flow, .run = flow_run_new (flow, "1f")};
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    carry (&player, &begin);
    play_word (&player, "a!");
    assert_int_equal (player.run->waiting_signals, 0);
    for (int i = 0; i < 999; i++)
        play_word (&player, "b!");
    assert_int_equal (player.run->waiting_signals, 999);
    play_word (&player, "b!");
    assert_int_equal (player.run->waiting_signals, 0);
    assert_int_equal (player.run->nodes[1].state, FLOW_FINISHED);
    play_word (&player, "c!");
    assert_int_equal (player.run->outcome, FLOW_WELL);
    flow_run_destroy (&player.run, flow);
    flow_destroy (&flow);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (test_steps),
                                       cmocka_unit_test (test_flows),
                                       cmocka_unit_test (test_errors),
                                       cmocka_unit_test (test_versions),
                                       cmocka_unit_test (test_version_of_counts),
                                       cmocka_unit_test (test_version_rejected_with_items),
                                       cmocka_unit_test (test_undo_again),
                                       cmocka_unit_test (test_error_of_items),
                                       cmocka_unit_test (test_undo_of_nothing),
                                       cmocka_unit_test (test_signals)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
