#include "heap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"

void heap_free (struct heap *self)
{
    free (self->nodes);
    *self = (struct heap){0};
}

static void set_node_position (struct heap *self, struct heap_node *node, size_t position)
{
    self->nodes[position - 1] = node;
    node->position = (uint32_t)position;
}

static bool node_is_before (const struct heap_node *a, const struct heap_node *b)
{
    // Turns are compared by their difference, which stays correct when the counter wraps.
    return a->at < b->at || (a->at == b->at && (int32_t)(a->turn - b->turn) < 0);
}

static void sift_up (struct heap *self, struct heap_node *node)
{
    size_t at = node->position;
    while (at > 1 && node_is_before (node, self->nodes[at / 2 - 1])) {
        set_node_position (self, self->nodes[at / 2 - 1], at);
        at /= 2;
    }
    set_node_position (self, node, at);
}

static void sift_down (struct heap *self, struct heap_node *node)
{
    size_t at = node->position;
    for (;;) {
        size_t child = at * 2;
        if (child > self->count)
            break;
        if (child < self->count && node_is_before (self->nodes[child], self->nodes[child - 1]))
            child++;
        if (!node_is_before (self->nodes[child - 1], node))
            break;
        set_node_position (self, self->nodes[child - 1], at);
        at = child;
    }
    set_node_position (self, node, at);
}

void heap_set (struct heap *self, struct heap_node *node, int64_t at)
{
    node->at = at;
    node->turn = self->turns++;
    if (node->position == 0) {
        self->nodes = memory_grow (self->nodes, self->count, &self->capacity, sizeof *self->nodes);
        set_node_position (self, node, ++self->count);
    }
    sift_up (self, node);
    sift_down (self, node);
}

void heap_remove (struct heap *self, struct heap_node *node)
{
    if (node->position == 0)
        return;
    struct heap_node *last = self->nodes[--self->count];
    if (last != node) {
        set_node_position (self, last, node->position);
        sift_up (self, last);
        sift_down (self, last);
    }
    node->position = 0;
}

struct heap_node *heap_first (const struct heap *self)
{
    return self->count ? self->nodes[0] : NULL;
}
