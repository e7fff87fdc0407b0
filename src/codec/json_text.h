// JSON written straight into bytes, for texts of the hot path; their form is that of json_write.
// The caller keeps the order: a name before each value of an object, every opened thing closed.
#pragma once

#include <jansson.h>

#include "span.h"

enum { JSON_NAME_MAX = 12 };

// A member's name as it is written. Of one size for all, that it can be copied at once.
struct json_name {
    char text[JSON_NAME_MAX + 5]; // ,"NAME":
    uint8_t size;                 // of `text`
};

// Its initializer; `literal` has at most JSON_NAME_MAX bytes, none of which needs an escape.
#define JSON_NAME(literal)                                                                         \
    {                                                                                              \
        ",\"" literal "\":", sizeof literal - 1 + 4                                                \
    }

struct json_text {
    char *bytes; // owned
    size_t size; // written
    size_t room; // of `bytes`
};

// An empty text. `room` is what it will take, most probably; it grows when that was too little.
void json_text_start (struct json_text *self, size_t room);

enum { JSON_TEXT_KEPT = 65536 }; // of the room

// Empty again, for the next text; the room stays, up to JSON_TEXT_KEPT bytes.
void json_text_clear (struct json_text *self);

// The whole text with a NUL after it; free it with free ().
char *json_text_end (struct json_text *self, size_t *ret_size);

// Bytes as they are: "{", "]", a value, members of an object.
void json_text_raw (struct json_text *self, struct span bytes);

// The comma before an item of an array, unless it is the first.
void json_text_item (struct json_text *self);

// The next member's name.
void json_text_name (struct json_text *self, const struct json_name *name);

// The next member, a number. With spaces after it up to `width` bytes; a longer one is written in
// full.
void json_text_number (struct json_text *self, const struct json_name *name, int64_t value,
                       size_t width);

// A member by any name.
void json_text_member (struct json_text *self, const char *name, const json_t *value);

// A whole tree, compact; its depth is bounded by who made it.
void json_text_value (struct json_text *self, const json_t *value);

// A frame as json_from_frame makes it: a string, or {"b64": "..."}.
void json_text_frame (struct json_text *self, struct span frame);
