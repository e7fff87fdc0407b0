// Arguments of requests: numbers, texts, and JSON objects (json_fields.h). Pure.
#pragma once

#include <jansson.h>

#include "json_fields.h"

// Read an argument that is a decimal number within the bounds.
bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret);

// Copy a JSON string into a buffer. False: it is not a string, or too long.
bool copy_json_text (const json_t *value, char *out, size_t room);
