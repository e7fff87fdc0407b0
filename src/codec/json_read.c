// Reading JSON: plain texts are parsed here, in a third of jansson's time. A text that is unusual
// or wrong is parsed again by jansson, which accepts or rejects it and makes the error texts.
#include "json.h"

#include "json_scan.h"

#include <stdlib.h>

struct json_reader {
    struct json_scan scan;
    uint8_t *scratch; // for decoded strings; as large as the text
    int depth;
};

static json_t *read_json_value (struct json_reader *self);

static json_t *read_string_value (struct json_reader *self)
{
    size_t size;
    return json_scan_string (&self->scan, self->scratch, &size)
               ? json_stringn_nocheck ((const char *)self->scratch, size)
               : NULL;
}

// Read an integer here, and any other number by jansson.
static json_t *read_json_number (struct json_reader *self)
{
    static const char more[] = "0123456789+-.eE";
    int64_t number;
    const uint8_t *start = self->scan.at, *end = self->scan.end;
    if (json_scan_integer (&self->scan, &number) &&
        (self->scan.at == end || !memchr (more, *self->scan.at, sizeof more - 1)))
        return json_integer (number);
    for (self->scan.at = start; self->scan.at < end; self->scan.at++)
        if (!memchr (more, *self->scan.at, sizeof more - 1))
            break;
    return json_loadb ((const char *)start, (size_t)(self->scan.at - start), JSON_DECODE_ANY, NULL);
}

// Read true, false or null.
static json_t *read_literal_name (struct json_reader *self)
{
    bool flag;
    if (json_scan_flag (&self->scan, &flag))
        return json_boolean (flag);
    if (self->scan.end - self->scan.at < 4 || memcmp (self->scan.at, "null", 4) != 0)
        return NULL;
    self->scan.at += 4;
    return json_null ();
}

static bool read_array_items (struct json_reader *self, json_t *list)
{
    if (json_scan_take (&self->scan, ']'))
        return true;
    do {
        if (json_array_append_new (list, read_json_value (self)))
            return false;
    } while (json_scan_take (&self->scan, ','));
    return json_scan_take (&self->scan, ']');
}

static bool read_object_members (struct json_reader *self, json_t *object)
{
    size_t count = 0;
    if (json_scan_take (&self->scan, '}'))
        return true;
    do {
        size_t size;
        uint8_t *name = self->scratch;
        if (!json_scan_string (&self->scan, name, &size) || !json_scan_take (&self->scan, ':'))
            return false;
        self->scratch += size; // the name is kept until its value is read
        json_t *value = read_json_value (self);
        self->scratch = name;
        if (json_object_setn_new_nocheck (object, (const char *)name, size, value))
            return false;
        count++;
    } while (json_scan_take (&self->scan, ','));
    return json_scan_take (&self->scan, '}') && json_object_size (object) == count;
}

// Read the items or members of `container` by `read`. Returns `container`; NULL: it was invalid,
// and released.
static json_t *read_container (struct json_reader *self, json_t *container,
                               bool read (struct json_reader *, json_t *))
{
    self->scan.at++;
    self->depth++;
    bool good = self->depth <= JSON_DEPTH_MAX && read (self, container);
    self->depth--;
    if (good)
        return container;
    json_decref (container);
    return NULL;
}

// Read the next value. NULL: it is unusual or wrong.
static json_t *read_json_value (struct json_reader *self)
{
    json_scan_space (&self->scan);
    if (self->scan.at == self->scan.end)
        return NULL;
    switch (*self->scan.at) {
    case '{':
        return read_container (self, json_object (), read_object_members);
    case '[':
        return read_container (self, json_array (), read_array_items);
    case '"':
        return read_string_value (self);
    case 't':
    case 'f':
    case 'n':
        return read_literal_name (self);
    default:
        return read_json_number (self);
    }
}

// Parse an object or an array. NULL: the text is unusual or wrong, and jansson must decide.
static json_t *read_plain_text (struct span text)
{
    uint8_t *scratch = malloc (text.size + 1); // may fail: the library survives exhausted memory
    struct json_reader reader = {.scan = json_scan_of (text), .scratch = scratch};
    json_t *value = scratch ? read_json_value (&reader) : NULL;
    if (value &&
        (!json_scan_ended (&reader.scan) || !(json_is_object (value) || json_is_array (value)))) {
        json_decref (value);
        value = NULL;
    }
    free (scratch);
    return value;
}

// -- by jansson

// Whether a text is nested deeper than JSON_DEPTH_MAX. jansson would accept a depth of 2,048 and
// allocate it.
static bool is_too_deep (struct span text)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (in_string) {
            if (byte == '\\')
                i++;
            else if (byte == '"')
                in_string = false;
        } else if (byte == '"') {
            in_string = true;
        } else if (byte == '{' || byte == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if (byte == '}' || byte == ']') {
            depth--;
        }
    }
    return false;
}

// The field that a syntax error belongs to: the last name before its position; empty: none.
static struct span field_before_error (struct span text, size_t position)
{
    struct span string = {0}, field = {0};
    size_t end = position < text.size ? position : text.size;
    for (size_t i = 0; i < end; i++) {
        if (text.data[i] == ':' && string.size)
            field = string;
        if (text.data[i] != '"')
            continue;
        size_t start = ++i;
        while (i < end && text.data[i] != '"')
            i += text.data[i] == '\\' ? 2 : 1;
        string = i < end ? span_of (text.data + start, i - start) : (struct span){0};
    }
    return field;
}

const char *json_error_words (json_error_t *error)
{
    for (char *at = error->text; *at; at++) {
        if (*at == '\'')
            *at = '"';
        else if (*at < 0x20 || *at > 0x7E) // also non-ASCII, negative where char is signed
            *at = '?';
    }
    return error->text;
}

// Parse a text that is not deeper than JSON_DEPTH_MAX by jansson. NULL with a reason.
static json_t *read_by_jansson (struct span text, struct reason *reason)
{
    if (is_too_deep (text)) {
        reason_set (reason, "JSON: nested deeper than %d", JSON_DEPTH_MAX);
        return NULL;
    }
    json_error_t error;
    json_t *value = json_loadb ((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        struct span field =
            field_before_error (text, error.position > 0 ? (size_t)error.position : 0);
        reason_set (reason, "JSON: %s at byte %d%s%s", json_error_words (&error), error.position,
                    field.size ? ", in field " : "", field.size ? quoted (field) : "");
    }
    return value;
}

// Parse one value, an object or an array. NULL with a reason.
static json_t *read_typed_value (struct span text, json_type type, struct reason *reason)
{
    json_t *value = read_plain_text (text);
    if (!value)
        value = read_by_jansson (text, reason);
    if (value && json_typeof (value) != type) {
        json_decref (value);
        reason_set (reason, "JSON: want an %s", type == JSON_OBJECT ? "object" : "array");
        return NULL;
    }
    return value;
}

json_t *json_read_object (struct span text, struct reason *reason)
{
    return read_typed_value (text, JSON_OBJECT, reason);
}

json_t *json_read_array (struct span text, struct reason *reason)
{
    return read_typed_value (text, JSON_ARRAY, reason);
}
