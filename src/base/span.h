// A span is a borrowed run of bytes: peers send bytes, never strings.
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

// Put the text at `at` of `out`, which has room. Where the next one goes. Without a NUL; for the
// texts of each run, where snprintf is a tenth of all that is done.
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
