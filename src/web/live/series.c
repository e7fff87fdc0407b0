#include "series.h"

#include <stdbool.h>
#include <stdlib.h>

#include "json_values.h"
#include "memory.h"

static const struct number {
    const char *name, *field;
    bool counter; // a member of `counters`, which restart at 0 with the station
} numbers[] = {
    {"plans", "plans", false},       {"queued", "queued", false},
    {"due", "due", false},           {"running", "running", false},
    {"dead", "dead", false},         {"accepted", "accepted", true},
    {"sent", "runs_sent", true},     {"ended_well", "runs_ended_well", true},
    {"failed", "runs_failed", true}, {"missed", "missed", true},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct point {
    int64_t slot; // number of its interval of SERIES_STEP_S seconds since 1970; 0: no point
    int64_t values[NUMBERS];
};

struct series {
    struct point points[SERIES_POINTS];
};

struct series *series_new (void)
{
    return memory_new (sizeof (struct series));
}

void series_destroy (struct series **self_p)
{
    free (*self_p);
    *self_p = NULL;
}

void series_add (struct series *self, int64_t now_s, const json_t *stats)
{
    int64_t slot = now_s / SERIES_STEP_S;
    const json_t *counters = json_object_get (stats, "counters");
    struct point *point = &self->points[slot % SERIES_POINTS];
    point->slot = slot;
    for (size_t i = 0; i < NUMBERS; i++)
        point->values[i] = json_integer_value (
            json_object_get (numbers[i].counter ? counters : stats, numbers[i].field));
}

static const struct point *point_at (const struct series *self, int64_t slot)
{
    const struct point *point = &self->points[slot % SERIES_POINTS];
    return point->slot == slot ? point : NULL;
}

// The last known point before the slot, at most SERIES_STEP_MAX_S earlier.
static const struct point *point_before (const struct series *self, int64_t slot, int64_t first)
{
    for (int64_t at = slot - 1; at >= first && at >= slot - SERIES_STEP_MAX_S / SERIES_STEP_S; at--)
        if (point_at (self, at))
            return point_at (self, at);
    return NULL;
}

static int64_t counter_growth (int64_t from, int64_t to)
{
    return to >= from ? to - from : to; // the station has restarted
}

json_t *series_json (const struct series *self, int64_t now_s, int64_t from_s, int64_t step_s)
{
    int64_t last = now_s / SERIES_STEP_S, first = last - SERIES_POINTS + 1;
    int64_t width = step_s / SERIES_STEP_S, begin = from_s / SERIES_STEP_S;
    if (begin < first)
        begin = first;
    begin = (begin + width - 1) / width * width; // whole steps
    json_t *arrays[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++)
        arrays[i] = json_array ();
    const struct point *previous = point_before (self, begin, first);
    for (int64_t step = begin; step <= last; step += width) {
        const struct point *latest = NULL;
        int64_t grown[NUMBERS] = {0};
        bool known = false; // whether `grown` is known
        for (int64_t slot = step; slot < step + width && slot <= last; slot++) {
            const struct point *point = point_at (self, slot);
            if (!point)
                continue;
            for (size_t i = 0; previous && i < NUMBERS; i++)
                grown[i] += counter_growth (previous->values[i], point->values[i]);
            known = known || previous;
            previous = latest = point;
        }
        for (size_t i = 0; i < NUMBERS; i++)
            json_array_append_new (arrays[i],
                                   !latest || (numbers[i].counter && !known) ? json_null ()
                                   : numbers[i].counter ? json_integer (grown[i])
                                                        : json_integer (latest->values[i]));
    }
    json_t *object =
        json_pack ("{s:o, s:I}", "from", json_instant_ms (begin * SERIES_STEP_S * 1000), "step_s",
                   (json_int_t)step_s);
    for (size_t i = 0; i < NUMBERS; i++)
        json_object_set_new (object, numbers[i].name, arrays[i]);
    return object;
}
