#include "cycle.h"

#include <assert.h>

static int64_t partial_sum (const struct cycle *self, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += self->durations[i];
    return sum;
}

int64_t cycle_sum (const struct cycle *self, int64_t steps)
{
    int64_t count = (int64_t)self->count;
    return steps / count * partial_sum (self, self->count) +
           partial_sum (self, (size_t)(steps % count));
}

int64_t cycle_steps (const struct cycle *self, int64_t distance)
{
    int64_t whole = partial_sum (self, self->count);
    assert (whole > 0); // a cycle has at least one duration, and each is at least 1
    int64_t left = distance % whole;
    size_t steps = 0;
    for (; left >= self->durations[steps]; steps++) // `left` is less than all of them together
        left -= self->durations[steps];
    return distance / whole * (int64_t)self->count + (int64_t)steps;
}
