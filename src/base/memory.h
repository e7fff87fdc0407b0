// Allocation that cannot fail: when memory is exhausted the process aborts and is restarted; no
// acknowledged plan depends on the process surviving (crash-only).
#pragma once

#include <stddef.h>

// Zeroed memory; free with free ().
void *memory_new (size_t size);

// Like realloc, but never returns NULL; the grown part is not zeroed.
void *memory_resize (void *block, size_t size);

// Double the room of an array: `*room` items of `size` bytes. Returns the array.
void *memory_double (void *array, size_t *room, size_t size);

// Grow an array of `*room` items of `size` bytes, `count` of them in use, if it has no room for one
// more. Returns the array. Inline, as each row of a batch is such an item.
static inline void *memory_grow (void *array, size_t count, size_t *room, size_t size)
{
    return count < *room ? array : memory_double (array, room, size);
}

// A copy of these bytes, followed by a NUL; `bytes` may be NULL if `size` is 0. Free it.
void *memory_copy (const void *bytes, size_t size);

// A copy of the text. Free it.
char *memory_text (const char *text);
