// Arguments of requests: numbers, texts, and JSON objects (json_fields.h). Pure.
#pragma once

#include <jansson.h>

#include "json_fields.h"

// Read an argument that is a decimal number within the bounds.
bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret);

// A reader of a json_field that adds a member which a stored plan must have, by the add_member of
// its file.
#define MEMBER_READER(name, is_fit)                                                                \
    static bool read_##name (void *filter, const json_t *value)                                    \
    {                                                                                              \
        return is_fit (value) && add_member (filter, #name, value);                                \
    }

// Write the member as it is in the text of a stored plan. False: it does not fit.
bool stored_member_text (const char *name, const json_t *value, char *out, size_t room);

// Copy a JSON string into a buffer. False: it is not a string, or too long.
bool copy_json_text (const json_t *value, char *out, size_t room);
