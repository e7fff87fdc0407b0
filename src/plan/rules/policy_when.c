// Readers of a policy's fields for schedules: cron, gap, overlap, cycle and windows; and the rule
// for missed occurrences.
#include <inttypes.h>

#include "json.h"
#include "policy_private.h"
#include "rfc3339.h"

// Read `cron`: an expression, or a list of them.
bool policy_read_cron (void *policy, const json_t *value, struct reason *reason)
{
    struct policy *self = policy;
    struct span expressions[CRONS_MAX];
    bool list = json_is_array (value);
    size_t count = list ? json_array_size (value) : 1;
    bool right = count >= 1 && count <= CRONS_MAX;
    for (size_t i = 0; right && i < count; i++) {
        const json_t *text = list ? json_array_get (value, i) : value;
        expressions[i] = json_span (text);
        right = json_is_string (text);
    }
    if (!right)
        return reason_reject (reason, "cron: want an expression, or a list of 1..%d", CRONS_MAX);
    self->cron = cron_new (expressions, count, reason);
    return self->cron != NULL;
}

bool policy_read_gap (void *policy, const json_t *value)
{
    int gap = json_is_string (value) ? zone_gap_parse (json_string_value (value)) : -1;
    ((struct policy *)policy)->gap = (enum zone_gap)gap;
    return gap >= 0;
}

bool policy_read_overlap (void *policy, const json_t *value)
{
    int overlap = json_is_string (value) ? zone_overlap_parse (json_string_value (value)) : -1;
    ((struct policy *)policy)->overlap = (enum zone_overlap)overlap;
    return overlap >= 0;
}

// Read `cycle`: the number of runs in an iteration, or a list of durations between them.
bool policy_read_cycle (void *policy, const json_t *value, struct reason *reason)
{
    struct policy *self = policy;
    size_t count = json_array_size (value);
    if (json_is_integer (value)) {
        self->runs = json_integer_value (value);
        if (self->runs >= 1 && self->runs <= INT32_MAX)
            return true;
        return reason_reject (reason, "want 1..%d", INT32_MAX);
    }
    if (!json_is_array (value) || count < 1 || count > CYCLE_MAX)
        return reason_reject (reason, "want a number, or a list of 1..%d durations", CYCLE_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get (value, i);
        json_int_t duration = json_integer_value (item);
        if (!json_is_integer (item) || duration < 1 || duration > CYCLE_DURATION_MAX)
            return reason_reject (reason, "want durations 1..%d, in the unit of plan_type",
                                  CYCLE_DURATION_MAX);
        self->cycle.durations[i] = (int32_t)duration;
    }
    self->cycle.count = count;
    return true;
}

// Read `start_time` or `end_time`: Unix seconds, or an RFC 3339 string.
bool policy_read_instant (void *instant, const json_t *value, struct reason *reason)
{
    int64_t *ret = instant;
    struct span text = json_span (value);
    bool read = json_is_integer (value);
    reason_set (reason, "want whole Unix seconds or an RFC 3339 string, no fraction");
    *ret = json_integer_value (value);
    if (json_is_string (value))
        read = rfc3339_parse (text, ret, reason) == 0;
    if (read && *ret >= 1 && *ret <= SCHEDULE_TIME_MAX)
        return true;
    if (read)
        reason_set (reason, "want Unix seconds 1..%" PRId64 " (year 9999)", SCHEDULE_TIME_MAX);
    return false;
}

struct catch_up policy_misfires (const struct policy *self, const struct schedule *schedule,
                                 int64_t now)
{
    enum misfire misfire = self ? self->misfire : MISFIRE_UNSET;
    int64_t window_s = self ? self->misfire_window_s : 0;
    int64_t oldest = window_s && window_s < now ? now - window_s : 0;
    if (misfire == MISFIRE_UNSET && schedule->keep && !schedule_is_calendar (schedule))
        misfire = MISFIRE_ALL;
    if (misfire == MISFIRE_ALL)
        return (struct catch_up){INT64_MAX, oldest};
    if (misfire == MISFIRE_NEWEST)
        return (struct catch_up){self->misfire_keep, oldest};
    return (struct catch_up){.keep = 0};
}
