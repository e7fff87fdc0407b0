// Which plan runs next: priorities, groups in turn, due times; and limits of runs and their rate.
#include "rows.h"

#include <string.h>

#include "limit_state.h"
#include "ready.h"

enum { SECOND = 1000000 };

// Plans as "ID PRIORITY GROUP DUE", and the ids in the order in which they are taken.
struct plan_row {
    uint64_t id;
    int priority;
    const char *group;
    int64_t due_us;
};

static const struct order_row {
    const char *name;
    struct plan_row plans[8];
    uint64_t order[8];
} orders[] = {
    {"by due time", {{1, 0, "", 30}, {2, 0, "", 10}, {3, 0, "", 20}}, {2, 3, 1}},
    {"of one moment by id", {{3, 0, "", 5}, {1, 0, "", 5}, {2, 0, "", 5}}, {1, 2, 3}},
    {"the highest priority first",
     {{1, 0, "", 1}, {2, 5, "", 9}, {3, 255, "", 20}, {4, 5, "", 8}},
     {3, 4, 2, 1}},
    {"groups take turns",
     {{1, 0, "a", 1}, {2, 0, "a", 2}, {3, 0, "a", 3}, {4, 0, "b", 4}, {5, 0, "b", 5}},
     {1, 4, 2, 5, 3}},
    {"plans of no group are one", {{1, 0, "", 1}, {2, 0, "", 2}, {3, 0, "a", 9}}, {1, 3, 2}},
    {"a group of two priorities is two",
     {{1, 1, "a", 1}, {2, 0, "a", 0}, {3, 1, "b", 5}},
     {1, 3, 2}},
};

static void plans_are_taken_in_their_order (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (orders); i++) {
        const struct order_row *row = &orders[i];
        struct ready ready = {0};
        struct limit_table limits = {0};
        const struct ready_group *group;
        struct ready_plan taken;
        int64_t wake_us = INT64_MAX;
        bool waits = false;
        for (const struct plan_row *plan = row->plans; plan->id; plan++)
            ready_add (&ready, (struct ready_plan){plan->due_us, plan->id}, plan->priority,
                       span_text (plan->group), &limits);
        for (const uint64_t *id = row->order; *id; id++) {
            CHECK (row->name, ready_take (&ready, 100, 100, &taken, &group, &wake_us, &waits));
            CHECK_INT (row->name, taken.id, *id);
        }
        CHECK (row->name, !ready_take (&ready, 100, 100, &taken, &group, &wake_us, &waits));
        CHECK (row->name, ready.count == 0 && !waits);
        ready_free (&ready);
    }
}

// Take the next plan. Returns when it was due; -1: there is none.
static int64_t due_of_taken (struct ready *ready, int64_t now_us)
{
    const struct ready_group *group;
    struct ready_plan taken;
    int64_t wake_us = INT64_MAX;
    bool waits = false;
    bool any = ready_take (ready, now_us, now_us, &taken, &group, &wake_us, &waits);
    return any ? taken.due_us : -1;
}

// A plan that was moved to an earlier time has two entries, and both are returned in their order.
static void a_plan_that_was_moved (void **state)
{
    (void)state;
    struct ready ready = {0};
    struct limit_table limits = {0};
    ready_add (&ready, (struct ready_plan){50, 1}, 0, span_text (""), &limits);
    ready_add (&ready, (struct ready_plan){10, 1}, 0, span_text (""), &limits);
    CHECK_INT ("moved", due_of_taken (&ready, 20), 10);
    CHECK_INT ("not due yet", due_of_taken (&ready, 20), -1);
    CHECK_INT ("where it was", due_of_taken (&ready, 60), 50);
    ready_free (&ready);
}

static void what_is_not_due_is_left (void **state)
{
    (void)state;
    struct ready ready = {0};
    struct limit_table limits = {0};
    const struct ready_group *group;
    struct ready_plan taken;
    int64_t wake_us = INT64_MAX;
    bool waits = false;
    ready_add (&ready, (struct ready_plan){50, 1}, 9, span_text ("g"), &limits);
    ready_add (&ready, (struct ready_plan){10, 2}, 0, span_text (""), &limits);
    CHECK ("later", ready_take (&ready, 20, 20, &taken, &group, &wake_us, &waits));
    CHECK_INT ("later", taken.id, 2);
    CHECK ("later", !ready_take (&ready, 20, 20, &taken, &group, &wake_us, &waits));
    CHECK_INT ("before it", ready_count_before (&ready, 0, span_text (""), 99, 7), 1);
    CHECK ("out of turn", ready_take_id (&ready, 1, 60, &taken, &group));
    CHECK_TEXT ("out of turn", group->name, "g");
    ready_free (&ready);
}

static void limits_hold_runs_back (void **state)
{
    (void)state;
    struct limit_table limits = {0};
    const struct limit two = {.concurrency = 2}, rate = {.rate = 2, .burst = 3};
    int64_t now_us = 1000 * SECOND, wake_us = INT64_MAX;
    CHECK ("none", !limits_find (&limits, span_text ("s:jobs")));
    CHECK ("set", limits_set (&limits, span_text ("s:jobs"), &two));
    CHECK ("the same", !limits_set (&limits, span_text ("s:jobs"), &two));
    struct limit_state *jobs = limits_find (&limits, span_text ("s:jobs"));
    for (int i = 0; i < 2; i++) {
        CHECK ("two", limit_allows (jobs, now_us, &wake_us));
        limit_begin_run (jobs, now_us);
    }
    CHECK ("a third", !limit_allows (jobs, now_us, &wake_us) && wake_us == INT64_MAX);
    limit_end_run (jobs);
    CHECK_INT ("one more", limit_left (jobs, now_us, &wake_us), 1);

    limits_set (&limits, span_text ("g:mail"), &rate);
    struct limit_state *mail = limits_find (&limits, span_text ("g:mail"));
    for (int i = 0; i < 3; i++) {
        CHECK ("a burst", limit_allows (mail, now_us, &wake_us));
        CHECK ("is written", limit_begin_run (mail, now_us));
    }
    CHECK ("no fourth", !limit_allows (mail, now_us, &wake_us));
    CHECK_INT ("but half a second later", wake_us, now_us + SECOND / 2);
    CHECK ("but half a second later", limit_allows (mail, wake_us, &wake_us));
    CHECK_INT ("a burst after a pause", limit_left (mail, now_us + 60 * SECOND, &wake_us), 3);
    limit_undo_begin (mail);
    CHECK ("what was not run", limit_allows (mail, now_us, &wake_us));
    limits_set (&limits, span_text ("g:mail"), NULL);
    CHECK_INT ("none any more", limit_left (mail, now_us, &wake_us), INT64_MAX);
    limits_free (&limits);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (plans_are_taken_in_their_order),
        cmocka_unit_test (a_plan_that_was_moved),
        cmocka_unit_test (what_is_not_due_is_left),
        cmocka_unit_test (limits_hold_runs_back),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
