#include "flow_cache.h"

#include <stdlib.h>

#include "memory.h"

// Estimated bytes of a compiled definition: per byte of its text, per step, and fixed. Measured on
// definitions of 3 to 9,000 steps.
enum { TEXT_FACTOR = 4, STEP_SIZE = 2048, MORE_SIZE = 4096 };

static struct flow_cache_entry *entry_of_name_node (struct table_node *node)
{
    return (struct flow_cache_entry *)((char *)node - offsetof (struct flow_cache_entry, by_name));
}

static struct flow_cache_entry *entry_of_flow_node (struct table_node *node)
{
    return (struct flow_cache_entry *)((char *)node - offsetof (struct flow_cache_entry, by_flow));
}

static struct flow_cache_entry *find_cached_name (const struct flow_cache *self, struct span name,
                                                  int version)
{
    struct table_node *node = table_find (&self->by_name, table_hash (name));
    for (; node; node = table_next (node)) {
        struct flow_cache_entry *entry = entry_of_name_node (node);
        if (span_is (name, entry->name) && (entry->version == version || !version))
            return entry;
    }
    return NULL;
}

static struct flow_cache_entry *find_cached_flow (const struct flow_cache *self,
                                                  const struct flow *flow)
{
    struct table_node *node =
        table_find (&self->by_flow, table_hash_number ((uint64_t)(uintptr_t)flow));
    while (node && entry_of_flow_node (node)->flow != flow)
        node = table_next (node);
    return node ? entry_of_flow_node (node) : NULL;
}

// -- the list of unused definitions

static void unused_list_add (struct flow_cache *self, struct flow_cache_entry *entry)
{
    entry->older = self->newest;
    entry->newer = NULL;
    *(entry->older ? &entry->older->newer : &self->oldest) = entry;
    self->newest = entry;
}

static void unused_list_remove (struct flow_cache *self, struct flow_cache_entry *entry)
{
    *(entry->older ? &entry->older->newer : &self->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &self->newest) = entry->older;
}

static void cache_drop_entry (struct flow_cache *self, struct flow_cache_entry *entry)
{
    if (entry->holders == 0)
        unused_list_remove (self, entry);
    if (entry->found)
        table_remove (&self->by_name, &entry->by_name);
    table_remove (&self->by_flow, &entry->by_flow);
    self->size -= entry->size;
    if (self->gone)
        self->gone (self->owner, entry->flow);
    else
        flow_destroy (&entry->flow);
    free (entry);
}

static void cache_trim (struct flow_cache *self)
{
    while (self->size > self->max && self->oldest)
        cache_drop_entry (self, self->oldest);
}

// -- interface

void flow_cache_clear (struct flow_cache *self)
{
    self->gone = NULL;
    for (struct table_node *node; (node = table_any (&self->by_flow));)
        cache_drop_entry (self, entry_of_flow_node (node));
    table_free (&self->by_name);
    table_free (&self->by_flow);
}

const struct flow *flow_cache_find (struct flow_cache *self, struct span name, int version)
{
    struct flow_cache_entry *entry = find_cached_name (self, name, version);
    if (entry && entry->holders == 0) {
        unused_list_remove (self, entry);
        unused_list_add (self, entry);
    }
    return entry ? entry->flow : NULL;
}

// Hide a definition from flow_cache_find; free it now or at its last release.
static void cache_hide (struct flow_cache *self, struct flow_cache_entry *entry)
{
    if (entry->holders == 0) {
        cache_drop_entry (self, entry);
        return;
    }
    table_remove (&self->by_name, &entry->by_name);
    entry->found = false;
}

void flow_cache_forget (struct flow_cache *self, struct span name, int version)
{
    for (struct flow_cache_entry *entry; (entry = find_cached_name (self, name, version));)
        cache_hide (self, entry);
}

const struct flow *flow_cache_put (struct flow_cache *self, const char *name, int version,
                                   struct flow *flow, size_t text_size)
{
    flow_cache_forget (self, span_text (name), version);
    struct flow_cache_entry *entry = memory_new (sizeof *entry);
    entry->version = version;
    entry->flow = flow;
    entry->size = TEXT_FACTOR * text_size + STEP_SIZE * flow->step_count + MORE_SIZE;
    entry->found = true;
    snprintf (entry->name, sizeof entry->name, "%s", name);
    table_add (&self->by_name, &entry->by_name, table_hash (span_text (entry->name)));
    table_add (&self->by_flow, &entry->by_flow, table_hash_number ((uint64_t)(uintptr_t)flow));
    self->size += entry->size;
    cache_trim (self); // before the new definition is listed, so that it is not evicted
    unused_list_add (self, entry);
    return flow;
}

void flow_cache_hold (struct flow_cache *self, const struct flow *flow)
{
    struct flow_cache_entry *entry = find_cached_flow (self, flow);
    if (entry && entry->holders++ == 0)
        unused_list_remove (self, entry);
}

void flow_cache_release (struct flow_cache *self, const struct flow *flow)
{
    struct flow_cache_entry *entry = find_cached_flow (self, flow);
    if (!entry || entry->holders == 0 || --entry->holders > 0)
        return;
    unused_list_add (self, entry);
    if (entry->found)
        cache_trim (self);
    else
        cache_drop_entry (self, entry);
}

bool flow_cache_is_held (const struct flow_cache *self, struct span name, int version)
{
    const struct flow_cache_entry *entry = find_cached_name (self, name, version);
    return entry && entry->holders > 0;
}
