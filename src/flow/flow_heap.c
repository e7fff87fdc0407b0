#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"

struct lane {
    uint64_t *keys;
    size_t count, room;
};

struct flow_heap {
    struct lane lanes[2];
};

struct flow_heap *flow_heap_new (void)
{
    return memory_new (sizeof (struct flow_heap));
}

void flow_heap_destroy (struct flow_heap **self)
{
    if (!*self)
        return;
    free ((*self)->lanes[0].keys);
    free ((*self)->lanes[1].keys);
    free (*self);
    *self = NULL;
}

void flow_heap_clear (struct flow_heap *self)
{
    self->lanes[0].count = self->lanes[1].count = 0;
}

void flow_heap_push (struct flow_heap *self, enum flow_lane lane, uint64_t key)
{
    struct lane *heap = &self->lanes[lane];
    heap->keys = memory_grow (heap->keys, heap->count, &heap->room, sizeof *heap->keys);
    size_t at = heap->count++;
    for (; at > 0 && heap->keys[(at - 1) / 2] > key; at = (at - 1) / 2)
        heap->keys[at] = heap->keys[(at - 1) / 2];
    heap->keys[at] = key;
}

bool flow_heap_pop (struct flow_heap *self, enum flow_lane lane, uint64_t *ret)
{
    struct lane *heap = &self->lanes[lane];
    if (heap->count == 0)
        return false;
    *ret = heap->keys[0];
    uint64_t last = heap->keys[--heap->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < heap->count) {
        if (child + 1 < heap->count && heap->keys[child + 1] < heap->keys[child])
            child++;
        if (heap->keys[child] >= last)
            break;
        heap->keys[at] = heap->keys[child];
        at = child;
    }
    heap->keys[at] = last;
    return true;
}

bool flow_heap_empty (const struct flow_heap *self)
{
    return self->lanes[0].count == 0 && self->lanes[1].count == 0;
}
