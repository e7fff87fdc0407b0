#include "json_pool.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP = 16,           // malloc's block sizes are this many bytes apart
    HEADER = 8,          // bytes of each block that malloc uses itself
    SMALLEST = 24,       // usable bytes of the smallest block
    SIZES = 32,          // block sizes that are cached: up to 520 bytes
    CACHED_MAX = 2 << 20 // bytes that a thread caches
};

// The cached blocks: a list for each size; each block contains the address of the next one.
static _Thread_local void *cached[SIZES];
static _Thread_local size_t cached_bytes;

static void *block_alloc (size_t size)
{
    size_t at = size <= SMALLEST ? 0 : (size - SMALLEST + STEP - 1) / STEP;
    void *block = at < SIZES ? cached[at] : NULL;
    if (!block)
        return malloc (size);
    memcpy (&cached[at], block, sizeof cached[at]);
    cached_bytes -= SMALLEST + HEADER + at * STEP;
    return block;
}

static void block_free (void *block)
{
    size_t size = malloc_usable_size (block), at = (size - SMALLEST) / STEP;
    if (!block || size < SMALLEST || at >= SIZES || cached_bytes + size + HEADER > CACHED_MAX) {
        free (block);
        return;
    }
    memcpy (block, &cached[at], sizeof cached[at]);
    cached[at] = block;
    cached_bytes += SMALLEST + HEADER + at * STEP;
}

void json_pool_release (void)
{
    for (size_t at = 0; at < SIZES; at++) {
        for (void *block = cached[at], *next; block; block = next) {
            memcpy (&next, block, sizeof next);
            free (block);
        }
        cached[at] = NULL;
    }
    cached_bytes = 0;
}

void json_pool_use (void)
{
#ifndef __SANITIZE_ADDRESS__
    json_set_alloc_funcs (block_alloc, block_free);
#endif
}
