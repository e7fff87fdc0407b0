// Arguments of requests: numbers, texts, and JSON objects (json_fields.h). Pure.
#pragma once

#include <jansson.h>

#include "json_fields.h"

// A decimal number of an argument within its bounds.
bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret);

// A JSON text into a fixed one. False: no string, or too long.
bool copy_text (const json_t *value, char *out, size_t room);
