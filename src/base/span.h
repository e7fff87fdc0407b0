// A span is a borrowed sequence of bytes. Data from peers are spans, as they may contain NULs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const uint8_t *data; // NULL only when size is 0
    size_t size;
};

static inline struct span span_of (const void *data, size_t size)
{
    return (struct span){data, size};
}

static inline struct span span_text (const char *text)
{
    return (struct span){(const uint8_t *)text, strlen (text)};
}

// Copy the text to offset `at` of `out`, which must have room for it, without a NUL. Returns the
// offset after it. Used for the texts that each run needs, as snprintf would take too long.
static inline size_t span_put (char *out, size_t at, struct span text)
{
    if (text.size)
        memcpy (out + at, text.data, text.size);
    return at + text.size;
}

static inline bool span_equal (struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp (a.data, b.data, a.size) == 0);
}

static inline bool span_is (struct span span, const char *text)
{
    return span_equal (span, span_text (text));
}

// The text without blanks and tabs at both ends and CRs at its end.
static inline struct span span_trimmed (struct span text)
{
    while (text.size && memchr (" \t\r", text.data[text.size - 1], 3))
        text.size--;
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = span_of (text.data + 1, text.size - 1);
    return text;
}

// Remove the first item from a comma-separated list. Items may be empty: "a," has two, and "" has
// one. False: all were removed, or `list` is zero.
static inline bool span_take_item (struct span *list, struct span *ret)
{
    if (!list->data)
        return false;
    const uint8_t *comma = memchr (list->data, ',', list->size);
    *ret = span_of (list->data, comma ? (size_t)(comma - list->data) : list->size);
    *list = comma ? span_of (comma + 1, list->size - ret->size - 1) : (struct span){0};
    return true;
}

// Remove the first line from a text that is not empty. Returns it without its LF or CR LF.
static inline struct span span_take_line (struct span *text)
{
    const uint8_t *end = memchr (text->data, '\n', text->size);
    struct span line = span_of (text->data, end ? (size_t)(end - text->data) : text->size);
    size_t taken = line.size + (end != NULL);
    *text = span_of (text->data + taken, text->size - taken);
    line.size -= line.size && line.data[line.size - 1] == '\r';
    return line;
}
