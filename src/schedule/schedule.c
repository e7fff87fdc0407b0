// One row per plan type: its name and its functions.
#include "schedule.h"

#include <assert.h>
#include <string.h>

#include "civil.h"
#include "kind.h"

// -- types none and time run once, whatever their repeat

// Whether a missed occurrence at `time` still runs, if it is the only one. Type none is never
// missed.
static bool still_runs_late (const struct schedule *self, const struct catch_up *catch_up,
                             int64_t time)
{
    return self->type == SCHEDULE_NONE || (catch_up->keep > 0 && time >= catch_up->oldest);
}

// Type none: at once, or at start_time. Type time: at base_time.
static bool once_first (const struct schedule *self, const struct first_query *query,
                        struct missed *ret_missed, struct occurrence *ret)
{
    (void)ret_missed;
    int64_t time =
        self->type == SCHEDULE_NONE ? window_later (query->now, self->start_time) : self->base_time;
    bool missed = time < query->now && !still_runs_late (self, query->catch_up, time);
    if (query->skip > 0 || missed || time < self->start_time || time > window_last (self))
        return false;
    *ret = (struct occurrence){.time = time, .used = 0};
    return true;
}

static bool once_skip (const struct schedule *self, const struct zone *zone,
                       const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    (void)self, (void)zone, (void)current, (void)count, (void)ret;
    return false;
}

static bool once_after (const struct schedule *self, const struct after_query *query,
                        struct missed *ret_missed, struct occurrence *ret)
{
    int64_t time = query->current->time;
    if (!query->with_current)
        return false;
    if (!still_runs_late (self, query->catch_up, time)) {
        if (ret_missed)
            *ret_missed = (struct missed){1, time, time, false};
        return false;
    }
    *ret = *query->current;
    return true;
}

static const struct schedule_kind once_kind = {once_first, once_skip, once_after};

static const struct {
    const char *name;
    const struct schedule_kind *kind;
    struct value_range values;
    int32_t period;
} types[SCHEDULE_TYPES] = {
    [SCHEDULE_NONE] = {"none", &once_kind, {SCHEDULE_VALUE_MIN, SCHEDULE_VALUE_MAX}, 0},
    [SCHEDULE_TIME] = {"time", &once_kind, {SCHEDULE_VALUE_MIN, SCHEDULE_VALUE_MAX}, 0},
    [SCHEDULE_SECOND] = {"second", &interval_kind, {0, SCHEDULE_VALUE_MAX}, 1},
    [SCHEDULE_MINUTE] = {"minute", &interval_kind, {0, SCHEDULE_VALUE_MAX}, 60},
    [SCHEDULE_HOUR] = {"hour", &interval_kind, {0, SCHEDULE_VALUE_MAX}, 3600},
    [SCHEDULE_DAY] = {"day", &interval_kind, {0, SCHEDULE_VALUE_MAX}, 86400},
    [SCHEDULE_WEEK] = {"week", &calendar_kind, {0, 6}, 7 * 86400},
    [SCHEDULE_MONTH] = {"month", &calendar_kind, {-31, 31}, 31 * 86400},
    [SCHEDULE_CRON] = {"cron", &calendar_kind, {0, 0}, 0},
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

int32_t schedule_period (enum schedule_type type)
{
    assert (is_type (type));
    return types[type].period;
}

int64_t schedule_time_of_day (const struct zone *zone, int64_t seconds)
{
    static const struct civil_date fixed_day = {2024, 1, 15};
    int64_t local = civil_days (fixed_day) * CIVIL_DAY + seconds;
    return zone ? zone_instant (zone, local) : local;
}

int schedule_type_parse (const char *name)
{
    for (int i = 0; i < SCHEDULE_TYPES; i++)
        if (strcmp (types[i].name, name) == 0)
            return i;
    return -1;
}

static const struct schedule_kind *kind_of (const struct schedule *self)
{
    assert (is_type (self->type));
    bool steps = self->value > 0 || self->cycle;
    if (self->type == SCHEDULE_DAY && self->wall_clock && steps)
        return &calendar_kind;
    return types[self->type].kind;
}

bool schedule_is_calendar (const struct schedule *self)
{
    return kind_of (self) == &calendar_kind;
}

bool schedule_first (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, struct occurrence *ret)
{
    struct catch_up catch_up = {.keep = self->keep ? INT64_MAX : 0, .oldest = 0};
    return schedule_begin (self, zone, now, skip, &catch_up, NULL, ret);
}

bool schedule_begin (const struct schedule *self, const struct zone *zone, int64_t now,
                     int64_t skip, const struct catch_up *catch_up, struct missed *ret_missed,
                     struct occurrence *ret)
{
    assert (now >= 0 && skip >= 0 && catch_up->keep >= 0);
    if (ret_missed)
        *ret_missed = (struct missed){0};
    return kind_of (self)->first (self, &(struct first_query){zone, now, skip, catch_up},
                                  ret_missed, ret);
}

static bool end_is_past (const struct schedule *self, int64_t now)
{
    return self->end_time && now > self->end_time;
}

bool schedule_never_by_end (const struct schedule *self, const struct zone *zone, int64_t now,
                            int64_t skip)
{
    struct schedule open = *self;
    struct occurrence ignored;
    open.end_time = 0;
    return end_is_past (self, now) ||
           (self->end_time && schedule_first (&open, zone, now, skip, &ignored));
}

void schedule_explain_never (const struct schedule *self, const struct zone *zone, int64_t now,
                             int64_t skip, struct reason *reason)
{
    if (end_is_past (self, now))
        reason_set (reason, "end_time: is past");
    else if (schedule_never_by_end (self, zone, now, skip))
        reason_set (reason, "end_time: the first occurrence would be later");
    else if (self->type == SCHEDULE_TIME && self->base_time >= now)
        reason_set (reason, "start_time: is later than plan_time");
    else if (self->type == SCHEDULE_TIME)
        reason_set (reason, "plan_time: is past");
    else if (self->type == SCHEDULE_CRON)
        reason_set (reason, "cron: matches no local time of the zone, after skip_set");
    else
        reason_set (reason, "plan_repet: the last occurrence is past or after the year 9999");
}

int64_t schedule_skip_max (const struct schedule *self)
{
    bool walked = schedule_is_calendar (self) && !calendar_one_each (self);
    return walked ? SCHEDULE_WALK_MAX : INT64_MAX;
}

bool schedule_skip (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t count, struct occurrence *ret)
{
    assert (count >= 1);
    return kind_of (self)->skip (self, zone, current, count, ret);
}

// Both schedule_after and schedule_at_or_after.
static bool occurrence_after (const struct schedule *self, const struct after_query *query,
                              struct missed *ret_missed, struct occurrence *ret)
{
    assert (query->now >= 0 && query->catch_up->keep >= 0);
    if (ret_missed)
        *ret_missed = (struct missed){0};
    if (query->with_current && query->current->time >= query->now) {
        *ret = *query->current;
        return true;
    }
    return kind_of (self)->after (self, query, ret_missed, ret);
}

bool schedule_after (const struct schedule *self, const struct zone *zone,
                     const struct occurrence *current, int64_t now, const struct catch_up *catch_up,
                     struct missed *ret_missed, struct occurrence *ret)
{
    return occurrence_after (self, &(struct after_query){zone, current, now, catch_up, false},
                             ret_missed, ret);
}

bool schedule_at_or_after (const struct schedule *self, const struct zone *zone,
                           const struct occurrence *current, int64_t now,
                           const struct catch_up *catch_up, struct missed *ret_missed,
                           struct occurrence *ret)
{
    return occurrence_after (self, &(struct after_query){zone, current, now, catch_up, true},
                             ret_missed, ret);
}

bool schedule_next (const struct schedule *self, const struct zone *zone,
                    const struct occurrence *current, int64_t now, struct occurrence *ret)
{
    bool keeps = self->keep && kind_of (self) == &interval_kind;
    struct catch_up catch_up = {.keep = keeps ? INT64_MAX : 0, .oldest = 0};
    return schedule_after (self, zone, current, now, &catch_up, NULL, ret);
}
