#include "retry_rule.h"

#include "json_fields.h"

enum { SECONDS_MAX = 31536000, RETRIES_MAX = 1000000, JITTER_MAX = 86400 };

static const char *const strategies[] = {[RETRY_NONE] = "none",
                                         [RETRY_FIXED] = "fixed",
                                         [RETRY_SEQUENCE] = "sequence",
                                         [RETRY_EXPONENTIAL] = "exponential"};

// Read `sequence`: a list of delays in seconds.
static bool read_sequence (void *rule, const json_t *value, struct reason *reason)
{
    struct retry_policy *self = rule;
    size_t size = json_array_size (value);
    if (!json_is_array (value) || size < 1 || size > RETRY_SEQUENCE_MAX)
        return reason_reject (reason, "want a list of 1..%d numbers of seconds",
                              RETRY_SEQUENCE_MAX);
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get (value, i);
        json_int_t seconds = json_integer_value (item);
        if (!json_is_integer (item) || seconds < 0 || seconds > SECONDS_MAX)
            return reason_reject (reason, "want 0..%d", SECONDS_MAX);
        self->sequence[i] = (int32_t)seconds;
    }
    self->sequence_size = size;
    return true;
}

#define FIELD(name) offsetof (struct retry_policy, name)

static const struct json_field fields[] = {
    {"strategy", AS_WORD, FIELD (strategy), RETRY_NONE, RETRY_EXPONENTIAL + 1, .words = strategies},
    {"interval", AS_NUMBER, FIELD (interval_s), 1, SECONDS_MAX},
    {"sequence", .read_with_reason = read_sequence},
    {"max", AS_NUMBER, FIELD (max), 0, RETRIES_MAX},
    {"jitter", AS_NUMBER, FIELD (jitter_s), 0, JITTER_MAX},
    {"need_manual", AS_FLAG, FIELD (need_manual)},
};

// Check that the fields are those that the strategy needs, and no others.
static bool check_strategy_fields (const struct retry_policy *self, struct reason *reason)
{
    bool interval = self->strategy == RETRY_FIXED || self->strategy == RETRY_EXPONENTIAL;
    bool sequence = self->strategy == RETRY_SEQUENCE;
    const char *name = strategies[self->strategy];
    if (self->strategy == RETRY_PACED)
        reason_set (reason, "strategy: is missing");
    else if (interval != (self->interval_s > 0))
        reason_set (reason, "interval: %s with strategy %s",
                    interval ? "is missing, it is needed" : "has no meaning", name);
    else if (sequence != (self->sequence_size > 0))
        reason_set (reason, "sequence: %s with strategy %s",
                    sequence ? "is missing, it is needed" : "has no meaning", name);
    else if (self->strategy == RETRY_NONE && self->max > 0)
        reason_set (reason, "max: want 0 with strategy none, or omit it");
    else
        return true;
    return false;
}

bool retry_rule_read (void *ret, const json_t *object, struct reason *reason)
{
    enum { ABSENT = -1 };
    struct retry_policy *self = ret;
    *self = (struct retry_policy){.max = ABSENT};
    if (!json_is_object (object))
        return reason_reject (reason, "want an object with strategy, max and others");
    bool read = json_fields_read (object, fields, sizeof fields / sizeof *fields, self, reason);
    if (self->max == ABSENT)
        self->max = self->strategy == RETRY_NONE ? 0 : RETRY_FOREVER;
    return read && check_strategy_fields (self, reason);
}
