#include "pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { PAGE_BYTES = 1 << 18, ALIGNMENT = 8 };

struct pool_slot {
    struct pool_slot *next;
};

// A page is aligned to its size, so that an object's address gives its page.
struct pool_page {
    LIST_ENTRY (pool_page) open; // in the list of pages with a free slot
    struct pool_slot *freed;     // slots that were used and freed
    size_t used;                 // slots used at least once: those after them are new
    size_t count;                // objects in the page
};

static size_t pool_slot_bytes (const struct pool *pool)
{
    return (pool->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool page_is_full (const struct pool *pool, const struct pool_page *page)
{
    return page->count == (PAGE_BYTES - sizeof *page) / pool_slot_bytes (pool);
}

void *pool_new (struct pool *pool)
{
    if (LIST_EMPTY (&pool->open)) {
        struct pool_page *page = aligned_alloc (PAGE_BYTES, PAGE_BYTES);
        if (!page)
            abort ();
        *page = (struct pool_page){0};
        LIST_INSERT_HEAD (&pool->open, page, open);
    }
    struct pool_page *page = LIST_FIRST (&pool->open);
    struct pool_slot *slot = page->freed;
    if (slot) {
        ASAN_UNPOISON_MEMORY_REGION (slot, pool->size);
        page->freed = slot->next;
    } else {
        slot = (void *)((uint8_t *)(page + 1) + page->used++ * pool_slot_bytes (pool));
    }
    page->count++;
    if (page_is_full (pool, page))
        LIST_REMOVE (page, open);
    return memset (slot, 0, pool->size);
}

void pool_free (struct pool *pool, void *object)
{
    struct pool_page *page = (struct pool_page *)((uintptr_t)object / PAGE_BYTES * PAGE_BYTES);
    struct pool_slot *slot = object;
    if (page_is_full (pool, page))
        LIST_INSERT_HEAD (&pool->open, page, open);
    page->count--;
    slot->next = page->freed;
    page->freed = slot;
    ASAN_POISON_MEMORY_REGION (slot, pool->size);
    bool only = LIST_FIRST (&pool->open) == page && !LIST_NEXT (page, open);
    if (!page->count && !only) {
        LIST_REMOVE (page, open);
        free (page);
    }
}

void pool_clear (struct pool *pool)
{
    free (LIST_FIRST (&pool->open));
    LIST_INIT (&pool->open);
}
