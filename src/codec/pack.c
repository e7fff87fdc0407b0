// Reading takes two passes. The first, a walk that allocates nothing, checks that every count is
// backed by bytes and that the nesting is bounded: msgpack-c trusts a count and reserves memory for
// it (five bytes can claim gigabytes). Then msgpack-c unpacks the bytes, and the result is
// converted to JSON.
#include "pack.h"

#include <math.h>
#include <msgpack.h>

#include "json.h"

// -- the forms of msgpack, by the first byte

enum shape { SHAPE_VALUE, SHAPE_STRING, SHAPE_ARRAY, SHAPE_MAP };

// Every first byte is in one row.
static const struct form {
    uint8_t first, last;
    enum shape shape;
    uint8_t width;           // bytes of the value, or of the count; 0: it is in the first byte
    const char *rejected_as; // the reason why it is rejected; NULL: it is accepted
} forms[] = {
    {0x00, 0x7f, SHAPE_VALUE, 0, NULL},  // positive fixint
    {0x80, 0x8f, SHAPE_MAP, 0, NULL},    // fixmap
    {0x90, 0x9f, SHAPE_ARRAY, 0, NULL},  // fixarray
    {0xa0, 0xbf, SHAPE_STRING, 0, NULL}, // fixstr
    {0xc0, 0xc0, SHAPE_VALUE, 0, NULL},  // nil
    {0xc1, 0xc1, SHAPE_VALUE, 0, "a byte c1, which has no meaning"},
    {0xc2, 0xc3, SHAPE_VALUE, 0, NULL}, // false, true
    {0xc4, 0xc6, SHAPE_VALUE, 0, "bytes (bin), want a string"},
    {0xc7, 0xc9, SHAPE_VALUE, 0, "an extension (ext)"},
    {0xca, 0xca, SHAPE_VALUE, 4, NULL}, // float 32
    {0xcb, 0xcb, SHAPE_VALUE, 8, NULL}, // float 64
    {0xcc, 0xcc, SHAPE_VALUE, 1, NULL}, // uint 8
    {0xcd, 0xcd, SHAPE_VALUE, 2, NULL}, // uint 16
    {0xce, 0xce, SHAPE_VALUE, 4, NULL}, // uint 32
    {0xcf, 0xcf, SHAPE_VALUE, 8, NULL}, // uint 64
    {0xd0, 0xd0, SHAPE_VALUE, 1, NULL}, // int 8
    {0xd1, 0xd1, SHAPE_VALUE, 2, NULL}, // int 16
    {0xd2, 0xd2, SHAPE_VALUE, 4, NULL}, // int 32
    {0xd3, 0xd3, SHAPE_VALUE, 8, NULL}, // int 64
    {0xd4, 0xd8, SHAPE_VALUE, 0, "an extension (ext)"},
    {0xd9, 0xd9, SHAPE_STRING, 1, NULL}, // str 8
    {0xda, 0xda, SHAPE_STRING, 2, NULL}, // str 16
    {0xdb, 0xdb, SHAPE_STRING, 4, NULL}, // str 32
    {0xdc, 0xdc, SHAPE_ARRAY, 2, NULL},  // array 16
    {0xdd, 0xdd, SHAPE_ARRAY, 4, NULL},  // array 32
    {0xde, 0xde, SHAPE_MAP, 2, NULL},    // map 16
    {0xdf, 0xdf, SHAPE_MAP, 4, NULL},    // map 32
    {0xe0, 0xff, SHAPE_VALUE, 0, NULL},  // negative fixint
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
    return bytes.size && form_of (bytes.data[0])->shape == SHAPE_MAP;
}

// Set the reason: `what`, and the field that it is in, if any.
static void set_pack_reason (struct reason *reason, struct span field, const char *what)
{
    reason_set (reason, "msgpack: %s%s%s", what, field.data ? ", in field " : "",
                field.data ? quoted (field) : "");
}

// -- the walk

// A map or array that the walk is in.
struct pack_level {
    uint64_t left; // items still to be read; a name and its value are two
    bool is_map;
    struct span field; // the name before the next value; no data: none
};

struct pack_walk {
    struct span bytes;
    size_t at;
    size_t depth;
    struct pack_level levels[JSON_DEPTH_MAX];
    struct reason *reason;
};

static struct pack_level *innermost_level (struct pack_walk *self)
{
    return self->depth ? &self->levels[self->depth - 1] : NULL;
}

static bool reject_item (struct pack_walk *self, const char *what)
{
    struct pack_level *level = innermost_level (self);
    set_pack_reason (self->reason, level ? level->field : (struct span){0}, what);
    return false;
}

static uint64_t read_big_endian (struct span bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes.size; i++)
        number = number << 8 | bytes.data[i];
    return number;
}

// Enter a map or array. False: it is nested too deep.
static bool enter_level (struct pack_walk *self, bool is_map, uint64_t items)
{
    if (self->depth == JSON_DEPTH_MAX)
        return reason_reject (self->reason, "msgpack: nested deeper than %d", JSON_DEPTH_MAX);
    struct pack_level *outer = innermost_level (self);
    self->levels[self->depth++] = (struct pack_level){
        .left = items, .is_map = is_map, .field = outer ? outer->field : (struct span){0}};
    return true;
}

// Check one item: its first byte, its value or count, and the text of a string. The items inside a
// map or array are read by the next calls.
static bool check_pack_item (struct pack_walk *self)
{
    struct pack_level *level = innermost_level (self);
    bool is_name = level && level->is_map && level->left % 2 == 0;
    if (is_name)
        level->field = (struct span){0};
    if (self->at == self->bytes.size)
        return reject_item (self, "cut short");
    uint8_t first = self->bytes.data[self->at++];
    const struct form *form = form_of (first);
    if (is_name && form->shape != SHAPE_STRING)
        return reject_item (self, "a field name that is not a string");
    if (form->rejected_as)
        return reject_item (self, form->rejected_as);
    if (self->bytes.size - self->at < form->width)
        return reject_item (self, "cut short");
    struct span number = span_of (self->bytes.data + self->at, form->width);
    self->at += form->width;
    if (level)
        level->left--;
    if (form->shape == SHAPE_VALUE)
        return true;

    uint64_t count = form->width ? read_big_endian (number) : (uint64_t)(first - form->first);
    if (form->shape == SHAPE_MAP)
        count *= 2;
    // Each counted byte or item needs at least one byte: a larger count is rejected here.
    if (count > self->bytes.size - self->at)
        return reject_item (self, "cut short, or a count that is too large");
    if (form->shape != SHAPE_STRING)
        return enter_level (self, form->shape == SHAPE_MAP, count);
    if (is_name)
        level->field = span_of (self->bytes.data + self->at, (size_t)count);
    self->at += (size_t)count;
    return true;
}

// The first pass, over a map: check that its bytes are complete and nothing follows. Each step
// consumes at least one byte, so the walk ends.
static bool check_map_bytes (struct span bytes, struct reason *reason)
{
    struct pack_walk walk = {.bytes = bytes, .reason = reason};
    do {
        if (!check_pack_item (&walk))
            return false;
        while (walk.depth && walk.levels[walk.depth - 1].left == 0)
            walk.depth--;
    } while (walk.depth);
    return walk.at == bytes.size || reject_item (&walk, "bytes after the map");
}

// -- from the result of msgpack-c to JSON; NULL = rejected

struct pack_reading {
    struct span field; // the field of the value being read; no data: none
    struct reason *reason;
};

static json_t *read_value (struct pack_reading *self, const msgpack_object *value);

static json_t *reject_value (struct pack_reading *self, const char *what)
{
    set_pack_reason (self->reason, self->field, what);
    return NULL;
}

// The bytes of a string. msgpack-c may leave the pointer of an empty one unset.
static struct span string_bytes (const msgpack_object_str *text)
{
    return text->size ? span_of (text->ptr, text->size) : span_text ("");
}

static json_t *read_text (struct pack_reading *self, struct span text)
{
    if (memchr (text.data, 0, text.size))
        return reject_value (self, "a string with a NUL");
    json_t *string = json_stringn ((const char *)text.data, text.size);
    return string ? string : reject_value (self, "a string that is not UTF-8");
}

static json_t *read_unsigned (struct pack_reading *self, uint64_t number)
{
    if (number > INT64_MAX)
        return reject_value (self, "an integer over 9223372036854775807");
    return json_integer ((json_int_t)number);
}

static json_t *read_real (struct pack_reading *self, double number)
{
    return isfinite (number) ? json_real (number)
                             : reject_value (self, "a number that is not finite");
}

static json_t *read_array (struct pack_reading *self, const msgpack_object_array *items)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < items->size; i++) {
        if (json_array_append_new (array, read_value (self, &items->ptr[i]))) {
            json_decref (array);
            return NULL;
        }
    }
    return array;
}

static bool read_pair (struct pack_reading *self, const msgpack_object_kv *pair, json_t *object)
{
    struct span name = string_bytes (&pair->key.via.str);
    self->field = name;
    if (json_object_getn (object, (const char *)name.data, name.size)) {
        reject_value (self, "a duplicate name");
        return false;
    }
    json_t *checked = read_text (self, name);
    if (!checked)
        return false;
    json_decref (checked);
    return json_object_setn_new_nocheck (object, (const char *)name.data, name.size,
                                         read_value (self, &pair->val)) == 0;
}

static json_t *read_map (struct pack_reading *self, const msgpack_object_map *pairs)
{
    struct span outer = self->field;
    json_t *object = json_object ();
    for (uint32_t i = 0; i < pairs->size; i++) {
        if (!read_pair (self, &pairs->ptr[i], object)) {
            json_decref (object);
            return NULL;
        }
    }
    self->field = outer;
    return object;
}

// Convert a value. The recursion is bounded: the walk has checked the depth.
static json_t *read_value (struct pack_reading *self, const msgpack_object *value)
{
    switch (value->type) {
    case MSGPACK_OBJECT_NIL:
        return json_null ();
    case MSGPACK_OBJECT_BOOLEAN:
        return json_boolean (value->via.boolean);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return read_unsigned (self, value->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return json_integer (value->via.i64);
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return read_real (self, value->via.f64);
    case MSGPACK_OBJECT_STR:
        return read_text (self, string_bytes (&value->via.str));
    case MSGPACK_OBJECT_ARRAY:
        return read_array (self, &value->via.array);
    case MSGPACK_OBJECT_MAP:
        return read_map (self, &value->via.map);
    case MSGPACK_OBJECT_BIN:
    case MSGPACK_OBJECT_EXT:
        break; // rejected by the walk
    }
    return reject_value (self, "a value without a JSON equivalent");
}

json_t *pack_read_object (struct span bytes, struct reason *reason)
{
    if (!pack_is (bytes)) {
        set_pack_reason (reason, (struct span){0}, "want a map");
        return NULL;
    }
    if (!check_map_bytes (bytes, reason))
        return NULL;
    struct pack_reading reading = {.reason = reason};
    msgpack_unpacked unpacked;
    msgpack_unpacked_init (&unpacked);
    size_t end = 0;
    json_t *object = NULL;
    if (msgpack_unpack_next (&unpacked, (const char *)bytes.data, bytes.size, &end) ==
        MSGPACK_UNPACK_SUCCESS)
        object = read_value (&reading, &unpacked.data);
    else
        reject_value (&reading, "cannot be unpacked");
    msgpack_unpacked_destroy (&unpacked);
    return object;
}
