#include "flow_defaults.h"

#include <string.h>

#include "json_fields.h"
#include "retry_rule.h"

static bool is_number (const json_t *value, int number)
{
    return json_is_integer (value) && json_integer_value (value) == number;
}

static bool is_word (const json_t *value, const char *word)
{
    return json_is_string (value) && strcmp (json_string_value (value), word) == 0;
}

static bool judge_retry (void *none, const json_t *value, struct reason *reason)
{
    struct retry_policy retry;
    (void)none;
    if (is_number (value, 0) || is_number (value, 1))
        return true;
    if (json_is_object (value))
        return retry_rule_judge (&retry, value, reason);
    reason_set (reason, "want 0, 1, or an object with strategy and others");
    return false;
}

static bool is_on_error (void *none, const json_t *value)
{
    (void)none;
    return is_number (value, 0) || is_number (value, 1) || is_word (value, "block") ||
           is_word (value, "continue");
}

bool flow_defaults_judge (void *none, const json_t *value, struct reason *reason)
{
    static const struct json_field fields[] = {
        {"retry", .judge = judge_retry},
        {"on_error", .rule = "want block, continue, 1 or 0", .read = is_on_error}};
    (void)none;
    if (json_is_object (value))
        return json_fields_read (value, fields, sizeof fields / sizeof *fields, NULL, reason);
    reason_set (reason, "want an object with retry and on_error");
    return false;
}

json_t *flow_defaults_retry (const json_t *value)
{
    json_t *retry = json_object_get (value, "retry");
    if (is_number (retry, 1))
        return json_pack ("{s:s, s:i, s:i}", "strategy", "exponential", "interval", 1, "max", 3);
    return json_is_object (retry) ? json_deep_copy (retry) : NULL;
}

bool flow_defaults_continue (const json_t *value)
{
    const json_t *on_error = json_object_get (value, "on_error");
    return is_number (on_error, 0) || is_word (on_error, "continue");
}
