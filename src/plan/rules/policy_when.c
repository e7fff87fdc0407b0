#include <inttypes.h>

#include "policy_private.h"
#include "rfc3339.h"

enum { DURATION_MAX = 32766 };

bool policy_read_cron (struct policy *self, const char *name, const json_t *value,
                       struct reason *reason)
{
    struct span expressions[CRONS_MAX];
    bool list = json_is_array (value);
    size_t count = list ? json_array_size (value) : 1;
    bool right = count >= 1 && count <= CRONS_MAX;
    for (size_t i = 0; right && i < count; i++) {
        const json_t *text = list ? json_array_get (value, i) : value;
        expressions[i] = span_of (json_string_value (text), json_string_length (text));
        right = json_is_string (text);
    }
    if (!right) {
        reason_set (reason, "%s: want an expression, or a list of 1..%d", name, CRONS_MAX);
        return false;
    }
    self->cron = cron_new (expressions, count, reason);
    return self->cron != NULL;
}

bool policy_read_timezone (struct policy *self, const char *name, const json_t *value,
                           struct reason *reason)
{
    size_t size = json_string_length (value);
    if (!json_is_string (value) || size < 1 || size > ZONE_NAME_MAX) {
        reason_set (reason, "%s: want the name of a time zone, such as Europe/Berlin", name);
        return false;
    }
    memcpy (self->timezone, json_string_value (value), size + 1);
    return true;
}

bool policy_read_gap (struct policy *self, const char *name, const json_t *value,
                      struct reason *reason)
{
    int gap = json_is_string (value) ? zone_gap_parse (json_string_value (value)) : -1;
    self->gap = (enum zone_gap)gap;
    if (gap >= 0)
        return true;
    reason_set (reason, "%s: want shift or skip", name);
    return false;
}

bool policy_read_overlap (struct policy *self, const char *name, const json_t *value,
                          struct reason *reason)
{
    int overlap = json_is_string (value) ? zone_overlap_parse (json_string_value (value)) : -1;
    self->overlap = (enum zone_overlap)overlap;
    if (overlap >= 0)
        return true;
    reason_set (reason, "%s: want first, last or both", name);
    return false;
}

static bool read_count (const char *name, const json_t *value, int64_t *ret, struct reason *reason)
{
    *ret = json_integer_value (value);
    if (json_is_integer (value) && *ret >= 1 && *ret <= INT32_MAX)
        return true;
    reason_set (reason, "%s: want 1..%d", name, INT32_MAX);
    return false;
}

bool policy_read_iteration (struct policy *self, const char *name, const json_t *value,
                            struct reason *reason)
{
    return read_count (name, value, &self->iteration, reason);
}

bool policy_read_cycle (struct policy *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    size_t count = json_array_size (value);
    if (json_is_integer (value))
        return read_count (name, value, &self->runs, reason);
    if (!json_is_array (value) || count < 1 || count > CYCLE_MAX) {
        reason_set (reason, "%s: want a number, or a list of 1..%d durations", name, CYCLE_MAX);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get (value, i);
        json_int_t duration = json_integer_value (item);
        if (!json_is_integer (item) || duration < 1 || duration > DURATION_MAX) {
            reason_set (reason, "%s: want durations 1..%d, in the unit of plan_type", name,
                        DURATION_MAX);
            return false;
        }
        self->cycle.durations[i] = (int32_t)duration;
    }
    self->cycle.count = count;
    return true;
}

static bool read_instant (const char *name, const json_t *value, int64_t *ret,
                          struct reason *reason)
{
    struct reason why = {"want whole Unix seconds or an RFC 3339 string, no fraction"};
    struct span text = span_of (json_string_value (value), json_string_length (value));
    bool read = json_is_integer (value);
    *ret = json_integer_value (value);
    if (json_is_string (value))
        read = rfc3339_parse (text, ret, &why) == 0;
    if (read && *ret >= 1 && *ret <= SCHEDULE_TIME_MAX)
        return true;
    if (read)
        reason_set (reason, "%s: want Unix seconds 1..%" PRId64 " (year 9999)", name,
                    SCHEDULE_TIME_MAX);
    else
        reason_set (reason, "%s: %s", name, why.text);
    return false;
}

bool policy_read_start (struct policy *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    return read_instant (name, value, &self->start_time, reason);
}

bool policy_read_end (struct policy *self, const char *name, const json_t *value,
                      struct reason *reason)
{
    return read_instant (name, value, &self->end_time, reason);
}

struct catch_up policy_misfires (const struct policy *self, const struct schedule *schedule,
                                 int64_t now)
{
    enum misfire misfire = self ? self->misfire : MISFIRE_UNSAID;
    int64_t window_s = self ? self->misfire_window_s : 0;
    int64_t oldest = window_s && window_s < now ? now - window_s : 0;
    if (misfire == MISFIRE_UNSAID && schedule->keep && !schedule_is_calendar (schedule))
        misfire = MISFIRE_ALL;
    if (misfire == MISFIRE_ALL)
        return (struct catch_up){INT64_MAX, oldest};
    if (misfire == MISFIRE_NEWEST)
        return (struct catch_up){self->misfire_keep, oldest};
    return (struct catch_up){.keep = 0};
}
