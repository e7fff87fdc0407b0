// The core's decisions on runs that workers fetch. tests/sim/test_core_pull.c makes them in random
// order.
#include "rows.h"

#include <string.h>

#include "core_pull.h"

enum { SECOND = 1000000, ID = 0x1f };

static int64_t now_us;
static struct core *core;

static struct span jobs (void)
{
    return span_text ("jobs");
}

static const struct rows *flush (void)
{
    static struct rows none;
    if (!core_has_rows (core))
        return &none;
    return core_close_batch (core);
}

static void acked (void)
{
    flush ();
    core_batch_acked (core, now_us);
}

static void submit (uint64_t id, const char *message)
{
    struct core_refusal refusal;
    const struct core_submission submission = {.target = jobs (),
                                               .id = id,
                                               .message = span_text (message),
                                               .revision = 1,
                                               .queued = true,
                                               .due_us = now_us};
    assert_int_equal (core_submit (core, &submission, now_us, &refusal), CORE_DONE);
    acked ();
}

static void start (void)
{
    struct core_cursor cursor;
    now_us = 1700000000ll * SECOND;
    core = core_new (&(struct core_bounds){0});
    core_load_numbers (core, &(struct core_numbers){0});
    assert_true (core_wants_page (core, now_us, &cursor));
    core_load_page (core, NULL, 0, 0, now_us);
}

// Begin the next run, and offer it.
static struct core_offered offer (uint64_t *ret_exec_id)
{
    const struct core_slots slots = {.target = jobs (), .free_slots = 100, .pull = true};
    const struct core_wish wish = {
        .limit = 1, .lease_us = 300ll * SECOND, .targets = &slots, .target_count = 1};
    struct core_choice choice;
    struct core_taken taken;
    struct core_offered offered;
    assert_int_equal (core_choose (core, &wish, now_us, &choice, 1), 1);
    assert_false (choice.needs_read);
    assert_int_equal (core_begin_run (core, &choice, &wish, now_us, &taken), CORE_DONE);
    const struct core_offer given = {
        .target = jobs (),
        .id = taken.id,
        .exec_id = taken.exec_id,
        .already_offered =
            memmem (taken.message.data, taken.message.size, "\"plan_state\":2", 14) != NULL,
        .lease_us = wish.lease_us,
        .found = &(struct core_found){.score_us = -1, .report = -1}};
    assert_int_equal (core_pull_offer (core, &given, now_us, &offered), CORE_DONE);
    *ret_exec_id = taken.exec_id;
    return offered;
}

static size_t take (const char *worker, struct core_pull_taken *ret)
{
    struct core_job given[10];
    const struct core_pull_take wanted = {.target = jobs (),
                                          .worker = span_text (worker),
                                          .limit = 10,
                                          .lease_us = 300ll * SECOND,
                                          .alone = true};
    struct core_pull_taken taken;
    core_pull_take (core, &wanted, now_us, given, &taken);
    if (ret)
        *ret = taken;
    return taken.count;
}

static struct core_worker worker_of (const char *worker, uint64_t exec_id)
{
    return (struct core_worker){.id = ID,
                                .target = jobs (),
                                .worker = span_text (worker),
                                .exec_id = exec_id,
                                .lease_us = 300ll * SECOND};
}

static struct core_reported report (const char *worker, uint64_t exec_id, const char *state)
{
    const struct core_worker of = worker_of (worker, exec_id);
    const struct core_report given = {.success = strcmp (state, "success") == 0,
                                      .reason = span_text (worker)};
    struct core_reported reported;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_DONE);
    return reported;
}

static enum core_result end (uint64_t exec_id, enum core_end how, const char *message)
{
    struct core_committed committed;
    const struct core_commit commit = {.target = jobs (),
                                       .id = ID,
                                       .exec_id = exec_id,
                                       .end = how,
                                       .queued = true,
                                       .due_us = now_us,
                                       .message = message ? span_text (message) : (struct span){0},
                                       .revision = 2,
                                       .decided_on = -1,
                                       .has_team = true};
    return core_commit (core, &commit, now_us, &committed);
}

static const struct end_row {
    const char *name;
    const char *reports[4]; // "WORKER STATE", a second apart
    const char *worker;
    int failed;
} ends[] = {
    {"the last of all", {"a success", "c success", "b success"}, "b", 0},
    {"the last that failed", {"a fail", "b fail", "c success"}, "b", 2},
    {"of those of one moment the last by name", {"b fail", "=c fail", "=a fail"}, "c", 3},
};

static void the_last_that_failed_tells_the_outcome (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (ends); i++) {
        const struct end_row *row = &ends[i];
        struct core_reported reported;
        uint64_t exec_id;
        start ();
        submit (ID, "{\"plan_time\":1,\"workers\":{\"count\":3}}");
        CHECK_INT (row->name, offer (&exec_id).free, 3);
        CHECK_INT (row->name, take ("a", NULL) + take ("b", NULL) + take ("c", NULL), 3);
        CHECK_INT (row->name, take ("d", NULL), 0);
        for (const char *const *one = row->reports; *one; one++) {
            bool same = **one == '=';
            now_us += same ? 0 : SECOND;
            const char name[] = {(*one)[same], '\0'};
            reported = report (name, exec_id, *one + same + 2);
            CHECK_INT (row->name, reported.outcome.complete, one[1] == NULL);
        }
        CHECK (row->name, span_is (reported.outcome.worker, row->worker));
        CHECK (row->name, span_is (reported.outcome.reason, row->worker));
        CHECK_INT (row->name, reported.outcome.failed, row->failed);
        CHECK_INT (row->name, reported.exec_id, exec_id);
        core_destroy (&core);
    }
}

static struct core_reported release (const char *worker, uint64_t exec_id)
{
    const struct core_worker of = worker_of (worker, exec_id);
    const struct core_report given = {.advice = {ADVICE_RELEASE, 30}};
    struct core_reported reported;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_DONE);
    return reported;
}

static void who_released_a_run_may_have_the_next (void **state)
{
    (void)state;
    uint64_t exec_id;
    start ();
    submit (ID, "{\"plan_time\":1}");
    offer (&exec_id);
    assert_int_equal (take ("a", NULL), 1);
    struct core_reported reported = release ("a", exec_id);
    assert_true (reported.outcome.complete);
    assert_int_equal (reported.outcome.advice.kind, ADVICE_RELEASE);
    assert_int_equal (reported.outcome.advice.after_s, 30);
    assert_null (release ("a", exec_id).refused); // its reply was lost
    assert_non_null (report ("a", exec_id, "fail").refused);
    assert_int_equal (end (exec_id, CORE_RETRY, NULL), CORE_DONE);
    acked ();
    assert_int_equal (offer (&exec_id).free, 1);
    assert_int_equal (take ("a", NULL), 1);
    assert_true (report ("a", exec_id, "success").outcome.complete);
    core_destroy (&core);
}

static void a_run_of_many_workers_is_not_released (void **state)
{
    (void)state;
    uint64_t exec_id;
    start ();
    submit (ID, "{\"plan_time\":1,\"workers\":{\"count\":2}}");
    offer (&exec_id);
    assert_int_equal (take ("a", NULL), 1);
    assert_string_equal (release ("a", exec_id).refused,
                         "release: the plan has more than one worker");
    assert_null (report ("a", exec_id, "fail").refused);
    core_destroy (&core);
}

static void a_late_worker_makes_way_and_its_run_counts_no_more (void **state)
{
    (void)state;
    const struct limit limit = {.concurrency = 1};
    struct core_pull_taken taken;
    uint64_t exec_id;
    start ();
    core_set_limit (core, span_text ("s:jobs"), &limit);
    submit (ID, "{\"plan_time\":1}");
    submit (ID + 1, "{\"plan_time\":1}");
    offer (&exec_id);
    offer (&exec_id);
    assert_int_equal (take ("a", &taken), 1);
    assert_true (taken.limited && taken.wait_ms == 0);
    now_us += 60ll * SECOND;
    assert_int_equal (take ("b", NULL), 0);
    assert_int_equal (core_limit (core, span_text ("s:jobs"))->busy, 1);
    now_us += 1000;
    assert_int_equal (take ("b", NULL), 1); // of the other plan: this one is offered at its look
    assert_int_equal (core_limit (core, span_text ("s:jobs"))->busy, 1);
    core_destroy (&core);
}

static void a_run_that_goes_on_uses_no_rate_again (void **state)
{
    (void)state;
    const struct limit limit = {.concurrency = 5, .rate = 0.01};
    uint64_t first, second;
    start ();
    core_set_limit (core, span_text ("s:jobs"), &limit);
    submit (ID, "{\"plan_time\":1,\"plan_state\":1,\"exec_id\":0,\"workers\":{\"count\":2}}");
    offer (&first);
    assert_int_equal (take ("a", NULL), 1);
    double used_us = core_limit (core, span_text ("s:jobs"))->used_us;
    struct core_alive alive;
    const struct core_worker of = worker_of ("a", 0);
    now_us += 50ll * SECOND;
    assert_int_equal (take ("b", NULL), 1); // the second of a run that has begun
    now_us += 11ll * SECOND;                // the first is late
    assert_int_equal (offer (&second).free, 1);
    assert_true (second > first);
    assert_int_equal (core_limit (core, span_text ("s:jobs"))->busy, 1);
    assert_true (core_limit (core, span_text ("s:jobs"))->used_us - used_us < 1);
    assert_int_equal (core_pull_alive (core, &of, &(struct core_heartbeat){0}, now_us, &alive),
                      CORE_DONE);
    assert_string_equal (alive.stop, "the worker is not in the team");
    core_destroy (&core);
}

static const struct retry_row {
    const char *name, *workers;
    size_t failed, other; // whether who failed gets it now, and another
    size_t alone;         // and who failed, when nobody else has come
} retries[] = {
    {"it is for others", "{}", 0, 1, 1},
    {"again", "{\"again\":true}", 1, 0, 0},
    {"only", "{\"only\":[\"a\"]}", 0, 0, 1},
};

static void a_retry_is_for_other_workers (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (retries); i++) {
        const struct retry_row *row = &retries[i];
        char message[100];
        uint64_t exec_id;
        for (int alone = 0; alone < 2; alone++) {
            start ();
            snprintf (message, sizeof message, "{\"plan_time\":1,\"error_count\":0,\"workers\":%s}",
                      row->workers);
            submit (ID, message);
            offer (&exec_id);
            CHECK_INT (row->name, take ("a", NULL), 1);
            CHECK (row->name, report ("a", exec_id, "fail").outcome.complete);
            strstr (message, "count\":")[7] = '1';
            CHECK_INT (row->name, end (exec_id, CORE_RETRY, message), CORE_DONE);
            CHECK_INT (row->name, core_pull_offers (core, jobs ()), 0);
            acked ();
            offer (&exec_id);
            if (alone) {
                CHECK_INT (row->name, take ("a", NULL), row->failed);
                now_us += 5ll * SECOND + 2;
                CHECK_INT (row->name, take ("a", NULL), row->alone);
            } else {
                CHECK_INT (row->name, take ("a", NULL), row->failed);
                CHECK_INT (row->name, take ("b", NULL), row->other);
            }
            core_destroy (&core);
        }
    }
}

// -- batches

static size_t count_rows (const struct rows *rows, const char *command, const char *key)
{
    size_t found = 0;
    const struct span *word = rows->commands.words;
    for (size_t i = 0; i < rows->commands.commands; word += rows->commands.sizes[i++])
        found += span_is (word[0], command) && span_is (word[1], key);
    for (int column = 0; column < COLUMNS; column++)
        for (size_t i = 0; i < rows->columns[column].count; i += column_forms[column].width)
            found += strcmp (column_forms[column].command, command) == 0 &&
                     span_is (rows->columns[column].at[i], key);
    return found;
}

// Rows of a team are made when the batch is closed, after the deletion: they would create the key
// again.
static void what_a_batch_deletes_it_does_not_write (void **state)
{
    (void)state;
    uint64_t exec_id;
    start ();
    submit (ID, "{\"plan_time\":1}");
    offer (&exec_id);
    assert_int_equal (take ("a", NULL), 1);
    const struct rows *rows = flush ();
    assert_int_equal (count_rows (rows, "HSET", "plan:team:jobs:1f"), 1);
    assert_int_equal (count_rows (rows, "DEL", "plan:team:jobs:1f"), 0);
    core_batch_acked (core, now_us);
    assert_true (report ("a", exec_id, "success").outcome.complete);
    assert_int_equal (end (exec_id, CORE_GONE, NULL), CORE_DONE);
    rows = flush ();
    assert_int_equal (count_rows (rows, "HSET", "plan:team:jobs:1f"), 0);
    assert_int_equal (count_rows (rows, "DEL", "plan:team:jobs:1f"), 1);
    assert_int_equal (count_rows (rows, "ZADD", "plan:reports"), 1);
    core_batch_acked (core, now_us);
    core_destroy (&core);
}

static const char whole[] =
    "{\"exec_id\":0               ,\"exec_time\":0         ,\"plan_state\":1"
    ",\"revision\":1,\"plan_time\":1,\"error_count\":0}";

// SETRANGE follows SET in a batch, and would overwrite what an admin command changed later.
static void the_last_that_is_decided_on_a_message_is_written (void **state)
{
    (void)state;
    uint64_t exec_id;
    for (int changed = 0; changed < 3; changed++) {
        start ();
        submit (ID, whole);
        offer (&exec_id);
        const struct core_change change = {.target = jobs (),
                                           .id = ID,
                                           .message = span_text (whole),
                                           .revision = 2,
                                           .was_revision = 1,
                                           .exec_id = exec_id,
                                           .place = CORE_OUT};
        if (changed == 1)
            assert_int_equal (core_change (core, &change, now_us), CORE_DONE);
        if (changed == 2)
            core_remove (core, &(struct core_removal){jobs (), ID, {0}}, now_us);
        const struct rows *rows = flush ();
        assert_int_equal (count_rows (rows, "SETRANGE", "plan:msg:jobs:1f"), changed == 0);
        assert_int_equal (count_rows (rows, "MSET", "plan:msg:jobs:1f"), changed == 1);
        core_batch_acked (core, now_us);
        core_destroy (&core);
    }
}

static void a_report_is_known_before_redis_has_it (void **state)
{
    (void)state;
    uint64_t exec_id;
    start ();
    submit (ID, whole);
    offer (&exec_id);
    assert_int_equal (take ("a", NULL), 1);
    assert_true (report ("a", exec_id, "success").outcome.complete);
    assert_int_equal (end (exec_id, CORE_GONE, NULL), CORE_DONE);
    for (int flown = 0; flown < 2; flown++) {
        assert_null (report ("a", exec_id, "success").refused);
        assert_string_equal (report ("a", exec_id, "fail").refused,
                             "the worker has reported another result of this run");
        flush ();
    }
    core_batch_acked (core, now_us);
    struct core_worker of = worker_of ("a", exec_id);
    const struct core_report given = {.success = true, .reason = span_text ("a")};
    struct core_reported reported;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_UNREAD);
    // SHA-1 of "success a " begins with f3.
    const struct core_found found = {.score_us = -1, .report = now_us / 1000 * 256 + 0xf3};
    of.found = &found;
    assert_int_equal (core_pull_report (core, &of, &given, now_us, &reported), CORE_DONE);
    assert_null (reported.refused);
    core_destroy (&core);
}

// -- many offers

static void a_look_ends_and_says_where (void **state)
{
    static const char message[] = "{\"plan_time\":1,\"workers\":{\"only\":[\"b\"]}}";
    (void)state;
    struct core_job given[2];
    struct core_pull_taken taken;
    uint64_t exec_id;
    start ();
    for (uint64_t id = 1; id <= 300; id++) {
        now_us += 1000; // of one moment they would be in the order of their ids as texts
        submit (id, message);
        offer (&exec_id);
    }
    now_us += 1000;
    submit (301, "{\"plan_time\":1}");
    offer (&exec_id);
    acked ();
    assert_int_equal (core_pull_offers (core, jobs ()), 301);
    struct core_pull_take wanted = {
        .target = jobs (), .worker = span_text ("a"), .limit = 2, .lease_us = SECOND};
    core_pull_take (core, &wanted, now_us, given, &taken);
    assert_int_equal (taken.count, 0);
    assert_int_equal (taken.next, PULL_EXAMINED_MAX);
    wanted.from = taken.next;
    core_pull_take (core, &wanted, now_us, given, &taken);
    assert_int_equal (taken.count, 1);
    assert_int_equal (given[0].id, 301);
    assert_int_equal (taken.next, 0);
    wanted.worker = span_text ("b");
    wanted.from = 0;
    for (uint64_t id = 1; id <= 300; id += 2) { // from the front, then anywhere
        core_pull_take (core, &wanted, now_us, given, &taken);
        assert_int_equal (taken.count, 2);
        assert_true (given[1].id > given[0].id);
        wanted.from = (int64_t)(id % 7);
        if (core_pull_offers (core, jobs ()) <= 8)
            wanted.from = 0;
    }
    assert_int_equal (core_pull_offers (core, jobs ()), 0);
    core_destroy (&core);
}

static void submit_of (uint64_t id, int priority)
{
    char message[64];
    struct core_refusal refusal;
    snprintf (message, sizeof message, "{\"plan_time\":1,\"priority\":%d}", priority);
    const struct core_submission submission = {.target = jobs (),
                                               .id = id,
                                               .message = span_text (message),
                                               .revision = 1,
                                               .queued = true,
                                               .due_us = now_us,
                                               .priority = priority};
    assert_int_equal (core_submit (core, &submission, now_us, &refusal), CORE_DONE);
    acked ();
}

// Offer all that is ready. Returns how many runs are offered then.
static int64_t offered_now (void)
{
    const struct core_slots slots = {.target = jobs (), .free_slots = 100, .pull = true};
    const struct core_wish wish = {
        .limit = 1, .lease_us = 300ll * SECOND, .targets = &slots, .target_count = 1};
    uint64_t exec_id;
    while (core_has_due (core, &wish, now_us))
        offer (&exec_id);
    acked ();
    return core_pull_offers (core, jobs ());
}

// The other plans wait as ready ones; a plan of higher priority is offered nevertheless.
static void so_many_are_offered (void **state)
{
    struct core_job given[1];
    struct core_pull_taken taken;
    const struct core_pull_take wanted = {
        .target = jobs (), .worker = span_text ("a"), .limit = 1, .lease_us = 300ll * SECOND};
    (void)state;
    start ();
    core_set_bounds (core, &(struct core_bounds){.offers = 3});
    for (uint64_t id = 1; id <= 6; id++)
        submit_of (id, 1);
    assert_int_equal (offered_now (), 3);
    assert_int_equal (core_ready (core, jobs ()), 3);
    for (uint64_t id = 11; id <= 15; id++)
        submit_of (id, 2);
    assert_int_equal (offered_now (), 6);
    submit_of (20, 0);
    assert_int_equal (offered_now (), 6);
    static const uint64_t order[] = {11, 12, 13, 14, 15, 1, 2, 3, 4, 5, 6, 20};
    for (size_t i = 0; i < ROWS (order); i++) {
        core_pull_take (core, &wanted, now_us, given, &taken);
        assert_int_equal (taken.count, 1);
        assert_int_equal (given[0].id, order[i]);
        acked ();
        now_us += SECOND;
        offered_now ();
    }
    core_destroy (&core);
}

// A lease that ends is handled even if no more runs may be offered.
static void an_offer_is_renewed_where_no_more_are_offered (void **state)
{
    (void)state;
    start ();
    core_set_bounds (core, &(struct core_bounds){.offers = 2});
    for (uint64_t id = 1; id <= 4; id++)
        submit_of (id, 0);
    assert_int_equal (offered_now (), 2);
    now_us += 301ll * SECOND;
    assert_int_equal (core_ready (core, jobs ()), 2);
    struct core_view before, after;
    assert_true (core_view (core, 1, &before));
    assert_int_equal (offered_now (), 2);
    assert_true (core_view (core, 1, &after));
    assert_true (after.offered && after.exec_id > before.exec_id);
    assert_true (after.score_us > now_us);
    core_destroy (&core);
}

static void a_run_that_is_over_is_not_due_before_its_end_is_written (void **state)
{
    uint64_t exec_id;
    struct core_view view;
    (void)state;
    start ();
    submit (ID, "{\"plan_time\":1,\"timeout\":2,\"workers\":{\"count\":1}}");
    assert_false (offer (&exec_id).over);
    acked ();
    now_us += 2 * SECOND;
    assert_true (offer (&exec_id).over);
    assert_true (core_view (core, ID, &view));
    assert_true (view.score_us > now_us);
    core_destroy (&core);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_last_that_failed_tells_the_outcome),
        cmocka_unit_test (who_released_a_run_may_have_the_next),
        cmocka_unit_test (a_run_of_many_workers_is_not_released),
        cmocka_unit_test (a_late_worker_makes_way_and_its_run_counts_no_more),
        cmocka_unit_test (a_run_that_goes_on_uses_no_rate_again),
        cmocka_unit_test (a_retry_is_for_other_workers),
        cmocka_unit_test (what_a_batch_deletes_it_does_not_write),
        cmocka_unit_test (the_last_that_is_decided_on_a_message_is_written),
        cmocka_unit_test (a_report_is_known_before_redis_has_it),
        cmocka_unit_test (a_look_ends_and_says_where),
        cmocka_unit_test (so_many_are_offered),
        cmocka_unit_test (an_offer_is_renewed_where_no_more_are_offered),
        cmocka_unit_test (a_run_that_is_over_is_not_due_before_its_end_is_written),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
