#include "width.h"

#include <wchar.h>

#include "utf8.h"

uint32_t character_at (const uint8_t *at, size_t size)
{
    uint32_t character = size < 2 ? at[0] : at[0] & (0xFFu >> (size + 1));
    for (size_t i = 1; i < size; i++)
        character = character << 6 | (at[i] & 0x3Fu);
    return character;
}

// The size of the first character in bytes, and its columns on the terminal: one if the locale does
// not know it.
static size_t next_character (struct span text, int *ret_columns)
{
    size_t size = utf8_size (text.data, text.data + text.size);
    int columns = size ? wcwidth ((wchar_t)character_at (text.data, size)) : 1;
    *ret_columns = columns < 0 ? 1 : columns;
    return size ? size : 1;
}

int text_width (struct span text)
{
    int width = 0, columns;
    for (size_t at = 0; at < text.size; width += columns)
        at += next_character (span_of (text.data + at, text.size - at), &columns);
    return width;
}

size_t text_fit (struct span text, int columns)
{
    size_t at = 0;
    while (at < text.size) {
        int width;
        size_t size = next_character (span_of (text.data + at, text.size - at), &width);
        if (width > columns)
            break;
        columns -= width;
        at += size;
    }
    return at;
}
