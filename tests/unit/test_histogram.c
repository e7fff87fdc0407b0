// Durations by size, and runs by their end.
#include "rows.h"

#include "codes.h"
#include "run_counts.h"

static void buckets (void **state)
{
    static const struct {
        const char *name;
        const struct bounds *bounds;
        int64_t us;
        size_t bucket;
        uint64_t sum_us;
    } rows[] = {
        {"before its time", &bounds_lateness, -5, 0, 0},
        {"nothing", &bounds_lateness, 0, 0, 0},
        {"at a bound", &bounds_lateness, 500, 0, 500},
        {"behind it", &bounds_lateness, 501, 1, 501},
        {"in the middle", &bounds_lateness, 100000, 7, 100000},
        {"at the last", &bounds_lateness, 300000000, 15, 300000000},
        {"more than all", &bounds_lateness, 300000001, 16, 300000001},
        {"fewer bounds", &bounds_duration, INT64_MAX, 13, INT64_MAX},
        {"the fewest", &bounds_submit, 1000000, 10, 1000000},
        {"above the fewest", &bounds_submit, 1000001, 11, 1000001},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct histogram histogram = {.sum_us = 0};
        histogram_add (&histogram, rows[i].bounds, rows[i].us);
        for (size_t at = 0; at <= HISTOGRAM_BOUNDS_MAX; at++)
            CHECK_INT (rows[i].name, histogram.counts[at], at == rows[i].bucket);
        CHECK_INT (rows[i].name, histogram.sum_us, rows[i].sum_us);
    }
}

static void bounds_ascend (void **state)
{
    const struct bounds *all[] = {&bounds_lateness, &bounds_duration, &bounds_submit};
    (void)state;
    for (size_t i = 0; i < ROWS (all); i++) {
        CHECK ("their number", all[i]->count <= HISTOGRAM_BOUNDS_MAX);
        for (size_t at = 1; at < all[i]->count; at++)
            CHECK ("order", all[i]->le_us[at - 1] < all[i]->le_us[at]);
    }
}

static void ends (void **state)
{
    static const struct {
        const char *name;
        bool succeeded;
        uint8_t status;
        enum run_end end;
        bool took;
    } rows[] = {
        {"well", true, ZERO_STATUS_OK_ID, RUN_END_ok, true},
        {"well, with a status of failure", true, ZERO_STATUS_FAILED_ID, RUN_END_ok, true},
        {"failed", false, ZERO_STATUS_FAILED_ID, RUN_END_failed, true},
        {"a status that is not known", false, 0xEE, RUN_END_failed, true},
        {"not sent", false, ZERO_STATUS_SEND_ERROR_ID, RUN_END_not_taken, false},
        {"no status", false, ZERO_STATUS_RECV_ERROR_ID, RUN_END_not_taken, false},
        {"no worker", false, ZERO_STATUS_NOT_WORKER_ID, RUN_END_not_taken, false},
        {"no network", false, ZERO_STATUS_NET_ERROR_ID, RUN_END_not_taken, false},
        {"timeout", false, ZERO_STATUS_TIMEOUT_ID, RUN_END_timeout, true},
        {"cancelled", false, ZERO_STATUS_CANCELLED_ID, RUN_END_cancelled, true},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct run_counts counts = {.ends = {0}};
        enum run_end end = run_end_of (rows[i].succeeded, rows[i].status);
        CHECK_INT (rows[i].name, end, rows[i].end);
        run_counts_end (&counts, end, 7);
        CHECK_INT (rows[i].name, counts.ends[end], 1);
        CHECK_INT (rows[i].name, counts.duration.counts[0], rows[i].took);
        CHECK_INT (rows[i].name, counts.lateness.sum_us, 0);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (buckets), cmocka_unit_test (bounds_ascend),
                                       cmocka_unit_test (ends)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
