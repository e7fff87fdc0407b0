// Reads files with definitions of flows, JSON or YAML, as JSON.
#pragma once

#include <jansson.h>

#include "reason.h"

// Read the contents of a file, "-" is stdin, NUL-terminated; free them. NULL with a reason, also if
// it has more than `max` bytes, for which the reason says `max_text`.
char *flow_file_bytes (const char *name, size_t max, const char *max_text, size_t *ret_size,
                       struct reason *reason);

// Read the definition in a file, "-" is stdin, as NUL-terminated JSON text; free it. A text that
// begins with "{" is returned unchanged, any other is parsed as YAML. NULL with a reason.
char *flow_file_read (const char *name, size_t *ret_size, struct reason *reason);

// As flow_file_read, but parsed: any JSON value, owned by the caller.
json_t *flow_file_json (const char *name, struct reason *reason);
