// How many columns a text takes on a terminal. Characters have the widths of the locale (LC_CTYPE),
// which is to be one of UTF-8. The text is printable (print.h); what is not UTF-8 counts one a
// byte.
#pragma once

#include "span.h"

int text_width (struct span text);

// The bytes at the start of the text that take at most `columns` columns; a character is never cut
// in two, nor separated from its combining marks.
size_t text_fit (struct span text, int columns);

// The character that is `size` bytes long, as utf8_size says.
uint32_t character_at (const uint8_t *at, size_t size);
