#include "flow_defaults.h"

#include <string.h>

#include "json_fields.h"
#include "retry_rule.h"

static bool equals_number (const json_t *value, int number)
{
    return json_is_integer (value) && json_integer_value (value) == number;
}

static bool equals_string (const json_t *value, const char *word)
{
    return json_is_string (value) && strcmp (json_string_value (value), word) == 0;
}

static bool check_default_retry (void *none, const json_t *value, struct reason *reason)
{
    struct retry_policy retry;
    (void)none;
    if (equals_number (value, 0) || equals_number (value, 1))
        return true;
    if (json_is_object (value))
        return retry_rule_read (&retry, value, reason);
    return reason_reject (reason, "want 0, 1, or an object with strategy and others");
}

static bool check_on_error (void *none, const json_t *value)
{
    (void)none;
    return equals_number (value, 0) || equals_number (value, 1) || equals_string (value, "block") ||
           equals_string (value, "continue");
}

bool flow_defaults_check (void *none, const json_t *value, struct reason *reason)
{
    static const struct json_field fields[] = {
        {"retry", .read_with_reason = check_default_retry},
        {"on_error", .rule = "want block, continue, 1 or 0", .read = check_on_error}};
    (void)none;
    if (json_is_object (value))
        return json_fields_read (value, fields, sizeof fields / sizeof *fields, NULL, reason);
    return reason_reject (reason, "want an object with retry and on_error");
}

json_t *flow_defaults_retry (const json_t *value)
{
    json_t *retry = json_object_get (value, "retry");
    if (equals_number (retry, 1))
        return json_pack ("{s:s, s:i, s:i}", "strategy", "exponential", "interval", 1, "max", 3);
    return json_is_object (retry) ? json_deep_copy (retry) : NULL;
}

bool flow_defaults_continue (const json_t *value)
{
    const json_t *on_error = json_object_get (value, "on_error");
    return equals_number (on_error, 0) || equals_string (on_error, "continue");
}
