// What a change does to a plan that waits in the window or runs; sequence numbers after a reset.
#include "rows.h"

#include "core.h"

enum { SECOND = 1000000 };

static const struct core_wish wish = {.limit = 10, .lease_us = 5 * SECOND};

static struct core *start (void)
{
    const struct core_numbers numbers = {.plans = 2, .exec_id = 1, .classes = true};
    struct core *core = core_new (&(struct core_bounds){.outcomes = 10});
    core_load_numbers (core, &numbers);
    core_set_limit (core, span_text ("g:g"), &(struct limit){.concurrency = 1});
    core_set_limit (core, span_text ("g:h"), &(struct limit){.concurrency = 1});
    return core;
}

static void ask_page (struct core *core)
{
    struct core_cursor cursor;
    CHECK ("page", core_wants_page (core, 0, &cursor));
}

// Both are due after a second, in this group.
static void answer_page (struct core *core, const char *class)
{
    struct core_member members[2];
    for (uint64_t i = 0; i < 2; i++)
        members[i] =
            (struct core_member){span_text ("jobs"), i + 1, SECOND + (int64_t)i, span_text (class)};
    core_load_page (core, members, 2, 2, 0);
}

static void change (struct core *core, uint64_t id, uint64_t exec_id, const char *group)
{
    const struct core_change change = {.target = span_text ("jobs"),
                                       .id = id,
                                       .message = span_text ("{}"),
                                       .revision = 2,
                                       .was_revision = 1,
                                       .exec_id = exec_id,
                                       .place = CORE_KEEP,
                                       .group = span_text (group)};
    CHECK_INT ("change", core_change (core, &change, 0), CORE_DONE);
}

static void write_all (struct core *core, int64_t now_us)
{
    core_close_batch (core);
    core_batch_acked (core, now_us);
}

static size_t choose (struct core *core, struct core_choice *out)
{
    return core_choose (core, &wish, 2 * SECOND, out, 10);
}

static uint64_t take (struct core *core, struct core_choice *choice)
{
    struct core_taken taken;
    core_found_message (choice, span_text ("{}"));
    core_found_score (choice, choice->due_us);
    CHECK_INT ("take", core_begin_run (core, choice, &wish, 2 * SECOND, &taken), CORE_DONE);
    return taken.exec_id;
}

static void a_page_places_what_is_being_changed (void **state)
{
    struct core *core = start ();
    struct core_choice out[10];
    (void)state;
    ask_page (core);
    change (core, 2, 0, "");
    core_close_batch (core);
    answer_page (core, "");
    core_batch_acked (core, 0);
    CHECK_INT ("both are due", choose (core, out), 2);
    core_destroy (&core);
}

static void one_that_waits_gets_its_group (void **state)
{
    struct core *core = start ();
    struct core_choice out[10];
    (void)state;
    ask_page (core);
    answer_page (core, "0:g");
    change (core, 2, 0, "h");
    write_all (core, 0);
    CHECK_INT ("one of each group", choose (core, out), 2);
    core_destroy (&core);
}

static void a_run_moves_to_another_group (void **state)
{
    struct core *core = start ();
    struct core_choice out[10];
    (void)state;
    ask_page (core);
    answer_page (core, "0:g");
    CHECK_INT ("one of the group", choose (core, out), 1);
    uint64_t exec_id = take (core, out);
    change (core, 1, exec_id, "h");
    CHECK_INT ("g", core_limit (core, span_text ("g:g"))->busy, 0);
    CHECK_INT ("h", core_limit (core, span_text ("g:h"))->busy, 1);
    core_destroy (&core);
}

static void numbers_wait_until_they_are_read (void **state)
{
    struct core *core = start ();
    struct core_choice out[10];
    (void)state;
    ask_page (core);
    answer_page (core, "");
    CHECK_INT ("both", choose (core, out), 2);
    take (core, out);
    core_reset (core);
    CHECK ("nothing is written before", !core_has_rows (core));
    core_destroy (&core);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_page_places_what_is_being_changed),
        cmocka_unit_test (one_that_waits_gets_its_group),
        cmocka_unit_test (a_run_moves_to_another_group),
        cmocka_unit_test (numbers_wait_until_they_are_read),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
