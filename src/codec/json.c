#include "json.h"

#include "base64.h"
#include "json_text.h"
#include "memory.h"

#include <stdlib.h>

int json_depth (const json_t *value)
{
    const char *name;
    json_t *each;
    size_t i;
    int deepest = 0;
    if (!json_is_object (value) && !json_is_array (value))
        return 0;
    json_object_foreach ((json_t *)value, name, each)
    {
        int depth = json_depth (each);
        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach (value, i, each)
    {
        int depth = json_depth (each);
        deepest = depth > deepest ? depth : deepest;
    }
    return 1 + deepest;
}

char *json_write (const json_t *value)
{
    struct json_text text;
    size_t size;
    json_text_start (&text, 256);
    json_text_value (&text, value);
    return json_text_end (&text, &size);
}

json_t *json_from_frame (struct span frame)
{
    // jansson checks the UTF-8, but accepts a NUL, which C readers of the store could not handle.
    if (!frame.size || !memchr (frame.data, 0, frame.size)) {
        json_t *text = json_stringn (frame.size ? (const char *)frame.data : "", frame.size);
        if (text)
            return text;
    }
    char *encoded = memory_new (BASE64_SIZE (frame.size));
    base64_encode (frame, encoded);
    json_t *object = json_object ();
    json_object_set_new (object, "b64", json_string_nocheck (encoded));
    free (encoded);
    return object;
}

bool json_to_frame (const json_t *value, uint8_t *out, size_t *ret_size)
{
    if (json_is_string (value)) {
        *ret_size = json_string_length (value);
        memcpy (out, json_string_value (value), *ret_size);
        return true;
    }
    const json_t *encoded = json_object_get (value, "b64");
    if (!json_is_string (encoded) || json_object_size (value) != 1)
        return false;
    return base64_decode (json_span (encoded), out, ret_size);
}

size_t json_frame_size (const json_t *value)
{
    const json_t *encoded = json_object_get (value, "b64");
    size_t size = json_string_length (encoded);
    if (size < 4)
        return json_string_length (value);
    const char *end = json_string_value (encoded) + size;
    return size / 4 * 3 - (size_t)(end[-1] == '=') - (size_t)(end[-2] == '=');
}

bool json_to_desc (const json_t *frame, size_t following, struct desc *ret)
{
    const json_t *encoded = json_object_get (frame, "b64");
    uint8_t bytes[2 * DESC_SIZE_MAX]; // fits the text: base64 is a third longer than the bytes
    size_t size;
    struct desc desc;
    struct reason ignored;
    if (json_string_length (encoded ? encoded : frame) > sizeof bytes ||
        !json_to_frame (frame, bytes, &size) ||
        desc_parse (span_of (bytes, size), following, &desc, &ignored))
        return false;
    *ret = desc;
    return true;
}

bool json_get_integer (const json_t *object, const char *field, int64_t min, int64_t max,
                       int64_t *ret)
{
    const json_t *value = json_object_get (object, field);
    if (!json_is_integer (value))
        return false;
    int64_t number = json_integer_value (value);
    if (number < min || number > max)
        return false;
    *ret = number;
    return true;
}
