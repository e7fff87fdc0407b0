// Values from and to JSON. Strings are written by the codec, as in all other JSON of the project.
#include <stdlib.h>

#include "expr_value.h"
#include "json.h"
#include "json_text.h"
#include "memory.h"

// -- reading

// Whether an integer is beyond 64 bits; `digits` excludes its sign.
static bool exceeds_64_bits (struct span digits, bool negative)
{
    static const char limits[2][20] = {"9223372036854775807", "9223372036854775808"};
    return digits.size > 19 ||
           (digits.size == 19 && memcmp (digits.data, limits[negative], 19) > 0);
}

// Copy the text. An integer beyond 64 bits, which jansson rejects, gets the fraction .0 and becomes
// a decimal; such an integer has at least 19 digits. False: nested deeper than EXPR_DEPTH_MAX;
// jansson's own limit is much higher.
static bool copy_json_text (struct span text, char *out, size_t *ret_size)
{
    int depth = 0;
    size_t size = 0;
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        uint8_t byte = text.data[i++];
        if (byte == '"') {
            while (i < text.size && text.data[i] != '"')
                i += text.data[i] == '\\' ? 2 : 1;
            i = i < text.size ? i + 1 : text.size;
        } else if (byte >= '0' && byte <= '9') {
            while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9')
                i++;
        } else if ((byte == '[' || byte == '{') && ++depth > EXPR_DEPTH_MAX) {
            return false;
        } else if (byte == ']' || byte == '}') {
            depth--;
        }
        memcpy (out + size, text.data + start, i - start);
        size += i - start;
        bool number = byte >= '0' && byte <= '9';
        bool integer =
            number && !(i < text.size && memchr (".eE", text.data[i], 3)) &&
            !(start > 0 && memchr (".eE+", text.data[start - 1], 4)) &&
            !(start > 1 && text.data[start - 1] == '-' && memchr ("eE", text.data[start - 2], 2));
        bool negative = start > 0 && text.data[start - 1] == '-';
        if (integer && exceeds_64_bits (span_of (text.data + start, i - start), negative)) {
            memcpy (out + size, ".0", 2);
            size += 2;
        }
    }
    *ret_size = size;
    return true;
}

json_t *expr_read_json (struct span text, struct reason *reason)
{
    char *copy = memory_resize (NULL, text.size + text.size / 19 * 2 + 1);
    size_t size = 0;
    json_t *json = NULL;
    json_error_t error;
    if (!copy_json_text (text, copy, &size))
        reason_set (reason, "JSON: nested deeper than %d", EXPR_DEPTH_MAX);
    else if (!(json = json_loadb (copy, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error)))
        reason_set (reason, "JSON: line %d: %s", error.line,
                    json_error_code (&error) == json_error_null_character
                        ? "a string with NUL"
                        : json_error_words (&error));
    free (copy);
    return json;
}

// -- writing

struct expr_writer {
    struct json_text text;
    size_t max;
    struct expr_error *error;
};

static bool write_value (struct expr_writer *self, const struct expr_value *value, int depth);

static bool write_string (struct expr_writer *self, struct span text)
{
    if (self->text.size + text.size > self->max)
        return false;
    json_text_frame (&self->text, text);
    return true;
}

static bool write_list (struct expr_writer *self, const struct expr_value *list, int depth)
{
    json_text_raw (&self->text, span_text ("["));
    for (uint32_t i = 0; i < list->size; i++) {
        struct expr_value item = expr_item (list, i);
        if (i)
            json_text_raw (&self->text, span_text (","));
        if (!write_value (self, &item, depth))
            return false;
    }
    json_text_raw (&self->text, span_text ("]"));
    return true;
}

static bool write_object (struct expr_writer *self, const json_t *object, int depth)
{
    json_text_raw (&self->text, span_text ("{"));
    const char *before = "";
    for (void *at = json_object_iter ((json_t *)object); at;
         at = json_object_iter_next ((json_t *)object, at)) {
        struct expr_value member = expr_of_json (json_object_iter_value (at));
        json_text_raw (&self->text, span_text (before));
        before = ",";
        struct span name = span_of (json_object_iter_key (at), json_object_iter_key_len (at));
        if (!write_string (self, name))
            return false;
        json_text_raw (&self->text, span_text (":"));
        if (!write_value (self, &member, depth))
            return false;
    }
    json_text_raw (&self->text, span_text ("}"));
    return true;
}

// Append the value. False: the text exceeds its limit, or the value is nested too deeply.
static bool write_value (struct expr_writer *self, const struct expr_value *value, int depth)
{
    char text[EXPR_SCALAR_SIZE];
    bool ok = true;
    if (depth > EXPR_DEPTH_MAX)
        return !expr_error_set (self->error, EXPR_LIMIT, "nested deeper than %d", EXPR_DEPTH_MAX);
    if (self->text.size > self->max)
        return false;
    switch (value->type) {
    case EXPR_NULL:
        json_text_raw (&self->text, span_text ("null"));
        break;
    case EXPR_STRING:
        ok = write_string (self, span_of (value->string, value->size));
        break;
    case EXPR_TIME:
        ok = write_string (self, span_of (text, expr_scalar_text (value, text)));
        break;
    case EXPR_LIST:
        ok = write_list (self, value, depth + 1);
        break;
    case EXPR_OBJECT:
        ok = write_object (self, value->json, depth + 1);
        break;
    default:
        json_text_raw (&self->text, span_of (text, expr_scalar_text (value, text)));
    }
    return ok && self->text.size <= self->max;
}

int expr_write_json (const struct expr_value *value, size_t max, char **ret, size_t *ret_size,
                     struct expr_error *error)
{
    struct expr_writer writer = {.max = max, .error = error};
    *error = (struct expr_error){.code = 0};
    json_text_start (&writer.text, 256);
    if (write_value (&writer, value, 0)) {
        *ret = json_text_end (&writer.text, ret_size);
        return 0;
    }
    free (writer.text.bytes);
    if (!error->code)
        expr_error_set (error, EXPR_LIMIT, "as JSON larger than %zu bytes", max);
    return error->code;
}

json_t *expr_to_json (const struct expr_value *value, size_t max, struct expr_error *error)
{
    char *text;
    size_t size;
    if (expr_write_json (value, max, &text, &size, error))
        return NULL;
    json_t *json = json_loadb (text, size, JSON_DECODE_ANY, NULL);
    free (text);
    return json;
}
