// Integers as decimal text, like printf's "%" PRId64 at a tenth of its cost: each run writes about
// ten of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_SIZE = 21 }; // a sign, 19 digits and the NUL

// Write the text and a NUL. Returns the text's length.
size_t decimal_text (int64_t value, char out[DECIMAL_SIZE]);
