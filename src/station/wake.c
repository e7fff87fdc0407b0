// One timer, armed for the earliest of: the next due plan, the next deadline of a run, and a second
// from the last claim.
#include "wake.h"

#include <sys/timerfd.h>

#include "ahead.h"
#include "clock.h"

void wake_arm (struct station *self)
{
    const struct heap_node *first = heap_first (&self->deadlines);
    int64_t at_us = self->claiming ? INT64_MAX : self->claim_us, ahead_us = ahead_next_us (self);
    if (ahead_us < at_us)
        at_us = ahead_us;
    if (first && first->at < at_us)
        at_us = first->at;
    if (self->swept && self->sweep_us < at_us)
        at_us = self->sweep_us;
    // A time of 0 would disarm; the past fires at once.
    at_us = at_us < 1 ? 1 : at_us;
    if (at_us == self->armed_us)
        return;
    self->armed_us = at_us;
    struct itimerspec spec = {
        .it_value = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000}};
    if (at_us == INT64_MAX)
        spec = (struct itimerspec){0};
    timerfd_settime (self->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void wake_claim_at (struct station *self, int64_t mono_us)
{
    if (mono_us >= self->claim_us)
        return;
    self->claim_us = mono_us;
    wake_arm (self);
}

void wake_due_at (struct station *self, int64_t redis_us)
{
    wake_claim_at (self, store_mono_us (self->store, ahead_claim_us (self, redis_us)));
}

void wake_now (struct station *self)
{
    wake_claim_at (self, clock_mono_us ());
}
