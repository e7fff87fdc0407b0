// Counts the columns of a text on a terminal. Character widths are those of the locale (LC_CTYPE),
// which must be a UTF-8 one. The text is printable (print.h); each byte of invalid UTF-8 counts as
// one column.
#pragma once

#include "span.h"

int text_width (struct span text);

// The number of bytes at the start of the text that fit into `columns` columns; characters are not
// split, nor separated from their combining marks.
size_t text_fit (struct span text, int columns);

// Decode a character of `size` bytes, as returned by utf8_size.
uint32_t character_at (const uint8_t *at, size_t size);
