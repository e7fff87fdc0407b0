#include "filter.h"

#include "ident.h"
#include "json.h"
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

static bool copy_ident (const json_t *value, uint64_t *ret)
{
    struct span text = span_of (json_string_value (value), json_string_length (value));
    if (!json_is_integer (value))
        return json_is_string (value) && ident_parse (text, ret);
    *ret = (uint64_t)json_integer_value (value);
    return json_integer_value (value) > 0;
}

static bool read_value (const struct filter_field *field, const json_t *value, void *filter)
{
    void *out = (char *)filter + field->at;
    json_int_t number = json_integer_value (value);
    switch (field->type) {
    case FILTER_TEXT:
        return (int64_t)json_string_length (value) >= field->min &&
               copy_text (value, out, (size_t)field->max + 1);
    case FILTER_NUMBER:
        *(int64_t *)out = number;
        return json_is_integer (value) && number >= field->min && number <= field->max;
    case FILTER_FLAG:
        *(bool *)out = json_is_true (value);
        return json_is_boolean (value);
    case FILTER_IDENT:
        return copy_ident (value, out);
    case FILTER_OWN:
        break;
    }
    return field->read (out, value);
}

static bool read_field (const struct filter_field *fields, size_t count, const char *name,
                        const json_t *value, void *filter, struct reason *reason)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp (fields[i].name, name) != 0)
            continue;
        if (read_value (&fields[i], value, filter))
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
        if (!read_field (fields, count, name, value, filter, reason))
            return false;
    }
    return true;
}

bool filter_parse (struct span text, const struct filter_field *fields, size_t count, void *filter,
                   struct reason *reason)
{
    json_t *object = json_read_object (text, reason);
    bool good = object && filter_read (object, fields, count, filter, reason);
    json_decref (object);
    return good;
}
