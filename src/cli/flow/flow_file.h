// Files with definitions of flows: JSON or YAML, as JSON.
#pragma once

#include <jansson.h>

#include "reason.h"

// All of a file, "-" is stdin, with a NUL after it, to be freed. NULL: a reason, as that it has
// more than `max` bytes, which is `max_text` in words.
char *flow_file_bytes (const char *name, size_t max, const char *max_text, size_t *ret_size,
                       struct reason *reason);

// The definition in a file, "-" is stdin, as JSON text with a NUL after it, to be freed. A text
// that begins with "{" is taken as it is, all others are YAML. NULL: a reason.
char *flow_file_read (const char *name, size_t *ret_size, struct reason *reason);

// The same, any value, to be given back by json_decref.
json_t *flow_file_json (const char *name, struct reason *reason);
