// What the fuzz targets share: the input taken apart, and checks that hold in every build.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "reason.h"
#include "span.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

// Die, and say what did not hold: to the fuzzer that is a find.
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf (stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);        \
            abort ();                                                                              \
        }                                                                                          \
    } while (0)

// The input, taken from its start. What is taken lies in a block of exactly its size, so that the
// sanitizer sees a read past it; feed_free gives all blocks back.
struct feed {
    struct span left;
    struct block *blocks;
};

struct block {
    struct block *next;
    uint8_t bytes[];
};

static inline struct span feed_keep (struct feed *self, struct span bytes)
{
    struct block *block = malloc (sizeof *block + bytes.size);
    HOLDS (block);
    block->next = self->blocks;
    self->blocks = block;
    if (bytes.size)
        memcpy (block->bytes, bytes.data, bytes.size);
    return span_of (block->bytes, bytes.size);
}

static inline struct span feed_pass (struct feed *self, size_t size)
{
    struct span bytes = self->left;
    if (size < bytes.size)
        bytes.size = size;
    self->left = span_of (self->left.data + bytes.size, self->left.size - bytes.size);
    return bytes;
}

static inline struct span feed_take (struct feed *self, size_t size)
{
    return feed_keep (self, feed_pass (self, size));
}

static inline uint8_t feed_byte (struct feed *self)
{
    struct span byte = feed_pass (self, 1);
    return byte.size ? *byte.data : 0;
}

static inline uint64_t feed_number (struct feed *self)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | feed_byte (self);
    return number;
}

// A length of one byte, or ff and one of two, and so many bytes.
static inline struct span feed_frame (struct feed *self)
{
    size_t size = feed_byte (self);
    if (size == 255) {
        size = (size_t)feed_byte (self) << 8;
        size |= feed_byte (self);
    }
    return feed_take (self, size);
}

// All frames that are left.
static inline size_t feed_frames (struct feed *self, struct span *out, size_t room)
{
    size_t count = 0;
    while (self->left.size && count < room)
        out[count++] = feed_frame (self);
    return count;
}

// What stands before the next NUL, which is passed over: texts, and numbers behind them.
static inline struct span feed_text (struct feed *self)
{
    const uint8_t *nul = self->left.size ? memchr (self->left.data, 0, self->left.size) : NULL;
    size_t size = nul ? (size_t)(nul - self->left.data) : self->left.size;
    struct span text = feed_take (self, size);
    feed_pass (self, nul != NULL);
    return text;
}

// A span without NUL as a C string.
static inline const char *feed_string (struct feed *self, struct span text)
{
    struct block *block = malloc (sizeof *block + text.size + 1);
    HOLDS (block);
    block->next = self->blocks;
    self->blocks = block;
    if (text.size)
        memcpy (block->bytes, text.data, text.size);
    block->bytes[text.size] = '\0';
    return (const char *)block->bytes;
}

static inline void feed_free (struct feed *self)
{
    while (self->blocks) {
        struct block *next = self->blocks->next;
        free (self->blocks);
        self->blocks = next;
    }
}

// A number that the bytes decide: where a target needs one, but the input is all content.
static inline uint64_t feed_hash (struct span bytes, uint64_t salt)
{
    uint64_t hash = UINT64_C (14695981039346656037) ^ salt;
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * UINT64_C (1099511628211);
    hash ^= hash >> 29;
    return hash * UINT64_C (0xbf58476d1ce4e5b9) ^ hash >> 32;
}

// A reason goes to logs and peers: it is there, fits, and is UTF-8 without control bytes.
static inline void check_reason (const struct reason *reason)
{
    const uint8_t *at = (const uint8_t *)reason->text;
    const uint8_t *end = memchr (at, 0, sizeof reason->text);
    HOLDS (end && end > at);
    while (at < end) {
        size_t more = *at < 0x80 ? 0 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : 3;
        HOLDS (*at >= 0x20 && *at != 0x7F && (*at < 0x80 || *at >= 0xC2) && *at < 0xF5);
        HOLDS (more < (size_t)(end - at));
        for (at++; more; more--, at++)
            HOLDS ((*at & 0xC0) == 0x80);
    }
}
