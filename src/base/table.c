#include "table.h"

#include <stdlib.h>

#include "memory.h"

enum { SLOTS_FIRST = 64 };

uint64_t table_hash_number (uint64_t key)
{
    key = (key ^ key >> 32) * UINT64_C (0x9E3779B97F4A7C15);
    return key ^ key >> 29;
}

// FNV-1a, mixed once more as only the low bits select the slot.
uint64_t table_hash (struct span key)
{
    uint64_t hash = UINT64_C (0xCBF29CE484222325);
    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ key.data[i]) * UINT64_C (0x100000001B3);
    return table_hash_number (hash);
}

static struct table_node **hash_slot (const struct table *self, uint64_t hash)
{
    return &self->slots[hash & (self->size - 1)];
}

// Double the number of slots, and put each node into its new slot.
static void double_slots (struct table *self)
{
    struct table before = *self;
    self->size = before.size ? 2 * before.size : SLOTS_FIRST;
    self->slots = memory_new (self->size * sizeof *self->slots);
    for (size_t i = 0; i < before.size; i++) {
        for (struct table_node *node = before.slots[i], *next; node; node = next) {
            next = node->next;
            node->next = *hash_slot (self, node->hash);
            *hash_slot (self, node->hash) = node;
        }
    }
    free (before.slots);
}

void table_add (struct table *self, struct table_node *node, uint64_t hash)
{
    if (self->count >= self->size)
        double_slots (self);
    struct table_node **slot = hash_slot (self, hash);
    *node = (struct table_node){*slot, hash};
    *slot = node;
    self->count++;
}

void table_remove (struct table *self, struct table_node *node)
{
    struct table_node **at = hash_slot (self, node->hash);
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    self->count--;
}

struct table_node *table_next (const struct table_node *node)
{
    struct table_node *next = node->next;
    while (next && next->hash != node->hash)
        next = next->next;
    return next;
}

struct table_node *table_find (const struct table *self, uint64_t hash)
{
    struct table_node *first = self->size ? *hash_slot (self, hash) : NULL;
    return first && first->hash != hash ? table_next (&(struct table_node){first, hash}) : first;
}

struct table_node *table_step (const struct table *self, const struct table_node *node)
{
    if (node && node->next)
        return node->next;
    size_t at = node ? (node->hash & (self->size - 1)) + 1 : 0;
    while (at < self->size && !self->slots[at])
        at++;
    return at < self->size ? self->slots[at] : NULL;
}

struct table_node *table_any (const struct table *self)
{
    return self->count ? table_step (self, NULL) : NULL;
}

void table_each (const struct table *self, void (*call) (struct table_node *node, void *owner),
                 void *owner)
{
    for (struct table_node *node = table_step (self, NULL), *next; node; node = next) {
        next = table_step (self, node);
        call (node, owner);
    }
}

void table_free (struct table *self)
{
    free (self->slots);
    *self = (struct table){0};
}
