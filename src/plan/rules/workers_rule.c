#include "workers_rule.h"

#include <inttypes.h>

#include "json.h"
#include "json_fields.h"

enum { COUNT_MAX = 1000, ONLY_MAX = 64, SECONDS_MAX = 86400, PING_S = 30, TIMEOUT_S = 60 };

bool worker_name_valid (struct span name)
{
    return name_valid_with (name, ":@");
}

// Check `only`: a list of workers' names.
static bool check_only_workers (void *rule, const json_t *value, struct reason *reason)
{
    size_t size = json_array_size (value);
    bool good = json_is_array (value) && size <= ONLY_MAX;
    (void)rule;
    for (size_t i = 0; good && i < size; i++) {
        const json_t *name = json_array_get (value, i);
        good = json_is_string (name) && worker_name_valid (json_span (name));
    }
    if (!good)
        reason_set (reason,
                    "want a list of at most %d names, each 1..%d of A-Z a-z 0-9 _ . "
                    ": @ -",
                    ONLY_MAX, WORKER_NAME_MAX);
    return good;
}

#define FIELD(name) offsetof (struct workers_rule, name)

static const struct json_field fields[] = {
    {"count", AS_INT, FIELD (count), 1, COUNT_MAX},
    {"only", .read_with_reason = check_only_workers},
    {"again", AS_FLAG, JSON_NOWHERE},
    {"ping_interval", AS_INT, FIELD (ping_s), 1, SECONDS_MAX},
    {"worker_timeout", AS_INT, FIELD (timeout_s), 1, SECONDS_MAX},
};

bool workers_rule_read (void *rule, const json_t *object, struct reason *reason)
{
    struct workers_rule *self = rule;
    *self = (struct workers_rule){.count = 1, .ping_s = PING_S, .timeout_s = TIMEOUT_S};
    if (!json_is_object (object))
        reason_set (reason, "want an object with count, only and others");
    else if (!json_fields_read (object, fields, sizeof fields / sizeof *fields, self, reason))
        return false;
    else if (self->timeout_s <= self->ping_s)
        reason_set (reason, "worker_timeout: want more than ping_interval, %" PRId32, self->ping_s);
    else
        return true;
    return false;
}
