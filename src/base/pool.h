// Objects of one size, packed into pages. If long-lived objects were scattered over the heap, the
// freed blocks between them could not be returned to the system.
#pragma once

#include <stddef.h>
#include <sys/queue.h>

struct pool {
    size_t size;                  // size of an object in bytes, at most 4,096
    LIST_HEAD (, pool_page) open; // pages with a free slot
};

// Zeroed memory of pool->size bytes.
void *pool_new (struct pool *pool);

// Free the object. An empty page is released unless it is the only one with a free slot.
void pool_free (struct pool *pool, void *object);

// Release the pool; none of its objects may be in use.
void pool_clear (struct pool *pool);
