// Integers as decimal text, as printf's "%" PRId64 writes them, at a tenth of its cost: a run
// writes some ten of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_SIZE = 21 }; // a sign, 19 digits and the NUL

// The text and its NUL. Returns the text's length.
size_t decimal_text (int64_t value, char out[DECIMAL_SIZE]);
