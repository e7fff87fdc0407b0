// msgpack where JSON is accepted: the same values, by the same rules, with errors that name the
// field.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "span.h"

// Whether the first byte begins a msgpack map; no JSON text begins with such a byte.
bool pack_is (struct span bytes);

// Parse one msgpack map by the rules of json_read_object: nothing after it, string names without
// duplicates, strings of UTF-8 without NUL, integers within int64, finite numbers, depth at most
// JSON_DEPTH_MAX. bin and ext have no JSON equivalent and are rejected. NULL with a reason; else a
// new reference, to be released with json_decref.
json_t *pack_read_object (struct span bytes, struct reason *reason);
