// Occurrences are numbered on a grid, and occurrence.used is that number. Times are computed from
// that number, never from the previous occurrence, so errors cannot add up.
#include "kind.h"

#include <assert.h>

struct grid {
    int64_t origin; // time of number 0; a cycle: time before its first duration
    int64_t step;   // seconds of a step, at least 1; a cycle: of the unit of its durations
    const struct cycle *cycle; // NULL = equal steps
};

// Whether occurrences follow each other as soon as possible, without a grid.
static bool is_asap (const struct schedule *self)
{
    return self->value == 0 && !self->cycle;
}

// The grid of a schedule. A value of 0 has one occurrence a second, from the base itself on.
static struct grid grid_of (const struct schedule *self)
{
    int64_t base = self->base_time ? self->base_time : self->received;
    int64_t unit = schedule_period (self->type);
    int64_t start = self->start_time;
    assert (self->value >= 0 && base >= 0 && base <= SCHEDULE_TIME_MAX);
    if (self->cycle)
        return (struct grid){window_later (base, start), unit, self->cycle};
    if (is_asap (self))
        return (struct grid){window_later (base, start), 1, NULL};
    int64_t step = self->value * unit;
    int64_t passed = start > base + step ? (start - base - step + step - 1) / step : 0;
    return (struct grid){base + step + passed * step, step, NULL};
}

// The number of the first occurrence at or after this instant.
static int64_t number_at_or_after (const struct grid *grid, int64_t instant)
{
    if (instant <= grid->origin)
        return 0;
    int64_t steps = (instant - grid->origin + grid->step - 1) / grid->step;
    return grid->cycle ? cycle_steps (grid->cycle, steps - 1) : steps;
}

// The time of an occurrence, which must be before the end of the year 9999.
static int64_t number_time (const struct grid *grid, int64_t number)
{
    int64_t steps = grid->cycle ? cycle_sum (grid->cycle, number + 1) : number;
    return grid->origin + steps * grid->step;
}

// One more than the number of the last occurrence within repeats and window.
static int64_t number_end (const struct schedule *self, const struct grid *grid)
{
    int64_t last = window_last (self);
    int64_t end = last < grid->origin ? 0 : number_at_or_after (grid, last + 1);
    return self->repeat == SCHEDULE_FOREVER ? end : window_earlier (end, self->repeat);
}

// The occurrence with this number. False: it is beyond repeats or window.
static bool occurrence_at (const struct schedule *self, const struct grid *grid, int64_t number,
                           struct occurrence *ret)
{
    if (number >= number_end (self, grid))
        return false;
    *ret = (struct occurrence){.time = number_time (grid, number), .used = number};
    return true;
}

// The occurrences first..past-1 are missed. Returns the number of the first that still runs;
// `past`: none does.
static int64_t first_kept_number (const struct grid *grid, const struct catch_up *catch_up,
                                  int64_t first, int64_t past)
{
    int64_t kept = window_later (first, number_at_or_after (grid, catch_up->oldest));
    if (catch_up->keep < past)
        kept = window_later (kept, past - catch_up->keep);
    return window_earlier (kept, window_later (first, past));
}

// Return the missed occurrences first..kept-1, unless `ret_missed` is NULL.
static void note_missed (const struct grid *grid, int64_t first, int64_t kept,
                         struct missed *ret_missed)
{
    if (ret_missed && kept > first)
        *ret_missed = (struct missed){kept - first, number_time (grid, first),
                                      number_time (grid, kept - 1), false};
}

static bool interval_first (const struct schedule *self, const struct first_query *query,
                            struct missed *ret_missed, struct occurrence *ret)
{
    struct grid grid = grid_of (self);
    int64_t past =
        window_earlier (number_at_or_after (&grid, query->now), number_end (self, &grid));
    int64_t kept = first_kept_number (&grid, query->catch_up, 0, past);
    if (query->skip > SCHEDULE_TIME_MAX) // there are no more occurrences than seconds
        return false;
    note_missed (&grid, 0, kept, ret_missed);
    return occurrence_at (self, &grid, kept + query->skip, ret);
}

static bool interval_skip (const struct schedule *self, const struct zone *zone,
                           const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    (void)zone;
    if (count > SCHEDULE_TIME_MAX - current->used)
        return false;
    int64_t used = current->used + count;
    struct grid grid = grid_of (self);
    if (!is_asap (self))
        return occurrence_at (self, &grid, used, ret);
    // Without a grid an occurrence is due when the previous one has ended; a skipped one ends at
    // once.
    if (!window_has_repeat (self, used))
        return false;
    *ret = (struct occurrence){.time = current->time, .used = used};
    return true;
}

// The next occurrence without a grid: it is due when it is computed, so none is missed.
static bool asap_after (const struct schedule *self, const struct after_query *query,
                        struct occurrence *ret)
{
    if (query->with_current) {
        *ret = *query->current;
        return true;
    }
    int64_t used = query->current->used + 1;
    int64_t time = window_later (query->current->time + 1, query->now);
    time = window_later (time, self->start_time);
    if (!window_has_repeat (self, used) || time > window_last (self))
        return false;
    *ret = (struct occurrence){.time = time, .used = used};
    return true;
}

static bool interval_after (const struct schedule *self, const struct after_query *query,
                            struct missed *ret_missed, struct occurrence *ret)
{
    if (is_asap (self))
        return asap_after (self, query, ret);
    struct grid grid = grid_of (self);
    int64_t first = query->current->used + !query->with_current;
    int64_t end = window_later (number_end (self, &grid), first);
    int64_t past =
        window_earlier (number_at_or_after (&grid, query->now), end); // lower ones are missed
    int64_t kept = first_kept_number (&grid, query->catch_up, first, past);
    if (query->with_current && kept == first) {
        *ret = *query->current;
        return true;
    }
    note_missed (&grid, first, kept, ret_missed);
    return occurrence_at (self, &grid, kept, ret);
}

const struct schedule_kind interval_kind = {interval_first, interval_skip, interval_after};
