#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void *checked (void *block)
{
    if (!block)
        abort ();
    return block;
}

void *memory_new (size_t size)
{
    return checked (calloc (1, size ? size : 1));
}

void *memory_resize (void *block, size_t size)
{
    return checked (realloc (block, size ? size : 1));
}

char *memory_text (const char *text)
{
    return checked (strdup (text));
}
