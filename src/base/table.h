// A hash table, intrusive: the owner embeds a node and owns its memory. The table compares hashes
// only, the owner compares keys:
//
//     for (struct table_node *node = table_find (&table, hash); node; node = table_next (node))
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "span.h"

struct table_node {
    struct table_node *next; // in the same slot
    uint64_t hash;
};

// A zeroed table is empty.
struct table {
    struct table_node **slots;
    size_t size;  // number of slots, a power of two
    size_t count; // number of nodes
};

// Hashes for keys that are bytes, and for keys that are numbers.
uint64_t table_hash (struct span key);
uint64_t table_hash_number (uint64_t key);

// Add the node under this hash; other nodes may have the same hash.
void table_add (struct table *self, struct table_node *node, uint64_t hash);

// Remove the node, which must be in the table.
void table_remove (struct table *self, struct table_node *node);

// The first node with this hash, or NULL; table_next returns the next one with it, or NULL.
struct table_node *table_find (const struct table *self, uint64_t hash);
struct table_node *table_next (const struct table_node *node);

// Some node, or NULL if the table is empty. Repeated with table_remove, it empties the table.
struct table_node *table_any (const struct table *self);

// The node after this one, or the first one for NULL, in no particular order; NULL: there are no
// more. To remove or free the nodes on the way, get the next one first.
struct table_node *table_step (const struct table *self, const struct table_node *node);

// Call `call` for every node, in no particular order. It may remove that node, but change nothing
// else.
void table_each (const struct table *self, void (*call) (struct table_node *node, void *owner),
                 void *owner);

// Release the slots. The nodes are the owner's.
void table_free (struct table *self);
