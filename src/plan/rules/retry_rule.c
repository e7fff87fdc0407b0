#include "retry_rule.h"

#include <inttypes.h>

enum { SECONDS_MAX = 31536000, RETRIES_MAX = 1000000, JITTER_MAX = 86400 };

static const char *const strategies[] = {[RETRY_NONE] = "none",
                                         [RETRY_FIXED] = "fixed",
                                         [RETRY_SEQUENCE] = "sequence",
                                         [RETRY_EXPONENTIAL] = "exponential"};

// What was seen: "absent" and 0 differ.
struct retry_reading {
    struct retry_policy *policy;
    bool has_interval, has_max;
    struct reason *reason;
};

static bool read_bounded (const json_t *value, const char *name, int64_t min, int64_t max,
                          int64_t *ret, struct reason *reason)
{
    *ret = json_integer_value (value);
    if (json_is_integer (value) && *ret >= min && *ret <= max)
        return true;
    reason_set (reason, "retry: %s: want %" PRId64 "..%" PRId64, name, min, max);
    return false;
}

static bool read_strategy (struct retry_reading *self, const json_t *value)
{
    for (int i = RETRY_NONE; i <= RETRY_EXPONENTIAL; i++) {
        if (json_is_string (value) && strcmp (json_string_value (value), strategies[i]) == 0) {
            self->policy->strategy = (enum retry_strategy)i;
            return true;
        }
    }
    reason_set (self->reason, "retry: strategy: want none, fixed, sequence or exponential");
    return false;
}

static bool read_interval (struct retry_reading *self, const json_t *value)
{
    self->has_interval = true;
    return read_bounded (value, "interval", 1, SECONDS_MAX, &self->policy->interval_s,
                         self->reason);
}

static bool read_sequence (struct retry_reading *self, const json_t *value)
{
    size_t size = json_array_size (value);
    if (!json_is_array (value) || size < 1 || size > RETRY_SEQUENCE_MAX) {
        reason_set (self->reason, "retry: sequence: want a list of 1..%d numbers of seconds",
                    RETRY_SEQUENCE_MAX);
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        int64_t seconds;
        if (!read_bounded (json_array_get (value, i), "sequence", 0, SECONDS_MAX, &seconds,
                           self->reason))
            return false;
        self->policy->sequence[i] = (int32_t)seconds;
    }
    self->policy->sequence_size = size;
    return true;
}

static bool read_max (struct retry_reading *self, const json_t *value)
{
    self->has_max = true;
    return read_bounded (value, "max", 0, RETRIES_MAX, &self->policy->max, self->reason);
}

static bool read_jitter (struct retry_reading *self, const json_t *value)
{
    return read_bounded (value, "jitter", 0, JITTER_MAX, &self->policy->jitter_s, self->reason);
}

static bool read_manual (struct retry_reading *self, const json_t *value)
{
    self->policy->need_manual = json_is_true (value);
    if (json_is_boolean (value))
        return true;
    reason_set (self->reason, "retry: need_manual: want true or false");
    return false;
}

static const struct retry_field {
    const char *name;
    bool (*read) (struct retry_reading *self, const json_t *value);
} fields[] = {
    {"strategy", read_strategy}, {"interval", read_interval}, {"sequence", read_sequence},
    {"max", read_max},           {"jitter", read_jitter},     {"need_manual", read_manual},
};

static bool read_field (struct retry_reading *self, const char *name, const json_t *value)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp (fields[i].name, name) == 0)
            return fields[i].read (self, value);
    reason_set (self->reason, "retry: %s: unknown field", quoted (span_text (name)));
    return false;
}

// Which fields a strategy needs, and which would mean nothing beside it.
static bool check_together (const struct retry_reading *self)
{
    const struct retry_policy *policy = self->policy;
    bool interval = policy->strategy == RETRY_FIXED || policy->strategy == RETRY_EXPONENTIAL;
    bool sequence = policy->strategy == RETRY_SEQUENCE;
    const char *name = strategies[policy->strategy];
    if (policy->strategy == RETRY_PACED)
        reason_set (self->reason, "retry: strategy: is missing");
    else if (interval != self->has_interval)
        reason_set (self->reason, "retry: interval: %s with strategy %s",
                    interval ? "is missing, it is needed" : "has no meaning", name);
    else if (sequence != (policy->sequence_size > 0))
        reason_set (self->reason, "retry: sequence: %s with strategy %s",
                    sequence ? "is missing, it is needed" : "has no meaning", name);
    else if (policy->strategy == RETRY_NONE && policy->max > 0)
        reason_set (self->reason, "retry: max: want 0 with strategy none, or omit it");
    else
        return true;
    return false;
}

bool retry_rule_read (const json_t *object, struct retry_policy *ret, struct reason *reason)
{
    const char *name;
    json_t *value;
    struct retry_reading reading = {.policy = ret, .reason = reason};
    *ret = (struct retry_policy){0};
    if (!json_is_object (object)) {
        reason_set (reason, "retry: want an object with strategy, max and others");
        return false;
    }
    json_object_foreach ((json_t *)object, name, value)
    {
        if (!read_field (&reading, name, value))
            return false;
    }
    if (!reading.has_max)
        ret->max = ret->strategy == RETRY_NONE ? 0 : RETRY_FOREVER;
    return check_together (&reading);
}
