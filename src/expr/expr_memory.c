// Memory of evaluations: blocks that are freed together.
#include "expr_value.h"

#include <stdlib.h>

#include "memory.h"

enum {
    ALIGNMENT = 16,
    CHUNK_SIZE = 16384 // bytes; a block above a quarter of this may get its own chunk
};

struct memory_chunk {
    struct memory_chunk *next;
    size_t size, used; // sizes in `bytes`
    _Alignas(ALIGNMENT) uint8_t bytes[];
};

struct expr_memory {
    struct memory_chunk *chunks; // the first one is being filled
    size_t allocated;            // total size of all chunks
};

struct expr_memory *expr_memory_new (void)
{
    return memory_new (sizeof (struct expr_memory));
}

void expr_memory_clear (struct expr_memory *self)
{
    while (self->chunks) {
        struct memory_chunk *next = self->chunks->next;
        free (self->chunks);
        self->chunks = next;
    }
    self->allocated = 0;
}

void expr_memory_destroy (struct expr_memory **self)
{
    if (!*self)
        return;
    expr_memory_clear (*self);
    free (*self);
    *self = NULL;
}

void *expr_memory_allocate (struct expr_memory *self, size_t size)
{
    if (size > EXPR_MEMORY_MAX)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct memory_chunk *chunk = self->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_SIZE / 4 ? size : CHUNK_SIZE;
        if (self->allocated + room > EXPR_MEMORY_MAX)
            return NULL;
        chunk = memory_resize (NULL, sizeof *chunk + room);
        chunk->size = room;
        chunk->used = 0;
        self->allocated += room;
        // A chunk for one large block is inserted after the one being filled.
        struct memory_chunk **place =
            room == size && self->chunks ? &self->chunks->next : &self->chunks;
        chunk->next = *place;
        *place = chunk;
    }
    void *block = chunk->bytes + chunk->used;
    chunk->used += size;
    return block;
}
