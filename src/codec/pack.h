// msgpack where JSON is taken: the same values, by the same rules, with errors that name the field.
// On msgpack-c, which is given only bytes that were found whole.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "span.h"

// Whether the bytes are a msgpack map, by the first of them; no JSON text begins with such a byte.
bool pack_is (struct span bytes);

// The twin of json_read_object: one map, nothing after it, names that are strings, no name twice,
// strings of UTF-8 without NUL, integers within int64, finite numbers, depth at most
// JSON_DEPTH_MAX. bin and ext have no like in JSON and are refused.
// NULL with a reason; else a reference to give back with json_decref.
json_t *pack_read_object (struct span bytes, struct reason *reason);
