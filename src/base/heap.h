// A binary min-heap of deadlines, intrusive: the owner embeds a node and owns its memory. Nodes
// with equal keys come out in the order in which they were set.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t at;        // the key; any unit, the same for the whole heap
    uint32_t turn;     // sequence number of its heap_set: orders equal keys
    uint32_t position; // 1-based place in the heap; 0 = not in it
};

struct heap {
    struct heap_node **nodes;
    size_t count;
    size_t capacity;
    uint32_t turns; // number of heap_set calls so far
};

// Release the heap's memory. The nodes are the owner's.
void heap_free (struct heap *self);

// Insert the node with this key, or move it if it is in the heap.
void heap_set (struct heap *self, struct heap_node *node, int64_t at);

// Remove the node; a no-op if it is not in the heap.
void heap_remove (struct heap *self, struct heap_node *node);

// The node with the smallest key, or NULL.
struct heap_node *heap_first (const struct heap *self);
