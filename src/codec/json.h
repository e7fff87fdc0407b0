// JSON where the wire and the store need it: strict reading with errors that name the field, and
// frames (bytes) as JSON values. On jansson, whose integers are exact to 64 bits.
#pragma once

#include <jansson.h>

#include "desc.h"
#include "reason.h"
#include "span.h"

enum { JSON_DEPTH_MAX = 16 };

// Parse one JSON object: UTF-8, no duplicate fields, nothing after it, depth at most
// JSON_DEPTH_MAX. NULL with a reason; else a reference to give back with json_decref.
json_t *json_read_object (struct span text, struct reason *reason);

// The same for one JSON array.
json_t *json_read_array (struct span text, struct reason *reason);

// Why jansson rejects a text, fit for a reason: it repeats what a peer wrote, and has quotes of its
// own. The text is that of `error`, changed.
const char *json_error_words (json_error_t *error);

// How deep a value that was read is nested: 1 for an object of plain values.
int json_depth (const json_t *value);

// Compact text of a value; free it with free ().
char *json_write (const json_t *value);

// A frame as the store keeps it: a JSON string where it is valid UTF-8 without NUL, else
// {"b64": "..."}.
json_t *json_from_frame (struct span frame);

// The frame of such a value, decoded to `out`, which has room for as many bytes as the JSON text of
// the value. False: the value is no frame.
bool json_to_frame (const json_t *value, uint8_t *out, size_t *ret_size);

// How many bytes such a frame has.
size_t json_frame_size (const json_t *value);

// The description of a message whose frames the store keeps as such values. False: not of a
// message in which `following` frames come after it, and `ret` is as it was.
bool json_to_desc (const json_t *frame, size_t following, struct desc *ret);

// An integer field within bounds; absent or of another type or size is false.
bool json_get_integer (const json_t *object, const char *field, int64_t min, int64_t max,
                       int64_t *ret);
