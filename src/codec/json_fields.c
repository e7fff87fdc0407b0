#include "json_fields.h"

#include <inttypes.h>
#include <stdio.h>

#include "ident.h"
#include "json.h"
#include "nearest.h"

// Derive the rule from the bounds or the words.
static void derive_rule (const struct json_field *field, struct reason *ret)
{
    if (field->as == AS_FLAG) {
        reason_set (ret, "want true or false");
    } else if (field->as == AS_WORD) {
        size_t size = 0;
        for (int64_t i = field->min; i < field->max && size < sizeof ret->text; i++)
            size += (size_t)snprintf (ret->text + size, sizeof ret->text - size, "%s%s",
                                      i == field->min       ? "want "
                                      : i + 1 == field->max ? " or "
                                                            : ", ",
                                      field->words[i]);
    } else {
        bool text = field->as == AS_TEXT || field->as == AS_STRING;
        const char *what = text ? "a string of " : field->as == AS_SECONDS ? "seconds, " : "";
        reason_set (ret, "want %s%" PRId64 "..%" PRId64 "%s", what, field->min, field->max,
                    text ? " bytes" : "");
    }
}

// -- readers for single types; `out` NULL: the value is only checked

static bool read_text (const struct json_field *field, const json_t *value, void *out)
{
    size_t size = json_string_length (value);
    if (!json_is_string (value) || (int64_t)size < field->min || (int64_t)size > field->max)
        return false;
    if (out && field->as == AS_TEXT)
        memcpy (out, json_string_value (value), size + 1);
    else if (out)
        *(const char **)out = json_string_value (value);
    return true;
}

static bool read_number (const struct json_field *field, const json_t *value, void *out)
{
    json_int_t number = json_integer_value (value);
    if (!json_is_integer (value) || number < field->min || number > field->max)
        return false;
    if (out && field->as == AS_INT)
        *(int32_t *)out = (int32_t)number;
    else if (out)
        *(int64_t *)out = number;
    return true;
}

static bool read_enum_word (const struct json_field *field, const json_t *value, void *out)
{
    const char *text = json_string_value (value);
    int count = (int)(field->max - field->min);
    int at = text ? word_index (field->words + field->min, count, text) : -1;
    if (at >= 0 && out)
        *(int *)out = (int)field->min + at;
    return at >= 0;
}

static bool read_ident (const json_t *value, void *out)
{
    struct span text = json_span (value);
    json_int_t number = json_integer_value (value);
    uint64_t ident = number > 0 ? (uint64_t)number : 0;
    if (!ident && !(json_is_string (value) && ident_parse (text, &ident)))
        return false;
    if (out)
        *(uint64_t *)out = ident;
    return true;
}

// Read and check one member's value. False: the value is wrong; `why` is set if the field has no
// rule.
static bool read_member_value (const struct json_field *field, const json_t *value, void *ret,
                               struct reason *why)
{
    void *out = !ret || field->at == JSON_NOWHERE ? NULL : (char *)ret + field->at;
    bool good = false;
    switch (field->as) {
    case AS_OWN:
        return field->read ? field->read (out, value) : field->read_with_reason (out, value, why);
    case AS_TEXT:
    case AS_STRING:
        good = read_text (field, value, out);
        break;
    case AS_NUMBER:
    case AS_SECONDS:
    case AS_INT:
        good = read_number (field, value, out);
        break;
    case AS_FLAG:
        good = json_is_boolean (value);
        if (out)
            *(bool *)out = json_is_true (value);
        break;
    case AS_WORD:
        good = read_enum_word (field, value, out);
        break;
    case AS_IDENT:
        good = read_ident (value, out);
        break;
    }
    if (!good && !field->rule)
        derive_rule (field, why);
    return good;
}

bool json_field_read (const struct json_field *field, const json_t *value, void *ret,
                      struct reason *reason)
{
    struct reason why;
    bool good = read_member_value (field, value, ret, &why);
    if (!good && field->reason_names_it)
        *reason = why;
    else if (!good)
        reason_set (reason, "%s: %s", field->name, field->rule ? field->rule : why.text);
    return good;
}

bool json_fields_read (const json_t *object, const struct json_field *fields, size_t count,
                       void *ret, struct reason *reason)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value)
    {
        const struct json_field *field = fields;
        while (field < fields + count && strcmp (field->name, name) != 0)
            field++;
        if (field == fields + count)
            return reason_reject (reason, "%s: unknown field", quoted (span_text (name)));
        if (!json_field_read (field, value, ret, reason))
            return false;
    }
    return true;
}

bool json_fields_parse (struct span text, const struct json_field *fields, size_t count, void *ret,
                        struct reason *reason)
{
    json_t *object = json_read_object (text, reason);
    bool good = object && json_fields_read (object, fields, count, ret, reason);
    json_decref (object);
    return good;
}
