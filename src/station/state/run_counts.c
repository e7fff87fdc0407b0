#include "run_counts.h"

#include "codes.h"

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
