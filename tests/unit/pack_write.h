// Writes JSON as msgpack, for tests of its readers. The station itself packs only outcomes.
#pragma once

#include <jansson.h>
#include <msgpack.h>
#include <stdlib.h>

// Returns not 0 if memory is exhausted.
static inline int write_value (msgpack_packer *out, const json_t *value);

static inline int write_object (msgpack_packer *out, const json_t *object)
{
    // jansson's iterators change nothing, but take no const.
    json_t *fields = (json_t *)object, *value;
    const char *name;
    size_t size;
    int failed = msgpack_pack_map (out, json_object_size (object));
    json_object_keylen_foreach (fields, name, size, value)
    {
        failed |= msgpack_pack_str_with_body (out, name, size);
        failed |= write_value (out, value);
    }
    return failed;
}

static inline int write_array (msgpack_packer *out, const json_t *array)
{
    int failed = msgpack_pack_array (out, json_array_size (array));
    for (size_t i = 0; i < json_array_size (array); i++)
        failed |= write_value (out, json_array_get (array, i));
    return failed;
}

static inline int write_value (msgpack_packer *out, const json_t *value)
{
    switch (json_typeof (value)) {
    case JSON_OBJECT:
        return write_object (out, value);
    case JSON_ARRAY:
        return write_array (out, value);
    case JSON_STRING:
        return msgpack_pack_str_with_body (out, json_string_value (value),
                                           json_string_length (value));
    case JSON_INTEGER:
        return msgpack_pack_int64 (out, json_integer_value (value));
    case JSON_REAL:
        return msgpack_pack_double (out, json_real_value (value));
    case JSON_TRUE:
        return msgpack_pack_true (out);
    case JSON_FALSE:
        return msgpack_pack_false (out);
    case JSON_NULL:
        break;
    }
    return msgpack_pack_nil (out);
}

static inline char *pack_write (const json_t *value, size_t *ret_size)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init (&buffer);
    msgpack_packer_init (&packer, &buffer, msgpack_sbuffer_write);
    if (write_value (&packer, value))
        abort (); // only exhausted memory makes it fail
    *ret_size = buffer.size;
    return msgpack_sbuffer_release (&buffer);
}
