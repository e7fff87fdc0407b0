// Durations counted by size. Pure; fixed memory, since the start of the process.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BOUNDS_MAX = 16 };

// Upper bounds, each inclusive, ascending, in microseconds; a bucket more is for what is larger.
struct bounds {
    size_t count;
    int64_t le_us[HISTOGRAM_BOUNDS_MAX];
};

extern const struct bounds bounds_lateness, bounds_duration, bounds_submit;

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; // each of its own bucket only
    uint64_t sum_us;
};

// Count one; below 0 is 0.
void histogram_add (struct histogram *self, const struct bounds *bounds, int64_t us);
