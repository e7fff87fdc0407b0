// The counts of the runs of a target, by how each ended.
#pragma once

#include <stdbool.h>

#include "histogram.h"

#define RUN_ENDS(X)                                                                                \
    X (ok)                                                                                         \
    X (failed)                                                                                     \
    X (not_taken) /* nobody took it: not connected, no status, no worker */                        \
    X (timeout)   /* its timeout or lease has expired */                                           \
    X (cancelled)                                                                                  \
    X (missed) /* occurrences that were not run */

enum run_end {
#define RUN_END_NAME(name) RUN_END_##name,
    RUN_ENDS (RUN_END_NAME)
#undef RUN_END_NAME
        RUN_END_COUNT
};

struct run_counts {
    uint64_t ends[RUN_END_COUNT];
    struct histogram lateness; // lateness of runs with a due time that were no retries
    struct histogram duration; // duration of runs that were accepted
};

// How a run ended, by its outcome and status. A missed occurrence is not a run.
enum run_end run_end_of (bool succeeded, uint8_t status);

// Count the end of a run that was sent `took_us` ago.
void run_counts_end (struct run_counts *self, enum run_end end, int64_t took_us);
