// The arguments of management as its files read them, which are theirs alone.
#pragma once

#include "manage_private.h"

// Read the argument of `list`; then list one stored message by it. A filter that was read is within
// its bounds.
void fuzz_list (struct span text, struct span message);

// Read the arguments of `history`.
void fuzz_history (const struct request *request);
