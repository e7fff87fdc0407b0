// Occurrence `used` (0, 1, ...) is at first + used * step. A later one is computed from `used`,
// never from the time of the one before, so no error can add up.
#include "interval.h"

#include <assert.h>

struct grid {
    int64_t first; // the time of the occurrence with used 0
    int64_t step;  // seconds, at least 1
};

static const int32_t units[SCHEDULE_TYPES] = {
    [SCHEDULE_SECOND] = 1,
    [SCHEDULE_MINUTE] = 60,
    [SCHEDULE_HOUR] = 3600,
    [SCHEDULE_DAY] = 86400,
};

// A value of 0 means at once and again as soon as possible: from the base itself, second by second.
static struct grid grid_of (const struct schedule *self)
{
    int64_t base = self->base_time ? self->base_time : self->received;
    int64_t period = (int64_t)self->value * units[self->type];
    assert (period >= 0 && base >= 0 && base <= SCHEDULE_TIME_MAX);
    return period > 0 ? (struct grid){base + period, period} : (struct grid){base, 1};
}

static bool has_repeat (const struct schedule *self, int64_t used)
{
    return self->repeat == SCHEDULE_FOREVER || used < self->repeat;
}

// The occurrence with this `used`, unless the repeats or the years end before it.
static bool grid_occurrence (const struct schedule *self, struct grid grid, int64_t used,
                             struct occurrence *ret)
{
    if (!has_repeat (self, used) || grid.first > SCHEDULE_TIME_MAX ||
        used > (SCHEDULE_TIME_MAX - grid.first) / grid.step)
        return false;
    *ret = (struct occurrence){.time = grid.first + used * grid.step, .used = used};
    return true;
}

// The least `used` from `at_least` on whose time is not before now.
static int64_t skip_missed (struct grid grid, int64_t at_least, int64_t now)
{
    if (now <= grid.first)
        return at_least;
    int64_t distance = now - grid.first;
    int64_t used = distance / grid.step + (distance % grid.step != 0);
    return used > at_least ? used : at_least;
}

bool interval_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret)
{
    (void)zone;
    struct grid grid = grid_of (self);
    int64_t used = self->keep ? 0 : skip_missed (grid, 0, now);
    if (skip > SCHEDULE_TIME_MAX - used) // there are no more occurrences than seconds
        return false;
    return grid_occurrence (self, grid, used + skip, ret);
}

bool interval_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    (void)zone;
    if (count > SCHEDULE_TIME_MAX - current->used)
        return false;
    int64_t used = current->used + count;
    // Value 0: each is due when the one before it is over, and those that are skipped are so at
    // once.
    if (self->value == 0) {
        if (!has_repeat (self, used))
            return false;
        *ret = (struct occurrence){.time = current->time, .used = used};
        return true;
    }
    return grid_occurrence (self, grid_of (self), used, ret);
}

bool interval_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret)
{
    (void)zone;
    int64_t used = current->used + 1;
    if (self->value == 0) {
        int64_t time = current->time < now ? now : current->time + 1;
        if (!has_repeat (self, used) || time > SCHEDULE_TIME_MAX)
            return false;
        *ret = (struct occurrence){.time = time, .used = used};
        return true;
    }
    struct grid grid = grid_of (self);
    return grid_occurrence (self, grid, self->keep ? used : skip_missed (grid, used, now), ret);
}
