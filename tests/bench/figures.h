// What was measured, and how it is told: samples with percentiles, and one line of JSON.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Durations in microseconds.
struct samples {
    int64_t *at;
    size_t count, room;
};

void samples_add (struct samples *self, int64_t us);
void samples_free (struct samples *self);

// Seconds of processor time that this process has used.
double cpu_seconds (void);

// The line of results: begin, any number of values, end.
void result_begin (const char *what);
void result_integer (const char *name, int64_t value);
void result_real (const char *name, double value);

// {"count", "p50", "p99", "p99_9", "max"} in milliseconds, nulls without samples; sorts them.
void result_samples (const char *name, struct samples *samples);

// {"number": count, ...} of those that are not 0.
void result_counts (const char *name, const int64_t *counts, size_t count);
void result_list (const char *name, const int64_t *values, size_t count);
void result_end (void);

// How many a second; 0 when no time has passed.
double rate_of (int64_t count, int64_t us);
