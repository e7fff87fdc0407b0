// Files with definitions of flows: JSON or YAML, as JSON.
#pragma once

#include "reason.h"

enum { FLOW_FILE_MAX = 4000000 }; // bytes; a definition is smaller, but YAML may have comments

// The definition in a file, "-" is stdin, as JSON text with a NUL behind it, to be freed. A text
// that begins with "{" is taken as it is, all others are YAML. NULL: a reason.
char *flow_file_read (const char *name, size_t *ret_size, struct reason *reason);
