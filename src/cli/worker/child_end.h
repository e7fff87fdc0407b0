// How a command ended, as text. Pure.
#pragma once

#include "child.h"

enum { CHILD_END_SIZE = 32 };

// Of a child that has exited: "exit 3", "killed by signal 9". Returns `out`.
const char *child_end_word (const struct child *self, char out[CHILD_END_SIZE]);

// The last line of an output, without blanks at its ends; what is not UTF-8, and control bytes, are
// question marks. What does not fit is cut off. Returns `out`; "" = nothing was written.
const char *child_last_line (const struct child_output *output, char out[REASON_MAX]);
