// A line with its plan in `spec`: {target, title, command, args, frames, spec, hold}.
#pragma once

#include <jansson.h>

#include "reason.h"

// Make it the flat form, in place; one without `spec`, `args` or `frames` stays as it is. 0, or -1
// with a reason.
int entry_flatten (json_t *object, struct reason *reason);
