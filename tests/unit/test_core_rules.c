// The rules of the core on who may submit, and who is run: bounds on plans, free slots and limits
// of targets, how far ahead plans are taken.
#include "core_rules.h"

// -- how many plans there may be

static void bounds_hold_and_removal_makes_room (void **state)
{
    (void)state;
    static const struct bound_row {
        const char *name;
        struct core_bounds bounds;
        const char *bound;
        bool other_target, other_caller; // whether a plan of another one is accepted
    } rows[] = {{"in all", {.plans = 2}, "max_plans", false, false},
                {"of a target", {.plans_station = 2}, "max_plans_station", true, false},
                {"of a caller", {.plans_caller = 2}, "max_plans_caller", false, true}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        const struct bound_row *row = &rows[i];
        struct core_refusal refusal;
        start (&row->bounds);
        core_load_caller (core, text ("c:me"), 0);
        core_load_caller (core, text ("c:you"), 0);
        CHECK_INT (row->name, try_submit (1, "jobs", "c:me", &refusal), CORE_DONE);
        CHECK_INT (row->name, try_submit (2, "jobs", "c:me", &refusal), CORE_DONE);
        CHECK_INT (row->name, try_submit (3, "jobs", "c:me", &refusal), CORE_FULL);
        CHECK_TEXT (row->name, refusal.bound, row->bound);
        CHECK_INT (row->name, refusal.most, 2);
        // An id that is in use is the first reason.
        CHECK_INT (row->name, try_submit (1, "jobs", "c:me", &refusal), CORE_IN_USE);
        CHECK_INT (row->name, try_submit (4, "news", "c:me", &refusal),
                   row->other_target ? CORE_DONE : CORE_FULL);
        CHECK_INT (row->name, try_submit (5, "jobs", "c:you", &refusal),
                   row->other_caller ? CORE_DONE : CORE_FULL);
        acked ();
        core_remove (core, &(struct core_removal){text ("jobs"), 1, text ("c:me")}, now_us);
        CHECK_INT (row->name, try_submit (6, "jobs", "c:me", &refusal), CORE_DONE);
        CHECK_INT (row->name, try_submit (7, "jobs", "c:me", &refusal), CORE_FULL);
        finish ();
    }
}

static void plans_that_redis_has_count (void **state)
{
    (void)state;
    struct core_refusal refusal;
    start (&(struct core_bounds){.plans_station = 3, .plans_caller = 2});
    core_load_count (core, text ("jobs"), 2);
    assert_false (core_knows_caller (core, text ("c:me")));
    core_load_caller (core, text ("c:me"), 1);
    assert_int_equal (try_submit (1, "jobs", "c:me", &refusal), CORE_DONE);
    assert_int_equal (try_submit (2, "jobs", "c:me", &refusal), CORE_FULL);
    assert_string_equal (refusal.bound, "max_plans_station");
    assert_int_equal (try_submit (2, "news", "c:me", &refusal), CORE_FULL);
    assert_string_equal (refusal.bound, "max_plans_caller");
    finish ();
}

static void a_refused_submission_leaves_nothing (void **state)
{
    (void)state;
    struct core_refusal refusal;
    start (&(struct core_bounds){.plans = 1});
    assert_int_equal (try_submit (1, "jobs", "c:me", &refusal), CORE_DONE);
    const char *why;
    core_close_batch (core);
    assert_true (core_data_apply (data, core_drop_submissions (core), &why));
    core_batch_acked (core, now_us);
    assert_true (!data->plans[1].message && !data->plans[1].queued && !data->plans[1].listed);
    assert_string_equal (take (NULL), "");
    assert_int_equal (try_submit (1, "jobs", "c:me", &refusal), CORE_DONE);
    acked ();
    assert_string_equal (take (NULL), "1");
    finish ();
}

// -- who is run

static void a_target_takes_no_more_than_its_free_slots (void **state)
{
    (void)state;
    static const struct slots_row {
        const char *name;
        struct core_slots targets[2];
        size_t count;
        int64_t limit;
        const char *first, *then; // those that are taken, and when all have free slots
    } rows[] = {
        {"all", {{{0}}}, 0, 32, "1 2 3 4", ""},
        {"one of jobs", {{{0}, 1}}, 1, 32, "1 3 4", "2"},
        {"none of jobs", {{{0}, 0}}, 1, 32, "3 4", "1 2"},
        {"none of jobs but its probe", {{{0}, 0, false, 2}}, 1, 32, "2 3 4", "1"},
        {"none of jobs, and few are asked for", {{{0}, 0}}, 1, 1, "3", "1 2 4"},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct core_slots targets[2];
        begin ();
        for (uint64_t id = 1; id <= 4; id++)
            submit_at (id, id < 3 ? "jobs" : "news", now_us - 9 + (int64_t)id, "");
        memcpy (targets, rows[i].targets, sizeof targets);
        targets[0].target = text ("jobs");
        const struct core_wish wish = {.limit = rows[i].limit,
                                       .lease_us = LEASE_US,
                                       .targets = targets,
                                       .target_count = rows[i].count};
        CHECK_TEXT (rows[i].name, take_by (&wish, NULL), rows[i].first);
        CHECK_TEXT (rows[i].name, take (NULL), rows[i].then);
        finish ();
    }
}

static void a_probe_is_taken_when_it_is_due (void **state)
{
    (void)state;
    const struct core_slots slots = {.target = text ("jobs"), .probe = 1};
    const struct core_wish wish = {
        .limit = 32, .lease_us = LEASE_US, .targets = &slots, .target_count = 1};
    begin ();
    submit_at (1, "jobs", now_us + SECOND, "");
    assert_string_equal (take_by (&wish, NULL), "");
    now_us += SECOND;
    assert_string_equal (take_by (&wish, NULL), "1");
    finish ();
}

static void what_is_due_within_reach_is_taken (void **state)
{
    (void)state;
    static const struct reach_row {
        const char *name;
        int64_t due_us, ahead_us; // from now on
        const char *ids;
        int64_t at_us;
    } rows[] = {{"due", -5, 0, "1", 0},
                {"now", 0, 0, "1", 0},
                {"not yet", 30000, 0, "", 0},
                {"within reach", 9000, 40000, "1", 9000},
                {"at its end", 40000, 40000, "1", 40000},
                {"behind it", 40001, 40000, "", 0}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct core_taken taken = {0};
        begin ();
        submit_at (1, "jobs", now_us + rows[i].due_us, "");
        const struct core_wish wish = {
            .limit = 32, .lease_us = LEASE_US, .ahead_us = rows[i].ahead_us};
        CHECK_TEXT (rows[i].name, take_by (&wish, &taken), rows[i].ids);
        if (taken.id)
            CHECK_INT (rows[i].name, taken.at_us - now_us, rows[i].at_us);
        else
            CHECK_INT (rows[i].name, core_next_us (core) - now_us, rows[i].due_us);
        finish ();
    }
}

static void limits_count_runs_from_before_and_of_all_targets (void **state)
{
    (void)state;
    struct core_taken taken = {0};
    begin ();
    core_load_run (core, text ("jobs"), 9, text ("1699999999000000"));
    core_set_limit (core, text ("s:jobs"), &(struct limit){.concurrency = 2});
    core_set_limit (core, text ("g:g"), &(struct limit){.concurrency = 1});
    submit (1);
    submit (2);
    assert_string_equal (take (&taken), "1");
    assert_true (core_waits_for_limit (core));
    assert_int_equal (end (taken.exec_id, CORE_LEASE), CORE_DONE);
    assert_string_equal (take (NULL), "");
    assert_int_equal (end (taken.exec_id, CORE_OVER), CORE_DONE);
    assert_string_equal (take (NULL), "2");
    submit_at (3, "news", now_us, "g");
    submit_at (4, "mail", now_us, "g");
    assert_int_equal (strlen (take (NULL)), 1);
    core_set_limit (core, text ("g:g"), NULL);
    assert_int_equal (strlen (take (NULL)), 1);
    finish ();
}

// The run of a flow counts for its target until it ends, over looks and owners, and for its group
// not at all: its calls do.
static void the_run_of_a_flow_counts_for_its_target_only (void **state)
{
    (void)state;
    struct core_taken first = {0}, looked = {0};
    begin ();
    core_set_limit (core, text ("s:jobs"), &(struct limit){.concurrency = 1});
    core_set_limit (core, text ("g:g"), &(struct limit){.concurrency = 1});
    submit_at (1, "jobs", now_us, "g");
    assert_string_equal (take (&first), "1");
    submit (2);
    submit_at (3, "news", now_us, "g");
    assert_string_equal (take (NULL), "");
    assert_int_equal (end (first.exec_id, CORE_FLOW), CORE_DONE);
    assert_string_equal (take (NULL), "3"); // of the group, at another target
    core_reset (core);
    core_data_load (data, core);
    core_set_limit (core, text ("s:jobs"), &(struct limit){.concurrency = 1});
    now_us += 9 * SECOND;
    assert_string_equal (take (NULL), "");
    assert_true (core_waits_for_limit (core));
    assert_true (core_set_flow_due (core, text ("jobs"), 1, now_us)); // a look is not held back
    assert_string_equal (take (&looked), "1");
    assert_int_equal (looked.exec_id, first.exec_id);
    assert_string_equal (take (NULL), "");
    assert_int_equal (end (first.exec_id, CORE_OVER), CORE_DONE);
    assert_string_equal (take (NULL), "2");
    finish ();
}

static void a_limit_of_the_settings_holds_until_another_is_set (void **state)
{
    (void)state;
    begin ();
    for (uint64_t id = 1; id <= 6; id++)
        submit (id);
    core_configure_limit (core, text ("s:jobs"), &(struct limit){.concurrency = 1});
    assert_string_equal (take (NULL), "1");
    core_set_limit (core, text ("s:jobs"), &(struct limit){.concurrency = 3});
    assert_string_equal (take (NULL), "2 3");
    core_set_limit (core, text ("s:jobs"), NULL);
    assert_string_equal (take (NULL), "");
    core_configure_limit (core, text ("s:jobs"), &(struct limit){0});
    assert_string_equal (take (NULL), "4 5 6");
    finish ();
}

// -- more than memory holds

static void submit_class (uint64_t id, int priority, const char *group)
{
    struct core_refusal refusal;
    const struct core_submission submission = {.target = text ("jobs"),
                                               .id = id,
                                               .message = text ("{\"revision\":1}"),
                                               .revision = 1,
                                               .queued = true,
                                               .due_us = now_us - SECOND + (int64_t)id,
                                               .priority = priority,
                                               .group = text (group),
                                               .caller = text ("c:me")};
    assert_int_equal (core_submit (core, &submission, now_us, &refusal), CORE_DONE);
    acked ();
}

// One after the other.
static const char *taken_in_order (void)
{
    static char order[128];
    const struct core_wish wish = {.limit = 1, .lease_us = LEASE_US};
    order[0] = '\0';
    for (const char *id; *(id = take_by (&wish, NULL));)
        snprintf (order + strlen (order), sizeof order - strlen (order), "%s%s", *order ? " " : "",
                  id);
    return order;
}

static const struct cut_row {
    const char *name;
    int64_t bytes;
    const char *priorities; // of the plans 1, 2, ...: a digit each
    const char *groups;     // a letter each, '-' = none
    bool reread;            // once more is read as after an edit by hand
    const char *order;
    bool unread; // some are, when all were submitted
} cuts[] = {
    {"all in memory", 4096, "000000000000", "------------", false, "1 2 3 4 5 6 7 8 9 10 11 12",
     false},
    {"the later half is read again", 300, "000000000000", "------------", false,
     "1 2 3 4 5 6 7 8 9 10 11 12", true},
    {"also after all was read anew", 300, "000000000000", "------------", true,
     "1 2 3 4 5 6 7 8 9 10 11 12", true},
    {"what has a higher priority stays", 300, "000000000099", "------------", false,
     "11 12 1 2 3 4 5 6 7 8 9 10", true},
    {"groups in turn", 4096, "00000000", "aaaabbbb", false, "1 5 2 6 3 7 4 8", false},
};

static void what_is_more_than_memory_holds_is_read_again (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (cuts); i++) {
        const struct cut_row *row = &cuts[i];
        const struct core_wish wish = {.limit = 1, .lease_us = LEASE_US};
        int64_t until_us, count = (int64_t)strlen (row->priorities);
        start (&(struct core_bounds){.outcomes = 100, .ready_bytes = row->bytes});
        for (uint64_t id = 1; id <= (uint64_t)count; id++) {
            char group[2] = {row->groups[id - 1]};
            submit_class (id, row->priorities[id - 1] - '0', group[0] == '-' ? "" : group);
            core_has_due (core, &wish, now_us);
        }
        if (row->reread) {
            core_reread (core);
            acked ();
            core_has_due (core, &wish, now_us);
        }
        CHECK_INT (row->name, core_unread (core, text ("jobs")) > 0, row->unread);
        CHECK_INT (row->name, core_expected_due (core, now_us, &until_us), count);
        CHECK_TEXT (row->name, taken_in_order (), row->order);
        CHECK_INT (row->name, core_unread (core, text ("jobs")), 0);
        CHECK_INT (row->name, core_expected_due (core, now_us, &until_us), 0);
        finish ();
    }
}

// An operator may write any group into plan:class.
static void a_group_that_is_too_long_is_none (void **state)
{
    (void)state;
    char class[128] = "5:";
    const struct limit limit = {.concurrency = 1};
    const struct core_wish wish = {.limit = 1, .lease_us = LEASE_US};
    memset (class + 2, 'x', 100);
    now_us = 1700000000ll * SECOND;
    core = core_new (&(struct core_bounds){0});
    core_set_limit (core, text ("g:a"), &limit);
    const struct core_member member = {text ("jobs"), 1, now_us - SECOND, text (class)};
    core_load_page (core, &member, 1, 1, now_us);
    assert_true (core_has_due (core, &wish, now_us));
    assert_int_equal (core_before (core, text ("jobs"), 5, text (""), now_us, 2), 1);
    core_destroy (&core);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (bounds_hold_and_removal_makes_room),
        cmocka_unit_test (what_is_more_than_memory_holds_is_read_again),
        cmocka_unit_test (plans_that_redis_has_count),
        cmocka_unit_test (a_refused_submission_leaves_nothing),
        cmocka_unit_test (a_target_takes_no_more_than_its_free_slots),
        cmocka_unit_test (a_probe_is_taken_when_it_is_due),
        cmocka_unit_test (what_is_due_within_reach_is_taken),
        cmocka_unit_test (limits_count_runs_from_before_and_of_all_targets),
        cmocka_unit_test (the_run_of_a_flow_counts_for_its_target_only),
        cmocka_unit_test (a_limit_of_the_settings_holds_until_another_is_set),
        cmocka_unit_test (a_group_that_is_too_long_is_none),
    };
    return cmocka_run_group_tests_name ("rules of the core", tests, NULL, NULL);
}
