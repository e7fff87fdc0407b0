#include "retry.h"

#include "spread.h"

enum { DAY_S = 86400, SECOND_MS = 1000 };

int64_t pacing_delay_ms (int64_t failures)
{
    enum { LAST_MS = 60 * SECOND_MS, DOUBLINGS_MAX = 6 };
    int64_t doublings = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;
    int64_t delay = (int64_t)SECOND_MS << (doublings > 0 ? doublings : 0);
    return delay < LAST_MS ? delay : LAST_MS;
}

bool retry_is_exhausted (const struct retry_policy *self, int64_t failures)
{
    return self->strategy != RETRY_PACED && self->max != RETRY_FOREVER && failures > self->max;
}

// The interval, doubled for each failure after the first.
static int64_t doubled_delay_s (int64_t interval_s, int64_t failures)
{
    int64_t delay_s = interval_s;
    for (int64_t i = 1; i < failures && delay_s < DAY_S; i++)
        delay_s *= 2;
    // The delay grows to a day at most, but an interval longer than a day is kept.
    return delay_s > DAY_S && interval_s < DAY_S ? DAY_S : delay_s;
}

// The delay of a strategy other than RETRY_PACED, without jitter.
static int64_t policy_delay_s (const struct retry_policy *self, int64_t failures)
{
    if (self->strategy == RETRY_EXPONENTIAL)
        return doubled_delay_s (self->interval_s, failures);
    if (self->strategy != RETRY_SEQUENCE)
        return self->interval_s;
    size_t at = (size_t)(failures > 0 ? failures - 1 : 0);
    return self->sequence[at < self->sequence_size ? at : self->sequence_size - 1];
}

int64_t retry_delay_ms (const struct retry_policy *self, int64_t failures, uint64_t run)
{
    if (self->strategy == RETRY_PACED)
        return pacing_delay_ms (failures);
    return policy_delay_s (self, failures) * SECOND_MS +
           (int64_t)spread_offset (run, (uint64_t)self->jitter_s * SECOND_MS);
}
