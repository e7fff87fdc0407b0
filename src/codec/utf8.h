// UTF-8 (RFC 3629), and the runs of a text that mean themselves in JSON.
#pragma once

#include "span.h"

// The bytes of the character at `at`, which is before `end`; 0 = it is no UTF-8: cut, overlong, a
// surrogate or over U+10FFFF.
size_t utf8_size (const uint8_t *at, const uint8_t *end);

// How many bytes from the beginning are text: UTF-8 without NUL.
size_t utf8_text_size (struct span text);

static inline bool utf8_is_text (struct span text)
{
    return utf8_text_size (text) == text.size;
}

// At most so many bytes of a text, and no part of a character at their end.
struct span utf8_cut (struct span text, size_t most);

// Copy at most so many bytes, with a question mark for each byte that is no text, as UTF-8 without
// NUL and no part of a character at the end. Returns how many were written.
size_t utf8_copy_text (struct span text, size_t most, char *out);

// Copy the bytes before the first that is a control byte, a quote, a backslash or not ASCII:
// returns how many. `out` has room for all bytes up to `end`, and those after the copied may be
// written.
size_t utf8_copy_plain (const uint8_t *at, const uint8_t *end, uint8_t *out);
