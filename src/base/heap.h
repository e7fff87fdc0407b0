// A binary min-heap of deadlines, intrusive: the owner embeds a node and keeps the memory. Of equal
// keys the node that was set first comes first.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t at;        // the key; any unit, the same for the whole heap
    uint32_t turn;     // when it was set: the order of equal keys
    uint32_t position; // 1-based place in the heap; 0 = not in it
};

struct heap {
    struct heap_node **nodes;
    size_t count;
    size_t capacity;
    uint32_t turns; // nodes that were set so far
};

void heap_free (struct heap *self);

// Put the node in with this key, or move it if it is in already.
void heap_set (struct heap *self, struct heap_node *node, int64_t at);

// Take the node out; nothing happens if it is not in.
void heap_remove (struct heap *self, struct heap_node *node);

// The node with the smallest key, or NULL.
struct heap_node *heap_first (const struct heap *self);
