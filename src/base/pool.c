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

struct pool_place {
    struct pool_place *next;
};

// A page is aligned to its size, so that an object's address gives its page.
struct pool_page {
    struct pool_page *previous, *next; // in the list of pages with a free slot
    struct pool_place *freed;          // slots that were used and freed
    size_t used;                       // slots used at least once: those after them are new
    size_t count;                      // objects in the page
};

static size_t pool_place_bytes (const struct pool *pool)
{
    return (pool->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool page_is_full (const struct pool *pool, const struct pool_page *page)
{
    return page->count == (PAGE_BYTES - sizeof *page) / pool_place_bytes (pool);
}

static void list_open_page (struct pool *pool, struct pool_page *page)
{
    page->previous = NULL;
    page->next = pool->open;
    if (page->next)
        page->next->previous = page;
    pool->open = page;
}

static void unlist_open_page (struct pool *pool, struct pool_page *page)
{
    if (page->next)
        page->next->previous = page->previous;
    if (page->previous)
        page->previous->next = page->next;
    else
        pool->open = page->next;
}

void *pool_new (struct pool *pool)
{
    if (!pool->open) {
        struct pool_page *page = aligned_alloc (PAGE_BYTES, PAGE_BYTES);
        if (!page)
            abort ();
        *page = (struct pool_page){0};
        list_open_page (pool, page);
    }
    struct pool_page *page = pool->open;
    struct pool_place *place = page->freed;
    if (place) {
        ASAN_UNPOISON_MEMORY_REGION (place, pool->size);
        page->freed = place->next;
    } else {
        place = (void *)((uint8_t *)(page + 1) + page->used++ * pool_place_bytes (pool));
    }
    page->count++;
    if (page_is_full (pool, page))
        unlist_open_page (pool, page);
    return memset (place, 0, pool->size);
}

void pool_free (struct pool *pool, void *object)
{
    struct pool_page *page = (struct pool_page *)((uintptr_t)object / PAGE_BYTES * PAGE_BYTES);
    struct pool_place *place = object;
    if (page_is_full (pool, page))
        list_open_page (pool, page);
    page->count--;
    place->next = page->freed;
    page->freed = place;
    ASAN_POISON_MEMORY_REGION (place, pool->size);
    if (!page->count && (page->previous || page->next)) {
        unlist_open_page (pool, page);
        free (page);
    }
}

void pool_clear (struct pool *pool)
{
    free (pool->open);
    pool->open = NULL;
}
