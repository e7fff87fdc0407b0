// The counts of the runs of a target, by how each ended, and histograms of durations since the
// start of the process. Pure; fixed memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BOUNDS_MAX = 16 };

// Inclusive upper bounds in microseconds, ascending; one more bucket counts larger values.
struct bounds {
    size_t count;
    int64_t le_us[HISTOGRAM_BOUNDS_MAX];
};

extern const struct bounds bounds_lateness, bounds_duration, bounds_submit;

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; // per bucket, not cumulative
    uint64_t sum_us;
};

// Count one duration; a negative one counts as 0.
void histogram_add (struct histogram *self, const struct bounds *bounds, int64_t us);

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
