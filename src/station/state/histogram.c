#include "histogram.h"

const struct bounds bounds_lateness = {16,
                                       {500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000,
                                        500000, 1000000, 2500000, 5000000, 10000000, 60000000,
                                        300000000}};

const struct bounds bounds_duration = {13,
                                       {1000, 5000, 10000, 50000, 100000, 500000, 1000000, 5000000,
                                        10000000, 60000000, 300000000, 1800000000, 7200000000}};

const struct bounds bounds_submit = {
    11, {250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 500000, 1000000}};

void histogram_add (struct histogram *self, const struct bounds *bounds, int64_t us)
{
    size_t at = 0;
    us = us > 0 ? us : 0;
    while (at < bounds->count && us > bounds->le_us[at])
        at++;
    self->counts[at]++;
    self->sum_us += (uint64_t)us;
}
