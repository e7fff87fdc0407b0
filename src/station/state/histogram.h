// A histogram of durations since the start of the process. Pure; fixed memory.
#pragma once

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
