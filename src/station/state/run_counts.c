#include "run_counts.h"

#include "codes.h"

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

enum run_end run_end_of (bool succeeded, uint8_t status)
{
    if (succeeded)
        return RUN_END_ok;
    switch (status) {
    case ZERO_STATUS_SEND_ERROR_ID:
    case ZERO_STATUS_RECV_ERROR_ID:
    case ZERO_STATUS_NET_ERROR_ID:
    case ZERO_STATUS_NOT_WORKER_ID:
        return RUN_END_not_taken;
    case ZERO_STATUS_TIMEOUT_ID:
        return RUN_END_timeout;
    case ZERO_STATUS_CANCELLED_ID:
        return RUN_END_cancelled;
    default:
        return RUN_END_failed;
    }
}

void run_counts_end (struct run_counts *self, enum run_end end, int64_t took_us)
{
    self->ends[end]++;
    if (end != RUN_END_not_taken)
        histogram_add (&self->duration, &bounds_duration, took_us);
}
