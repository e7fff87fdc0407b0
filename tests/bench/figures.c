#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "memory.h"

void samples_add (struct samples *self, int64_t us)
{
    if (self->count == self->room) {
        self->room = self->room ? self->room * 2 : 4096;
        self->at = memory_resize (self->at, self->room * sizeof *self->at);
    }
    self->at[self->count++] = us;
}

void samples_free (struct samples *self)
{
    free (self->at);
    *self = (struct samples){0};
}

double cpu_seconds (void)
{
    struct rusage usage;
    getrusage (RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void result_begin (const char *what)
{
    printf ("{\"bench\": \"%s\"", what);
}

void result_integer (const char *name, int64_t value)
{
    printf (", \"%s\": %" PRId64, name, value);
}

void result_real (const char *name, double value)
{
    printf (", \"%s\": %.6g", name, value);
}

static int compare (const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

// The smallest sample that so large a share of them does not exceed.
static void print_share (const char *name, const struct samples *sorted, double share)
{
    if (!sorted->count) {
        printf (", \"%s\": null", name);
        return;
    }
    double rank = share * (double)sorted->count;
    size_t at = (size_t)rank;
    if (at > 0 && (double)at == rank)
        at--;
    if (at >= sorted->count)
        at = sorted->count - 1;
    printf (", \"%s\": %.3f", name, (double)sorted->at[at] / 1000);
}

void result_samples (const char *name, struct samples *samples)
{
    if (samples->count)
        qsort (samples->at, samples->count, sizeof *samples->at, compare);
    printf (", \"%s\": {\"count\": %zu", name, samples->count);
    print_share ("p50", samples, 0.5);
    print_share ("p99", samples, 0.99);
    print_share ("p99_9", samples, 0.999);
    print_share ("max", samples, 1);
    printf ("}");
}

void result_counts (const char *name, const int64_t *counts, size_t count)
{
    const char *comma = "";
    printf (", \"%s\": {", name);
    for (size_t i = 0; i < count; i++) {
        if (!counts[i])
            continue;
        printf ("%s\"%zu\": %" PRId64, comma, i, counts[i]);
        comma = ", ";
    }
    printf ("}");
}

void result_list (const char *name, const int64_t *values, size_t count)
{
    printf (", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf ("%s%" PRId64, i ? ", " : "", values[i]);
    printf ("]");
}

void result_end (void)
{
    puts ("}");
    fflush (stdout);
}

double rate_of (int64_t count, int64_t us)
{
    return us > 0 ? (double)count * 1e6 / (double)us : 0;
}
