#include "filter.h"

#include "ident.h"
#include "settings.h"

bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret)
{
    char copy[24];
    if (text.size == 0 || text.size >= sizeof copy || memchr (text.data, '\0', text.size))
        return false;
    memcpy (copy, text.data, text.size);
    copy[text.size] = '\0';
    return number_parse (copy, ret) && *ret >= min && *ret <= max;
}

bool copy_text (const json_t *value, char *out, size_t room)
{
    if (!json_is_string (value) || json_string_length (value) >= room)
        return false;
    memcpy (out, json_string_value (value), json_string_length (value) + 1);
    return true;
}

static bool read_filter_field (const struct filter_field *fields, size_t count, const char *name,
                               const json_t *value, void *filter, struct reason *reason)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp (fields[i].name, name) != 0)
            continue;
        if (fields[i].read (filter, value))
            return true;
        reason_set (reason, "%s: %s", name, fields[i].rule);
        return false;
    }
    reason_set (reason, "%s: unknown field", quoted (span_text (name)));
    return false;
}

bool filter_read (json_t *object, const struct filter_field *fields, size_t count, void *filter,
                  struct reason *reason)
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value)
    {
        if (!read_filter_field (fields, count, name, value, filter, reason))
            return false;
    }
    return true;
}

bool copy_ident (const json_t *value, uint64_t *ret)
{
    struct span text = span_of (json_string_value (value), json_string_length (value));
    if (!json_is_integer (value))
        return json_is_string (value) && ident_parse (text, ret);
    *ret = (uint64_t)json_integer_value (value);
    return json_integer_value (value) > 0;
}
