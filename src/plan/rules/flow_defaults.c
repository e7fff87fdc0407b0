#include "flow_defaults.h"

#include <string.h>

#include "retry_rule.h"
#include "span.h"

static bool is_number (const json_t *value, int number)
{
    return json_is_integer (value) && json_integer_value (value) == number;
}

static bool is_word (const json_t *value, const char *word)
{
    return json_is_string (value) && strcmp (json_string_value (value), word) == 0;
}

static bool check_retry (const json_t *value, struct reason *reason)
{
    struct retry_policy retry;
    struct reason why;
    if (is_number (value, 0) || is_number (value, 1) || retry_rule_read (value, &retry, &why))
        return true;
    if (json_is_object (value))
        reason_set (reason, "defaults: %.180s", why.text);
    else
        reason_set (reason, "defaults: retry: want 0, 1, or an object with strategy and others");
    return false;
}

static bool check_on_error (const json_t *value, struct reason *reason)
{
    if (is_number (value, 0) || is_number (value, 1) || is_word (value, "block") ||
        is_word (value, "continue"))
        return true;
    reason_set (reason, "defaults: on_error: want block, continue, 1 or 0");
    return false;
}

bool flow_defaults_read (const json_t *value, struct reason *reason)
{
    const char *name;
    json_t *member;
    if (!json_is_object (value)) {
        reason_set (reason, "defaults: want an object with retry and on_error");
        return false;
    }
    json_object_foreach ((json_t *)(uintptr_t)value, name, member)
    {
        bool retry = strcmp (name, "retry") == 0;
        if (!retry && strcmp (name, "on_error") != 0) {
            reason_set (reason, "defaults: %s: unknown field", quoted (span_text (name)));
            return false;
        }
        if (!(retry ? check_retry (member, reason) : check_on_error (member, reason)))
            return false;
    }
    return true;
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
