#include "json_text.h"

#include <stdlib.h>

#include "base64.h"
#include "decimal.h"
#include "json.h"
#include "memory.h"
#include "utf8.h"

// The second byte of a byte's short escape; 0 = there is none, and \u00XX is written.
static const char short_escapes[0x80] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                         ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

void json_text_start (struct json_text *self, size_t room)
{
    *self = (struct json_text){.bytes = memory_resize (NULL, room + 1), .room = room + 1};
}

void json_text_clear (struct json_text *self)
{
    self->size = 0;
    if (self->room <= JSON_TEXT_KEPT)
        return;
    self->room = JSON_TEXT_KEPT;
    self->bytes = memory_resize (self->bytes, JSON_TEXT_KEPT);
}

static void grow_room (struct json_text *self, size_t more)
{
    self->room = self->room * 2 + more;
    self->bytes = memory_resize (self->bytes, self->room);
}

// Make room for this many bytes. Returns where to write them; the caller adds them to `size`.
static char *reserve_room (struct json_text *self, size_t more)
{
    if (self->room - self->size < more)
        grow_room (self, more);
    return self->bytes + self->size;
}

char *json_text_end (struct json_text *self, size_t *ret_size)
{
    *reserve_room (self, 1) = '\0';
    *ret_size = self->size;
    return self->bytes;
}

void json_text_raw (struct json_text *self, struct span bytes)
{
    if (!bytes.size)
        return;
    memcpy (reserve_room (self, bytes.size), bytes.data, bytes.size);
    self->size += bytes.size;
}

void json_text_item (struct json_text *self)
{
    // No value ends with an opening bracket, so this item is the first.
    char last = self->bytes[self->size - 1];
    if (last == '{' || last == '[')
        return;
    *reserve_room (self, 1) = ',';
    self->size++;
}

// Write the name at `at`, which has room and follows at least one byte. Returns where the value
// begins.
static char *put_member_name (const struct json_name *name, char *at)
{
    size_t no_comma = at[-1] == '{';
    memcpy (at, name->text + no_comma, sizeof name->text - 1);
    return at + name->size - no_comma;
}

void json_text_name (struct json_text *self, const struct json_name *name)
{
    char *at = reserve_room (self, sizeof name->text - 1);
    self->size += (size_t)(put_member_name (name, at) - at);
}

void json_text_number (struct json_text *self, const struct json_name *name, int64_t value,
                       size_t width)
{
    char *start = reserve_room (self, sizeof name->text + DECIMAL_SIZE + width);
    char *at = put_member_name (name, start);
    size_t written = 1;
    if (value < 0 || value >= 10)
        written = decimal_text (value, at);
    else
        *at = (char)('0' + value);
    if (written < width) {
        memset (at + written, ' ', width - written);
        written = width;
    }
    self->size += (size_t)(at - start) + written;
}

static void put_escape (struct json_text *self, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";
    char *at = reserve_room (self, 6);
    at[0] = '\\';
    if (short_escapes[byte]) {
        at[1] = short_escapes[byte];
        self->size += 2;
        return;
    }
    memcpy (at + 1, "u00", 3);
    at[4] = digits[byte >> 4];
    at[5] = digits[byte & 15];
    self->size += 6;
}

// Write text with escapes. False: it is not UTF-8 without NUL; part of it may have been written.
static bool put_escaped_text (struct json_text *self, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        char *start = reserve_room (self, (size_t)(end - at));
        size_t plain = utf8_copy_plain (at, end, (uint8_t *)start);
        char *out = start + plain;
        at += plain;
        while (at < end && *at >= 0x80) {
            size_t size = utf8_size (at, end);
            if (!size)
                return false;
            for (; size; size--)
                *out++ = (char)*at++;
        }
        self->size += (size_t)(out - start);
        if (at < end && *at == '\0')
            return false; // C readers of the store could not handle it
        if (at < end && (*at < 0x20 || *at == '"' || *at == '\\'))
            put_escape (self, *at++);
    }
    return true;
}

static void put_base64 (struct json_text *self, struct span bytes)
{
    static const char begin[] = "{\"b64\":\"", end[] = "\"}";
    enum { BEGIN = sizeof begin - 1, END = sizeof end - 1 };
    size_t size = BASE64_SIZE (bytes.size) - 1;
    char *at = reserve_room (self, BEGIN + size + END + 1);
    memcpy (at, begin, BEGIN);
    base64_encode (bytes, at + BEGIN);
    memcpy (at + BEGIN + size, end, END);
    self->size += BEGIN + size + END;
}

void json_text_frame (struct json_text *self, struct span frame)
{
    size_t start = self->size, plain = 0;
    char *at = reserve_room (self, frame.size + 2);
    *at++ = '"';
    if (frame.size)
        plain = utf8_copy_plain (frame.data, frame.data + frame.size, (uint8_t *)at);
    self->size += 1 + plain;
    if (plain == frame.size) { // the common case
        at[plain] = '"';
        self->size++;
    } else if (put_escaped_text (self, frame.data + plain, frame.data + frame.size)) {
        *reserve_room (self, 1) = '"';
        self->size++;
    } else {
        self->size = start;
        put_base64 (self, frame);
    }
}

void json_text_member (struct json_text *self, const char *name, const json_t *value)
{
    json_text_item (self);
    json_text_frame (self, span_text (name));
    json_text_raw (self, span_text (":"));
    json_text_value (self, value);
}

// Write an object or an array.
static void put_container (struct json_text *self, const json_t *value)
{
    const char *name;
    size_t index;
    json_t *part;
    if (json_is_object (value)) {
        json_text_raw (self, span_text ("{"));
        json_object_foreach ((json_t *)(uintptr_t)value, name, part)
        {
            json_text_member (self, name, part);
        }
        json_text_raw (self, span_text ("}"));
    } else {
        json_text_raw (self, span_text ("["));
        json_array_foreach (value, index, part)
        {
            json_text_item (self);
            json_text_value (self, part);
        }
        json_text_raw (self, span_text ("]"));
    }
}

void json_text_value (struct json_text *self, const json_t *value)
{
    struct span text = json_span (value);
    char digits[DECIMAL_SIZE], *written;
    switch (json_typeof (value)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        put_container (self, value);
        return;
    case JSON_TRUE:
        json_text_raw (self, span_text ("true"));
        return;
    case JSON_FALSE:
        json_text_raw (self, span_text ("false"));
        return;
    case JSON_INTEGER:
        json_text_raw (self, span_of (digits, decimal_text (json_integer_value (value), digits)));
        return;
    case JSON_NULL:
        json_text_raw (self, span_text ("null"));
        return;
    default:
        break;
    }
    if (json_is_string (value) && !(text.size && memchr (text.data, 0, text.size))) {
        json_text_frame (self, text);
        return;
    }
    written = json_dumps (value, JSON_ENCODE_ANY); // a real number, or a string with a NUL
    json_text_raw (self, span_text (written ? written : "null"));
    free (written);
}
