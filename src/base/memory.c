#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void *block_or_abort (void *block)
{
    if (!block)
        abort ();
    return block;
}

// Small blocks use malloc and memset, as malloc reuses the blocks that were freed last, and glibc's
// calloc does not. Large blocks use calloc, which can get zeroed memory from the system.
void *memory_new (size_t size)
{
    enum { SMALL = 1024 };
    if (size > SMALL)
        return block_or_abort (calloc (1, size));
    return memset (block_or_abort (malloc (size ? size : 1)), 0, size);
}

void *memory_resize (void *block, size_t size)
{
    return block_or_abort (realloc (block, size ? size : 1));
}

void *memory_double (void *array, size_t *room, size_t size)
{
    enum { ROOM_MIN = 4 };
    *room = *room ? 2 * *room : ROOM_MIN;
    return memory_resize (array, *room * size);
}

void *memory_copy (const void *bytes, size_t size)
{
    char *copy = memory_resize (NULL, size + 1);
    if (size)
        memcpy (copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

char *memory_text (const char *text)
{
    return block_or_abort (strdup (text));
}
