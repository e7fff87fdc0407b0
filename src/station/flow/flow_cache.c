#include "flow_cache.h"

#include <stdlib.h>

#include "memory.h"

// Estimated bytes of a compiled definition: per byte of its text, per step, and fixed. Measured on
// definitions of 3 to 9,000 steps.
enum { TEXT_FACTOR = 4, STEP_SIZE = 2048, MORE_SIZE = 4096 };

static struct flow_cache_entry *find_cached_name (const struct flow_cache *self, struct span name,
                                                  int version)
{
    struct table_node *node = table_find (&self->entries, table_hash (name));
    for (; node; node = table_next (node)) {
        struct flow_cache_entry *entry = (struct flow_cache_entry *)node;
        if (entry->findable && span_is (name, entry->name) &&
            (entry->version == version || !version))
            return entry;
    }
    return NULL;
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
    table_remove (&self->entries, &entry->node);
    self->size -= entry->size;
    if (self->on_drop)
        self->on_drop (self->owner, entry->flow);
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
    self->on_drop = NULL;
    for (struct table_node *node; (node = table_any (&self->entries));)
        cache_drop_entry (self, (struct flow_cache_entry *)node);
    table_free (&self->entries);
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

void flow_cache_forget (struct flow_cache *self, struct span name, int version)
{
    for (struct flow_cache_entry *entry; (entry = find_cached_name (self, name, version));) {
        entry->findable = false;
        if (entry->holders == 0)
            cache_drop_entry (self, entry);
    }
}

const struct flow *flow_cache_put (struct flow_cache *self, const char *name, int version,
                                   struct flow *flow, size_t text_size)
{
    flow_cache_forget (self, span_text (name), version);
    struct flow_cache_entry *entry = memory_new (sizeof *entry);
    entry->version = version;
    entry->flow = flow;
    flow->cached = entry;
    entry->size = TEXT_FACTOR * text_size + STEP_SIZE * flow->step_count + MORE_SIZE;
    entry->findable = true;
    snprintf (entry->name, sizeof entry->name, "%s", name);
    table_add (&self->entries, &entry->node, table_hash (span_text (entry->name)));
    self->size += entry->size;
    cache_trim (self); // before the new definition is listed, so that it is not evicted
    unused_list_add (self, entry);
    return flow;
}

void flow_cache_hold (struct flow_cache *self, const struct flow *flow)
{
    struct flow_cache_entry *entry = flow->cached;
    if (entry && entry->holders++ == 0)
        unused_list_remove (self, entry);
}

void flow_cache_release (struct flow_cache *self, const struct flow *flow)
{
    struct flow_cache_entry *entry = flow ? flow->cached : NULL;
    if (!entry || entry->holders == 0 || --entry->holders > 0)
        return;
    unused_list_add (self, entry);
    if (entry->findable)
        cache_trim (self);
    else
        cache_drop_entry (self, entry);
}

bool flow_cache_is_held (const struct flow_cache *self, struct span name, int version)
{
    const struct flow_cache_entry *entry = find_cached_name (self, name, version);
    return entry && entry->holders > 0;
}
