// UTF-8 (RFC 3629), and the parts of a text that need no escape in JSON.
#pragma once

#include "span.h"

// The size in bytes of the character at `at`, which is before `end`; 0 = not valid UTF-8:
// truncated, overlong, a surrogate or above U+10FFFF.
size_t utf8_size (const uint8_t *at, const uint8_t *end);

// The size in bytes of the longest prefix that is valid UTF-8 without NUL.
size_t utf8_text_size (struct span text);

// Whether all of it is valid UTF-8 without NUL.
static inline bool utf8_is_text (struct span text)
{
    return utf8_text_size (text) == text.size;
}

// At most `most` bytes of a text, cut at a character boundary.
struct span utf8_cut (struct span text, size_t most);

// Copy at most `most` bytes, cut at a character boundary. Each NUL and each byte that is not valid
// UTF-8 becomes a question mark. Returns the number of bytes written.
size_t utf8_copy_text (struct span text, size_t most, char *out);

// The number of bytes before the first control byte, quote, backslash or non-ASCII byte.
size_t utf8_plain_size (const uint8_t *at, const uint8_t *end);

// Copy the bytes before the first control byte, quote, backslash or non-ASCII byte. Returns their
// number. `out` has room for all bytes up to `end`; bytes after the copied ones may be overwritten.
size_t utf8_copy_plain (const uint8_t *at, const uint8_t *end, uint8_t *out);
