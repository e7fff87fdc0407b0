// JSON written directly into bytes, for hot-path texts, in the format of json_write. The caller
// keeps it well-formed: a name before each value of an object, every bracket closed.
#pragma once

#include <jansson.h>

#include "span.h"

enum { JSON_NAME_MAX = 12 };

// A member's name as it is written. `text` has the same size for all names, so that the compiler
// knows the length of the copy.
struct json_name {
    char text[JSON_NAME_MAX + 5]; // ,"NAME":
    uint8_t size;                 // bytes of `text` without the NUL
};

// The initializer of a json_name; `literal` has at most JSON_NAME_MAX bytes, and none needs an
// escape.
#define JSON_NAME(literal)                                                                         \
    {                                                                                              \
        ",\"" literal "\":", sizeof literal - 1 + 4                                                \
    }

struct json_text {
    char *bytes; // owned
    size_t size; // bytes written
    size_t room; // bytes allocated
};

// Start an empty text. `room` is its expected size; it grows when needed.
void json_text_start (struct json_text *self, size_t room);

enum { JSON_TEXT_KEPT = 65536 }; // bytes of room that json_text_clear keeps

// Empty the text for reuse; its room is kept, up to JSON_TEXT_KEPT bytes.
void json_text_clear (struct json_text *self);

// Append a NUL, which `ret_size` does not count, and return the text; free it with free ().
char *json_text_end (struct json_text *self, size_t *ret_size);

// Append bytes as they are: "{", "]", a value, members of an object.
void json_text_raw (struct json_text *self, struct span bytes);

// Write the comma before an item of an array, unless it is the first.
void json_text_item (struct json_text *self);

// Write the next member's name.
void json_text_name (struct json_text *self, const struct json_name *name);

// Write the next member, a number, padded with spaces to `width` bytes; a longer one is written in
// full.
void json_text_number (struct json_text *self, const struct json_name *name, int64_t value,
                       size_t width);

// Write a member with an arbitrary name.
void json_text_member (struct json_text *self, const char *name, const json_t *value);

// Write a whole tree, compact; the code that made it bounds its depth.
void json_text_value (struct json_text *self, const json_t *value);

// Write a frame as json_from_frame makes it: a string, or {"b64": "..."}.
void json_text_frame (struct json_text *self, struct span frame);
