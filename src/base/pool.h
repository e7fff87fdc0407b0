// Objects of one size, packed into pages: those that live long leave no gaps between blocks that
// do not, which could not be given back to the system.
#pragma once

#include <stddef.h>

struct pool {
    size_t size;            // of an object, in bytes; at most 4,096
    struct pool_page *open; // pages with a free place
};

// Zeroed memory of pool->size bytes.
void *pool_new (struct pool *pool);

// Give the object back. A page without objects is released, unless no other has a free place.
void pool_free (struct pool *pool, void *object);

// Release the pool, of which no object is in use.
void pool_clear (struct pool *pool);
