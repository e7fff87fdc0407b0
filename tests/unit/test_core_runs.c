// The rules of the core on runs and plans: leases, what becomes of runs, broadcasts, admin
// commands, plans that wait for their target.
#include "core_rules.h"

// -- runs

static void a_run_without_a_result_is_lost_when_its_lease_ends (void **state)
{
    (void)state;
    static const struct lost_row {
        const char *name;
        int end; // -1: no answer arrives
        bool again, lost;
    } rows[] = {{"nothing was heard", -1, true, true},
                {"a heartbeat", CORE_LEASE, true, true},
                {"no status: nothing is expected of it", CORE_DOUBT, false, false},
                {"it is tried again", CORE_RETRY, false, false},
                {"the same, and an answer may still come", CORE_RETRY_OUTLIVED, true, false}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct core_taken first = {0}, second = {0};
        begin ();
        submit (1);
        take (&first);
        if (rows[i].end >= 0)
            CHECK_INT (rows[i].name, end (first.exec_id, (enum core_end)rows[i].end), CORE_DONE);
        now_us += 9 * SECOND;
        CHECK_TEXT (rows[i].name, take (NULL), "");
        now_us += LEASE_US;
        CHECK_TEXT (rows[i].name, take (&second), "1");
        CHECK_INT (rows[i].name, second.earlier_may_answer, rows[i].again);
        CHECK_INT (rows[i].name, second.lost, rows[i].lost ? first.exec_id : 0);
        CHECK (rows[i].name, second.exec_id > first.exec_id);
        CHECK_INT (rows[i].name, end (first.exec_id, CORE_OVER), CORE_NOT_CURRENT);
        CHECK_INT (rows[i].name, end (second.exec_id, CORE_OVER), CORE_DONE);
        finish ();
    }
}

// A run whose lease ended may still answer: the plan's next runs show it, whatever their outcome.
static void a_run_that_may_still_answer_is_not_hidden (void **state)
{
    (void)state;
    static const enum core_end ends[] = {CORE_DOUBT, CORE_RETRY, CORE_LEASE};
    for (size_t i = 0; i < ROWS (ends); i++) {
        struct core_taken taken = {0};
        begin ();
        submit (1);
        take (&taken);
        now_us += LEASE_US;
        take (&taken);
        assert_true (taken.earlier_may_answer);
        assert_int_equal (end (taken.exec_id, ends[i]), CORE_DONE);
        now_us += 10 * SECOND;
        assert_string_equal (take (&taken), "1");
        assert_true (taken.earlier_may_answer);
        assert_int_equal (end (taken.exec_id, CORE_RETRY), CORE_DONE);
        // Also by the next owner.
        core_reset (core);
        core_data_load (data, core);
        now_us += 10 * SECOND;
        assert_string_equal (take (&taken), "1");
        assert_true (taken.earlier_may_answer && !taken.lost);
        assert_int_equal (end (taken.exec_id, CORE_OVER), CORE_DONE);
        assert_string_equal (data->plans[1].run, "");
        finish ();
    }
}

static void numbers_of_runs_grow_whatever_the_clock_does (void **state)
{
    (void)state;
    struct core_taken taken = {0};
    uint64_t before = 0;
    begin ();
    for (int i = 0; i < 6; i++) {
        submit ((uint64_t)i + 1);
        now_us += i == 3 ? -3600ll * SECOND : i % 2;
        submit_at ((uint64_t)i + 10, "jobs", now_us - 1, "");
        take (&taken);
        assert_true (taken.exec_id > before);
        before = taken.exec_id;
    }
    core_reset (core); // what the next owner reads is of before that
    core_load_numbers (core, &(struct core_numbers){.exec_id = 5});
    submit_at (7, "jobs", now_us - 1, "");
    take (&taken);
    assert_true (taken.exec_id > before);
    finish ();
}

static void a_commit_is_of_the_run_in_flight_and_its_message (void **state)
{
    (void)state;
    struct core_taken taken = {0};
    struct core_committed committed;
    const struct core_commit on_revision_1 = {
        .end = CORE_LEASE, .queued = true, .due_us = now_us, .decided_on = 1};
    begin ();
    submit (1);
    take (&taken);
    assert_int_equal (end (taken.exec_id + 1, CORE_OVER), CORE_NOT_CURRENT);
    assert_int_equal (end (0, CORE_OVER), CORE_NOT_CURRENT);
    const struct core_change change = {.target = text ("jobs"),
                                       .id = 1,
                                       .message = text ("{\"revision\":2}"),
                                       .revision = 2,
                                       .was_revision = 1,
                                       .exec_id = taken.exec_id,
                                       .caller = text ("c:me"),
                                       .caller_before = text ("c:me")};
    assert_int_equal (core_change (core, &change, now_us), CORE_DONE);
    assert_int_equal (core_change (core, &change, now_us), CORE_CHANGED); // the second time
    acked ();
    assert_int_equal (commit (&on_revision_1, taken.exec_id, &committed), CORE_CHANGED);
    assert_true (span_is (committed.message, "{\"revision\":2}"));
    assert_int_equal (end (taken.exec_id, CORE_GONE), CORE_DONE); // of any revision
    assert_int_equal (end (taken.exec_id, CORE_GONE), CORE_NOT_CURRENT);
    finish ();
}

static void broadcasts_are_one_series (void **state)
{
    (void)state;
    static const struct broadcast_row {
        const char *name;
        int64_t after_s;
        int broadcast;
        int64_t seq;
    } rows[] = {{"a result", 0, CORE_PUBLISHED, 1}, {"none", 0, CORE_UNPUBLISHED, 0},
                {"a failure", 0, CORE_FAILURE, 2},  {"again within a minute", 59, CORE_FAILURE, 0},
                {"a result", 0, CORE_PUBLISHED, 3}, {"a minute later", 1, CORE_FAILURE, 4},
                {"and again", 30, CORE_FAILURE, 0}, {"the next minute", 31, CORE_FAILURE, 5}};
    struct core_taken taken = {0};
    char epoch[24];
    begin ();
    submit (1);
    take (&taken);
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct core_committed committed;
        now_us += rows[i].after_s * SECOND;
        const struct core_commit how = {.end = CORE_LEASE,
                                        .queued = true,
                                        .due_us = now_us + LEASE_US,
                                        .decided_on = -1,
                                        .broadcast = rows[i].broadcast};
        CHECK_INT (rows[i].name, commit (&how, taken.exec_id, &committed), CORE_DONE);
        CHECK_INT (rows[i].name, committed.seq, rows[i].seq);
    }
    // Numbers that were acknowledged and lost are not reused, as the epoch is a new one.
    snprintf (epoch, sizeof epoch, "%s", core_epoch (core));
    core_reset (core);
    struct core_numbers numbers = {.seq = 3, .exec_id = taken.exec_id};
    snprintf (numbers.epoch, sizeof numbers.epoch, "%s", epoch);
    core_load_numbers (core, &numbers);
    char run[32];
    snprintf (run, sizeof run, "%llu", (unsigned long long)taken.exec_id);
    core_load_run (core, text ("jobs"), 1, text (run));
    struct core_committed committed;
    now_us += SECOND;
    const struct core_commit how = {
        .end = CORE_OVER, .decided_on = -1, .broadcast = CORE_PUBLISHED};
    assert_int_equal (commit (&how, taken.exec_id, &committed), CORE_DONE);
    assert_int_equal (committed.seq, 6);
    assert_string_not_equal (core_epoch (core), epoch);
    finish ();
}

// -- admin commands, and plans that wait

static void a_change_moves_the_plan_in_the_queue (void **state)
{
    (void)state;
    static const struct place_row {
        const char *name;
        int place;
        bool flies, queued;
        int64_t due_s; // from now on
        bool is_run;   // when that is over
    } rows[] = {{"it stays", CORE_KEEP, false, true, 5, true},
                {"another time", CORE_AT, false, true, 20, true},
                {"out", CORE_OUT, false, false, 0, false},
                {"out, while it runs", CORE_OUT, true, false, 0, false},
                {"a lease, while it runs", CORE_AT_LEASE, true, true, 20, true}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        const struct place_row *row = &rows[i];
        struct core_taken taken = {0};
        begin ();
        submit_at (1, "jobs", row->flies ? now_us : now_us + 5 * SECOND, "");
        if (row->flies)
            take (&taken);
        const struct core_change change = {.target = text ("jobs"),
                                           .id = 1,
                                           .message = text ("{\"revision\":2}"),
                                           .revision = 2,
                                           .was_revision = 1,
                                           .exec_id = taken.exec_id,
                                           .place = row->place,
                                           .due_us = now_us + 20 * SECOND};
        CHECK_INT (row->name, core_change (core, &change, now_us), CORE_DONE);
        CHECK_INT (row->name, seen (1).exec_id, taken.exec_id);
        acked ();
        CHECK_INT (row->name, data->plans[1].queued, row->queued);
        if (row->queued)
            CHECK_INT (row->name, data->plans[1].score_us - now_us, row->due_s * SECOND);
        now_us += (row->due_s ? row->due_s : 400) * SECOND;
        CHECK_TEXT (row->name, take (NULL), row->is_run ? "1" : "");
        finish ();
    }
}

static void what_was_removed_is_not_run_nor_changed (void **state)
{
    (void)state;
    struct core_taken taken = {0};
    struct core_refusal refusal;
    const struct core_change change = {.target = text ("jobs"), .id = 1, .was_revision = 1};
    begin ();
    submit (1);
    take (&taken);
    core_remove (core, &(struct core_removal){text ("jobs"), 1, text ("c:me")}, now_us);
    assert_int_equal (core_change (core, &change, now_us), CORE_NONE);
    assert_true (seen (1).gone);
    assert_int_equal (end (taken.exec_id, CORE_OVER), CORE_NOT_CURRENT);
    // A plan under its id is another one.
    assert_int_equal (try_submit (1, "jobs", "c:me", &refusal), CORE_DONE);
    acked ();
    assert_int_equal (end (taken.exec_id, CORE_OVER), CORE_NOT_CURRENT);
    struct core_taken next = {0};
    assert_string_equal (take (&next), "1");
    assert_true (!next.earlier_may_answer && !next.lost && next.exec_id > taken.exec_id);
    finish ();
}

static void plans_that_wait_are_due_when_their_target_connects (void **state)
{
    (void)state;
    static const struct wake_row {
        const char *name;
        int64_t score_s; // from now on; -1000 = it is in no queue
        bool is_due;
    } rows[] = {{"later", 500, true}, {"earlier", -5, true}, {"in no queue", -1000, false}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        uint64_t number, later;
        begin ();
        assert_true (core_has_waiting (core, text ("jobs"), &number));
        bool queued = rows[i].score_s != -1000;
        int64_t score_us = queued ? now_us + rows[i].score_s * SECOND : -1;
        submit_at (1, "jobs", score_us, "");
        data->plans[1].queued = queued;
        core_wake (core, &(struct core_member){text ("jobs"), 1, score_us, text ("")}, now_us);
        acked ();
        CHECK_TEXT (rows[i].name, take (NULL), rows[i].is_due ? "1" : "");
        core_clear_waiting (core, text ("jobs"), number);
        CHECK (rows[i].name, !core_has_waiting (core, text ("jobs"), &later));
        finish ();
    }
}

static void a_plan_that_begins_to_wait_is_not_overlooked (void **state)
{
    (void)state;
    uint64_t number, later;
    struct core_taken taken = {0};
    struct core_committed committed;
    begin ();
    submit (1);
    take (&taken);
    core_has_waiting (core, text ("jobs"), &number);
    const struct core_commit how = {.end = CORE_RETRY,
                                    .queued = true,
                                    .due_us = now_us + 60ll * SECOND,
                                    .decided_on = -1,
                                    .waits = true};
    assert_int_equal (commit (&how, taken.exec_id, &committed), CORE_DONE);
    core_clear_waiting (core, text ("jobs"), number); // that was asked before
    assert_true (core_has_waiting (core, text ("jobs"), &later));
    core_wake (core, &(struct core_member){text ("jobs"), 1, how.due_us, text ("")}, now_us);
    acked ();
    assert_string_equal (take (NULL), "1"); // at once, not in a minute
    finish ();
}

static void change_message (const char *message, int64_t revision)
{
    const struct core_change change = {.target = text ("jobs"),
                                       .id = 1,
                                       .message = text (message),
                                       .revision = revision,
                                       .was_revision = revision - 1,
                                       .place = CORE_KEEP};
    assert_int_equal (core_change (core, &change, now_us), CORE_DONE);
}

// While a batch with the plan is in flight it is changed again, and run: the next batch has both.
static void a_change_of_a_plan_that_is_run_in_the_same_batch_is_written (void **state)
{
    const struct core_wish wish = {.limit = 1, .lease_us = LEASE_US};
    struct core_choice choice;
    struct core_taken taken = {0};
    const char *why;
    (void)state;
    begin ();
    submit (1);
    change_message ("{\"revision\":2}", 2);
    assert_true (core_data_apply (data, core_close_batch (core), &why));
    change_message ("{\"revision\":3}", 3);
    assert_int_equal (core_choose (core, &wish, now_us, &choice, 1), 1);
    core_found_score (&choice, data->plans[1].score_us);
    assert_int_equal (core_begin_run (core, &choice, &wish, now_us, &taken), CORE_DONE);
    core_batch_acked (core, now_us);
    acked ();
    CHECK_TEXT ("the last change", data->plans[1].message, "{\"revision\":3}");
    finish ();
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_run_without_a_result_is_lost_when_its_lease_ends),
        cmocka_unit_test (a_change_of_a_plan_that_is_run_in_the_same_batch_is_written),
        cmocka_unit_test (a_run_that_may_still_answer_is_not_hidden),
        cmocka_unit_test (numbers_of_runs_grow_whatever_the_clock_does),
        cmocka_unit_test (a_commit_is_of_the_run_in_flight_and_its_message),
        cmocka_unit_test (broadcasts_are_one_series),
        cmocka_unit_test (a_change_moves_the_plan_in_the_queue),
        cmocka_unit_test (what_was_removed_is_not_run_nor_changed),
        cmocka_unit_test (plans_that_wait_are_due_when_their_target_connects),
        cmocka_unit_test (a_plan_that_begins_to_wait_is_not_overlooked),
    };
    return cmocka_run_group_tests_name ("runs of the core", tests, NULL, NULL);
}
