// When a failed plan is retried, and when its retries are exhausted. Pure. Source: task module
// (retry_strategy and related fields); proto 7.4.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum retry_strategy {
    RETRY_PACED,      // the plan has no retry: 1 s, doubling to 60 s, forever
    RETRY_NONE,       // the first failure is the last
    RETRY_FIXED,      // each time after `interval_s`
    RETRY_SEQUENCE,   // after sequence[0], sequence[1], ...; the last delay repeats
    RETRY_EXPONENTIAL // after `interval_s`, doubling to a day
};

enum { RETRY_SEQUENCE_MAX = 32, RETRY_FOREVER = -1 };

struct retry_policy {
    enum retry_strategy strategy;
    int64_t interval_s;
    int32_t sequence[RETRY_SEQUENCE_MAX]; // seconds
    size_t sequence_size;
    int64_t max;      // most retries of an occurrence, or RETRY_FOREVER; the next failure is final
    int64_t jitter_s; // up to this many seconds are added, at random for each run
    bool need_manual; // when retries are exhausted, the plan waits for manual action
};

// The default delay: milliseconds from a failure to its retry, 1 s for the first failure since the
// last success, doubling to 60 s. `failures` counts them, and is at least 1.
int64_t pacing_delay_ms (int64_t failures);

// Whether an occurrence with this many failures, at least 1, has no more retries.
bool retry_is_exhausted (const struct retry_policy *self, int64_t failures);

// Milliseconds from the failure to the retry. The jitter depends on `run`, the exec_id of the
// failed run.
int64_t retry_delay_ms (const struct retry_policy *self, int64_t failures, uint64_t run);
