// How a target answers: what its silence means, and how many runs it may have without a status.
// Source: proto 7.2.
#include "response.h"
#include "rows.h"

enum { TIMEOUT_US = 3000000, MOST = 256 };

// clang-format off
static const struct judge_row {
    const char *name;
    struct response response;
    uint64_t number; // of the run, which was sent at 0
    int64_t now_us;
    enum no_status want;
    int64_t until_us;
} judge_rows[] = {
    {"nothing since it connected", {.message_us = -9000000}, 1, 3000000, NO_STATUS_UNRESPONSIVE, 0},
    {"its last message is as old as the time of a status", {.message_us = 0}, 1, 3000000, NO_STATUS_UNRESPONSIVE, 0},
    {"it gave the status of a later run", {.message_us = 2000000, .status_us = 2000000, .answered = 2}, 1, 3000000, NO_STATUS_RETRY, 0},
    {"of a later run, and nothing since", {.message_us = 0, .status_us = 0, .answered = 2}, 1, 9000000, NO_STATUS_RETRY, 0},
    {"it gives the statuses of earlier runs", {.message_us = 2900000, .status_us = 2000000, .answered = 4}, 5, 3000000, NO_STATUS_WAIT, 5000000},
    {"of earlier runs, but none for long", {.message_us = 5500000, .status_us = 2000000, .answered = 4}, 5, 6000000, NO_STATUS_RETRY, 0},
    {"it says only how far its jobs are", {.message_us = 2900000}, 5, 3000000, NO_STATUS_RETRY, 0},
};
// clang-format on

static void silence_is_judged_by_what_else_it_answers (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (judge_rows); i++) {
        const struct judge_row *row = &judge_rows[i];
        int64_t until_us = 0;
        CHECK_INT (
            row->name,
            response_find_cause (&row->response, row->number, TIMEOUT_US, row->now_us, &until_us),
            row->want);
        CHECK_INT (row->name, until_us, row->until_us);
    }
}

static void credit_grows_with_statuses (void **state)
{
    (void)state;
    struct response response = {.grows = true};
    response_connected (&response, 0, false);
    CHECK_INT ("first", response_credit (&response, MOST), RESPONSE_CREDIT_FIRST);
    CHECK_INT ("a smaller bound", response_credit (&response, 3), 3);
    for (uint64_t number = 1; number <= 2 * MOST; number++)
        response_status (&response, number, true, MOST, 1);
    CHECK_INT ("bounded", response_credit (&response, MOST), MOST);
    response_status (&response, 1, false, MOST, 2);
    CHECK_INT ("without workers", response_credit (&response, MOST), RESPONSE_CREDIT_FIRST);
    CHECK_INT ("the highest run", (int64_t)response.answered, 2 * MOST);
    response_status (&response, 600, true, MOST, 3);
    response_set_unresponsive (&response, 5);
    CHECK_INT ("unresponsive", response_credit (&response, MOST), RESPONSE_CREDIT_FIRST);
    struct response whole = {.grows = false};
    response_connected (&whole, 0, false);
    CHECK_INT ("that does not grow", response_credit (&whole, MOST), MOST);
}

static void connection_that_may_be_taken_for_a_duplicate_gets_one_run (void **state)
{
    (void)state;
    struct response response = {.grows = true};
    response_connected (&response, 0, true);
    CHECK_INT ("nothing heard", response_credit (&response, MOST), 1);
    CHECK_INT ("was responsive", response_message_came (&response, 1), false);
    CHECK_INT ("heard", response_credit (&response, MOST), RESPONSE_CREDIT_FIRST);
}

static void any_message_ends_it (void **state)
{
    (void)state;
    struct response response = {0};
    response_set_unresponsive (&response, 5);
    response.probe = 7;
    CHECK_INT ("unresponsive", response.unresponsive, true);
    CHECK_INT ("since", response.since_s, 5);
    CHECK_INT ("it was", response_message_came (&response, 1), true);
    CHECK_INT ("no more", response.unresponsive, false);
    CHECK_INT ("no probe", (int64_t)response.probe, 0);
    CHECK_INT ("it was not", response_message_came (&response, 2), false);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (silence_is_judged_by_what_else_it_answers),
        cmocka_unit_test (credit_grows_with_statuses),
        cmocka_unit_test (connection_that_may_be_taken_for_a_duplicate_gets_one_run),
        cmocka_unit_test (any_message_ends_it),
    };
    return cmocka_run_group_tests_name ("how a target answers", tests, NULL, NULL);
}
