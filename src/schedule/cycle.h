// A cycle of durations that are taken in turn, over and over. Plain arithmetic, in constant time
// for any distance.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CYCLE_MAX = 64, CYCLE_DURATION_MAX = 32766 };

struct cycle {
    size_t count;                 // 1..CYCLE_MAX
    int32_t durations[CYCLE_MAX]; // each 1..CYCLE_DURATION_MAX, in units of the plan type
};

// The sum of the first `steps` durations, in turn; `steps` is 0..2^40.
int64_t cycle_sum (const struct cycle *self, int64_t steps);

// The greatest number of steps whose sum is at most `distance`, which is not negative.
int64_t cycle_steps (const struct cycle *self, int64_t distance);
