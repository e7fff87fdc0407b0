// The input is read in one pass. No memory is reserved for a count before its bytes are known to
// exist: five bytes can claim gigabytes.
#include "pack.h"

#include <math.h>

#include "json.h"
#include "utf8.h"

// -- the forms of msgpack, by the first byte

// Those from STRING on have a count, of bytes or items.
enum item_kind { NIL, FLAG, UNSIGNED, SIGNED, REAL, REJECTED, STRING, ARRAY, MAP };

// Every first byte is in one row.
static const struct form {
    uint8_t first, last;
    enum item_kind kind;
    uint8_t width;           // bytes of the value, or of the count; 0: it is in the first byte
    const char *rejected_as; // the reason why it is rejected; NULL: it is accepted
} forms[] = {
    {0x00, 0x7f, UNSIGNED, 0, NULL}, // positive fixint
    {0x80, 0x8f, MAP, 0, NULL},      // fixmap
    {0x90, 0x9f, ARRAY, 0, NULL},    // fixarray
    {0xa0, 0xbf, STRING, 0, NULL},   // fixstr
    {0xc0, 0xc0, NIL, 0, NULL},
    {0xc1, 0xc1, REJECTED, 0, "a byte c1, which has no meaning"},
    {0xc2, 0xc3, FLAG, 0, NULL}, // false, true
    {0xc4, 0xc6, REJECTED, 0, "bytes (bin), want a string"},
    {0xc7, 0xc9, REJECTED, 0, "an extension (ext)"},
    {0xca, 0xca, REAL, 4, NULL},     // float 32
    {0xcb, 0xcb, REAL, 8, NULL},     // float 64
    {0xcc, 0xcc, UNSIGNED, 1, NULL}, // uint 8
    {0xcd, 0xcd, UNSIGNED, 2, NULL}, // uint 16
    {0xce, 0xce, UNSIGNED, 4, NULL}, // uint 32
    {0xcf, 0xcf, UNSIGNED, 8, NULL}, // uint 64
    {0xd0, 0xd0, SIGNED, 1, NULL},   // int 8
    {0xd1, 0xd1, SIGNED, 2, NULL},   // int 16
    {0xd2, 0xd2, SIGNED, 4, NULL},   // int 32
    {0xd3, 0xd3, SIGNED, 8, NULL},   // int 64
    {0xd4, 0xd8, REJECTED, 0, "an extension (ext)"},
    {0xd9, 0xd9, STRING, 1, NULL}, // str 8
    {0xda, 0xda, STRING, 2, NULL}, // str 16
    {0xdb, 0xdb, STRING, 4, NULL}, // str 32
    {0xdc, 0xdc, ARRAY, 2, NULL},  // array 16
    {0xdd, 0xdd, ARRAY, 4, NULL},  // array 32
    {0xde, 0xde, MAP, 2, NULL},    // map 16
    {0xdf, 0xdf, MAP, 4, NULL},    // map 32
    {0xe0, 0xff, SIGNED, 0, NULL}, // negative fixint
};

static const struct form *form_of (uint8_t first)
{
    const struct form *form = forms;
    while (first > form->last)
        form++;
    return form;
}

bool pack_is (struct span bytes)
{
    return bytes.size && form_of (bytes.data[0])->kind == MAP;
}

// -- reading; NULL or false: rejected, with the reason

struct pack_reader {
    const uint8_t *at, *end;
    int depth;         // maps and arrays that the next item is in
    struct span field; // the field that the next item belongs to; no data: none
    struct reason *reason;
};

// Set the reason: `what`, and the field that it is in, if any. Returns NULL.
static void *reject_item (const struct pack_reader *self, const char *what)
{
    reason_set (self->reason, "msgpack: %s%s%s", what, self->field.data ? ", in field " : "",
                self->field.data ? quoted (self->field) : "");
    return NULL;
}

// Read the first byte of an item, and its value, or its count in `ret`.
static const struct form *read_head (struct pack_reader *self, bool is_name, uint64_t *ret)
{
    if (self->at == self->end)
        return reject_item (self, "cut short");
    uint8_t first = *self->at++;
    const struct form *form = form_of (first);
    if (is_name && form->kind != STRING)
        return reject_item (self, "a field name that is not a string");
    if (form->rejected_as)
        return reject_item (self, form->rejected_as);
    if (self->end - self->at < form->width)
        return reject_item (self, "cut short");
    *ret = form->width ? 0 : (uint64_t)(first - form->first);
    for (int i = 0; i < form->width; i++)
        *ret = *ret << 8 | *self->at++;
    // Each counted byte or item needs at least one byte.
    uint64_t bytes = form->kind == MAP ? 2 * *ret : form->kind > REJECTED ? *ret : 0;
    if (bytes > (uint64_t)(self->end - self->at))
        return reject_item (self, "cut short, or a count that is too large");
    return form;
}

// Read the bytes of a string, and check them.
static bool read_string (struct pack_reader *self, uint64_t size, struct span *ret)
{
    *ret = span_of (self->at, (size_t)size);
    self->at += size;
    if (memchr (ret->data, 0, ret->size))
        return reject_item (self, "a string with a NUL");
    return utf8_is_text (*ret) || reject_item (self, "a string that is not UTF-8");
}

// The integer of `width` bytes in two's complement; width 0: the number of a negative fixint.
static json_t *signed_integer (uint64_t number, int width)
{
    int64_t value = (int64_t)number - 32;
    if (width)
        value = (int64_t)(number << (64 - 8 * width)) >> (64 - 8 * width);
    return json_integer (value);
}

static json_t *read_real (const struct pack_reader *self, uint64_t number, int width)
{
    float narrow;
    double wide;
    uint32_t bits = (uint32_t)number;
    memcpy (&narrow, &bits, sizeof narrow);
    memcpy (&wide, &number, sizeof wide);
    double value = width == 4 ? (double)narrow : wide;
    return isfinite (value) ? json_real (value) : reject_item (self, "a number that is not finite");
}

static json_t *read_item (struct pack_reader *self);

static bool read_pair (struct pack_reader *self, json_t *object)
{
    uint64_t size;
    struct span name;
    self->field = (struct span){0};
    if (!read_head (self, true, &size))
        return false;
    self->field = span_of (self->at, (size_t)size);
    if (json_object_getn (object, (const char *)self->at, (size_t)size))
        return reject_item (self, "a duplicate name");
    return read_string (self, size, &name) &&
           json_object_setn_new_nocheck (object, (const char *)name.data, name.size,
                                         read_item (self)) == 0;
}

// Read the items of a map or array.
static json_t *read_items (struct pack_reader *self, bool is_map, uint64_t count)
{
    if (self->depth == JSON_DEPTH_MAX) {
        reason_set (self->reason, "msgpack: nested deeper than %d", JSON_DEPTH_MAX);
        return NULL;
    }
    struct span outer = self->field;
    json_t *container = is_map ? json_object () : json_array ();
    self->depth++;
    for (; count; count--)
        if (is_map ? !read_pair (self, container)
                   : json_array_append_new (container, read_item (self))) {
            json_decref (container);
            return NULL;
        }
    self->depth--;
    self->field = outer;
    return container;
}

static json_t *read_item (struct pack_reader *self)
{
    uint64_t number;
    struct span text;
    const struct form *form = read_head (self, false, &number);
    switch (form ? form->kind : REJECTED) {
    case NIL:
        return json_null ();
    case FLAG:
        return json_boolean (number);
    case UNSIGNED:
        return number <= INT64_MAX ? json_integer ((json_int_t)number)
                                   : reject_item (self, "an integer over 9223372036854775807");
    case SIGNED:
        return signed_integer (number, form->width);
    case REAL:
        return read_real (self, number, form->width);
    case STRING:
        return read_string (self, number, &text)
                   ? json_stringn_nocheck ((const char *)text.data, text.size)
                   : NULL;
    case ARRAY:
    case MAP:
        return read_items (self, form->kind == MAP, number);
    case REJECTED:
        break;
    }
    return NULL;
}

json_t *pack_read_object (struct span bytes, struct reason *reason)
{
    struct pack_reader reader = {bytes.data, bytes.data + bytes.size, 0, {0}, reason};
    if (!pack_is (bytes))
        return reject_item (&reader, "want a map");
    json_t *object = read_item (&reader);
    if (object && reader.at < reader.end) {
        json_decref (object);
        return reject_item (&reader, "bytes after the map");
    }
    return object;
}
