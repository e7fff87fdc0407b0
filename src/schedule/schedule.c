// One row per plan type: its name and its functions.
#include "schedule.h"

#include <assert.h>
#include <string.h>

#include "calendar.h"
#include "interval.h"

typedef bool first_fn (const struct schedule *self, const struct zone *zone, int64_t now,
                       int64_t skip, struct occurrence *ret);
typedef bool next_fn (const struct schedule *self, const struct zone *zone,
                      const struct occurrence *current, int64_t now, struct occurrence *ret);
typedef bool skip_fn (const struct schedule *self, const struct zone *zone,
                      const struct occurrence *current, int64_t count, struct occurrence *ret);

// Type none: at once.
static bool none_first (const struct schedule *self, const struct zone *zone, int64_t now,
                        int64_t skip, struct occurrence *ret)
{
    (void)self, (void)zone;
    if (skip > 0 || now > SCHEDULE_TIME_MAX)
        return false;
    *ret = (struct occurrence){.time = now, .used = 0};
    return true;
}

// Type time: at the base, or never when that is past, unless missed occurrences are kept.
static bool time_first (const struct schedule *self, const struct zone *zone, int64_t now,
                        int64_t skip, struct occurrence *ret)
{
    (void)zone;
    if (skip > 0 || (self->base_time < now && !self->keep))
        return false;
    *ret = (struct occurrence){.time = self->base_time, .used = 0};
    return true;
}

static bool once_skip (const struct schedule *self, const struct zone *zone,
                       const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    (void)self, (void)zone, (void)current, (void)count, (void)ret;
    return false;
}

// Types none and time run once, whatever their repeat.
static bool once_next (const struct schedule *self, const struct zone *zone,
                       const struct occurrence *current, int64_t now, struct occurrence *ret)
{
    (void)self, (void)zone, (void)current, (void)now, (void)ret;
    return false;
}

static const struct {
    const char *name;
    first_fn *first;
    next_fn *next;
    skip_fn *skip;
    struct value_range values;
} types[SCHEDULE_TYPES] = {
    [SCHEDULE_NONE] = {"none", none_first, once_next, once_skip, {-31, 32766}},
    [SCHEDULE_TIME] = {"time", time_first, once_next, once_skip, {-31, 32766}},
    [SCHEDULE_SECOND] = {"second", interval_first, interval_next, interval_skip, {0, 32766}},
    [SCHEDULE_MINUTE] = {"minute", interval_first, interval_next, interval_skip, {0, 32766}},
    [SCHEDULE_HOUR] = {"hour", interval_first, interval_next, interval_skip, {0, 32766}},
    [SCHEDULE_DAY] = {"day", interval_first, interval_next, interval_skip, {0, 32766}},
    [SCHEDULE_WEEK] = {"week", calendar_first, calendar_next, calendar_skip, {0, 6}},
    [SCHEDULE_MONTH] = {"month", calendar_first, calendar_next, calendar_skip, {-31, 31}},
};

static bool is_type (enum schedule_type type)
{
    return (unsigned)type < SCHEDULE_TYPES;
}

const char *schedule_type_name (enum schedule_type type)
{
    return is_type (type) ? types[type].name : NULL;
}

struct value_range schedule_value_range (enum schedule_type type)
{
    assert (is_type (type));
    return types[type].values;
}

int schedule_type_parse (const char *name)
{
    for (int i = 0; i < SCHEDULE_TYPES; i++)
        if (strcmp (types[i].name, name) == 0)
            return i;
    return -1;
}

bool schedule_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret)
{
    assert (is_type (self->type) && now >= 0 && skip >= 0);
    return types[self->type].first (self, zone, now, skip, ret);
}

bool schedule_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    assert (is_type (self->type) && count >= 1);
    return types[self->type].skip (self, zone, current, count, ret);
}

bool schedule_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret)
{
    assert (is_type (self->type) && now >= 0);
    return types[self->type].next (self, zone, current, now, ret);
}
