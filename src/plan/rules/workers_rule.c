#include "workers_rule.h"

#include <inttypes.h>

enum { COUNT_MAX = 1000, ONLY_MAX = 64, SECONDS_MAX = 86400, PING_S = 30, TIMEOUT_S = 60 };

bool worker_name_valid (struct span name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@-";
    if (name.size < 1 || name.size > WORKER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!memchr (allowed, name.data[i], sizeof allowed - 1))
            return false;
    return true;
}

static bool read_number (const char *name, const json_t *value, int32_t max, int32_t *ret,
                         struct reason *reason)
{
    json_int_t number = json_integer_value (value);
    *ret = (int32_t)number;
    if (json_is_integer (value) && number >= 1 && number <= max)
        return true;
    reason_set (reason, "workers: %s: want 1..%" PRId32, name, max);
    return false;
}

static bool read_count (struct workers_rule *self, const json_t *value, struct reason *reason)
{
    return read_number ("count", value, COUNT_MAX, &self->count, reason);
}

static bool read_ping (struct workers_rule *self, const json_t *value, struct reason *reason)
{
    return read_number ("ping_interval", value, SECONDS_MAX, &self->ping_s, reason);
}

static bool read_worker_timeout (struct workers_rule *self, const json_t *value,
                                 struct reason *reason)
{
    return read_number ("worker_timeout", value, SECONDS_MAX, &self->timeout_s, reason);
}

static bool read_only (struct workers_rule *self, const json_t *value, struct reason *reason)
{
    size_t size = json_array_size (value);
    bool good = json_is_array (value) && size <= ONLY_MAX;
    (void)self;
    for (size_t i = 0; good && i < size; i++) {
        const json_t *name = json_array_get (value, i);
        good = json_is_string (name) &&
               worker_name_valid (span_of (json_string_value (name), json_string_length (name)));
    }
    if (!good)
        reason_set (reason,
                    "workers: only: want a list of at most %d names, each 1..%d of A-Z a-z 0-9 _ . "
                    ": @ -",
                    ONLY_MAX, WORKER_NAME_MAX);
    return good;
}

static bool read_again (struct workers_rule *self, const json_t *value, struct reason *reason)
{
    (void)self;
    if (json_is_boolean (value))
        return true;
    reason_set (reason, "workers: again: want true or false");
    return false;
}

static const struct workers_field {
    const char *name;
    bool (*read) (struct workers_rule *self, const json_t *value, struct reason *reason);
} fields[] = {
    {"count", read_count},
    {"only", read_only},
    {"again", read_again},
    {"ping_interval", read_ping},
    {"worker_timeout", read_worker_timeout},
};

static bool read_field (struct workers_rule *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp (fields[i].name, name) == 0)
            return fields[i].read (self, value, reason);
    reason_set (reason, "workers: %s: unknown field", quoted (span_text (name)));
    return false;
}

bool workers_rule_read (const json_t *object, struct workers_rule *ret, struct reason *reason)
{
    const char *name;
    json_t *value;
    *ret = (struct workers_rule){.count = 1, .ping_s = PING_S, .timeout_s = TIMEOUT_S};
    if (!json_is_object (object)) {
        reason_set (reason, "workers: want an object with count, only and others");
        return false;
    }
    json_object_foreach ((json_t *)object, name, value)
    {
        if (!read_field (ret, name, value, reason))
            return false;
    }
    if (ret->timeout_s > ret->ping_s)
        return true;
    reason_set (reason, "workers: worker_timeout: want more than ping_interval, %" PRId32,
                ret->ping_s);
    return false;
}
