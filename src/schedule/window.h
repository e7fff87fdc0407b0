// The bounds of all kinds of schedules: the number of repeats, and the window of start_time and
// end_time.
#pragma once

#include "schedule.h"

// Whether a repeat is left when so many are used up.
static inline bool window_has_repeat (const struct schedule *self, int64_t used)
{
    return self->repeat == SCHEDULE_FOREVER || used < self->repeat;
}

// The last second at which there may be an occurrence, in Unix seconds.
static inline int64_t window_last (const struct schedule *self)
{
    bool given = self->end_time > 0 && self->end_time < SCHEDULE_TIME_MAX;
    return given ? self->end_time : SCHEDULE_TIME_MAX;
}

static inline int64_t window_earlier (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t window_later (int64_t a, int64_t b)
{
    return a > b ? a : b;
}
