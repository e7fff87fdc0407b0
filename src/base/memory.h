// Allocation that cannot fail: when memory is exhausted the process aborts and is restarted; no
// acknowledged plan depends on it surviving (crash-only).
#pragma once

#include <stddef.h>

// Zeroed memory; free with free ().
void *memory_new (size_t size);

// As realloc, never NULL; the grown part is not zeroed.
void *memory_resize (void *block, size_t size);

// An array of `*room` items of this size, `count` of them in use, with room for one more.
void *memory_room (void *array, size_t count, size_t *room, size_t size);

char *memory_text (const char *text);
