// JSON for the wire and the store: a strict parser whose errors name the field, and frames (bytes)
// as JSON values. It uses jansson, whose integers are exact to 64 bits.
#pragma once

#include <jansson.h>

#include "desc.h"
#include "reason.h"
#include "span.h"

enum { JSON_DEPTH_MAX = 16 };

// Parse one JSON object: UTF-8, no duplicate fields, nothing after it, depth at most
// JSON_DEPTH_MAX. NULL with a reason; else a new reference, to be released with json_decref.
json_t *json_read_object (struct span text, struct reason *reason);

// Parse one JSON array by the rules of json_read_object.
json_t *json_read_array (struct span text, struct reason *reason);

// jansson's error text, made safe for a reason. It quotes bytes from a peer: those that are not
// printable ASCII become '?', and single quotes become double quotes. `error` is changed in place.
const char *json_error_words (json_error_t *error);

// The nesting depth of a value: 1 for an object of plain values.
int json_depth (const json_t *value);

// The text of a string, borrowed from it; empty: the value is no string.
static inline struct span json_span (const json_t *value)
{
    return span_of (json_string_value (value), json_string_length (value));
}

// Compact text of a value; free it with free ().
char *json_write (const json_t *value);

// A frame as the store keeps it, a new reference: a JSON string if the frame is valid UTF-8 without
// NUL, else {"b64": "..."}.
json_t *json_from_frame (struct span frame);

// Decode a frame made by json_from_frame to `out`, which has room for as many bytes as the JSON
// text of the value. False: the value is no frame.
bool json_to_frame (const json_t *value, uint8_t *out, size_t *ret_size);

// The number of bytes that json_to_frame decodes.
size_t json_frame_size (const json_t *value);

// Parse a message's description from the value that json_from_frame made of it. False: it does not
// describe a message with `following` more frames; `ret` is untouched.
bool json_to_desc (const json_t *frame, size_t following, struct desc *ret);

// Read an integer field. False: it is absent, of another type or out of bounds.
bool json_get_integer (const json_t *object, const char *field, int64_t min, int64_t max,
                       int64_t *ret);
