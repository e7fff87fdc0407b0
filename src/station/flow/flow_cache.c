#include "flow_cache.h"

#include <stdlib.h>

#include "memory.h"

// Estimated bytes of a compiled definition: per byte of its text, per step, and fixed. Measured on
// definitions of 3 to 9,000 steps.
enum { TEXT_FACTOR = 4, STEP_SIZE = 2048, MORE_SIZE = 4096 };

static struct flow_kept *kept_of_name (struct table_node *node)
{
    return (struct flow_kept *)((char *)node - offsetof (struct flow_kept, by_name));
}

static struct flow_kept *kept_of_flow (struct table_node *node)
{
    return (struct flow_kept *)((char *)node - offsetof (struct flow_kept, by_flow));
}

static struct flow_kept *find_name (const struct flow_cache *self, struct span name, int version)
{
    struct table_node *node = table_find (&self->by_name, table_hash (name));
    for (; node; node = table_next (node)) {
        struct flow_kept *kept = kept_of_name (node);
        if (span_is (name, kept->name) && (kept->version == version || !version))
            return kept;
    }
    return NULL;
}

static struct flow_kept *find_flow (const struct flow_cache *self, const struct flow *flow)
{
    struct table_node *node =
        table_find (&self->by_flow, table_hash_number ((uint64_t)(uintptr_t)flow));
    while (node && kept_of_flow (node)->flow != flow)
        node = table_next (node);
    return node ? kept_of_flow (node) : NULL;
}

// -- the list of unused definitions

static void list_add (struct flow_cache *self, struct flow_kept *kept)
{
    kept->older = self->newest;
    kept->newer = NULL;
    if (self->newest)
        self->newest->newer = kept;
    else
        self->oldest = kept;
    self->newest = kept;
}

static void list_remove (struct flow_cache *self, struct flow_kept *kept)
{
    if (kept->older)
        kept->older->newer = kept->newer;
    else
        self->oldest = kept->newer;
    if (kept->newer)
        kept->newer->older = kept->older;
    else
        self->newest = kept->older;
}

static void cache_drop (struct flow_cache *self, struct flow_kept *kept)
{
    if (kept->holders == 0)
        list_remove (self, kept);
    if (kept->found)
        table_remove (&self->by_name, &kept->by_name);
    table_remove (&self->by_flow, &kept->by_flow);
    self->size -= kept->size;
    if (self->gone)
        self->gone (self->owner, kept->flow);
    else
        flow_destroy (&kept->flow);
    free (kept);
}

static void cache_trim (struct flow_cache *self)
{
    while (self->size > self->max && self->oldest)
        cache_drop (self, self->oldest);
}

// -- interface

void flow_cache_clear (struct flow_cache *self)
{
    self->gone = NULL;
    for (struct table_node *node; (node = table_any (&self->by_flow));)
        cache_drop (self, kept_of_flow (node));
    table_free (&self->by_name);
    table_free (&self->by_flow);
}

const struct flow *flow_cache_find (struct flow_cache *self, struct span name, int version)
{
    struct flow_kept *kept = find_name (self, name, version);
    if (kept && kept->holders == 0) {
        list_remove (self, kept);
        list_add (self, kept);
    }
    return kept ? kept->flow : NULL;
}

static void cache_forget (struct flow_cache *self, struct flow_kept *kept)
{
    if (kept->holders == 0) {
        cache_drop (self, kept);
        return;
    }
    table_remove (&self->by_name, &kept->by_name);
    kept->found = false;
}

void flow_cache_forget (struct flow_cache *self, struct span name, int version)
{
    for (struct flow_kept *kept; (kept = find_name (self, name, version));)
        cache_forget (self, kept);
}

const struct flow *flow_cache_put (struct flow_cache *self, const char *name, int version,
                                   struct flow *flow, size_t text_size)
{
    flow_cache_forget (self, span_text (name), version);
    struct flow_kept *kept = memory_new (sizeof *kept);
    kept->version = version;
    kept->flow = flow;
    kept->size = TEXT_FACTOR * text_size + STEP_SIZE * flow->step_count + MORE_SIZE;
    kept->found = true;
    snprintf (kept->name, sizeof kept->name, "%s", name);
    table_add (&self->by_name, &kept->by_name, table_hash (span_text (kept->name)));
    table_add (&self->by_flow, &kept->by_flow, table_hash_number ((uint64_t)(uintptr_t)flow));
    self->size += kept->size;
    cache_trim (self); // before the new one is listed, so that it is not evicted
    list_add (self, kept);
    return flow;
}

void flow_cache_hold (struct flow_cache *self, const struct flow *flow)
{
    struct flow_kept *kept = find_flow (self, flow);
    if (kept && kept->holders++ == 0)
        list_remove (self, kept);
}

void flow_cache_release (struct flow_cache *self, const struct flow *flow)
{
    struct flow_kept *kept = find_flow (self, flow);
    if (!kept || kept->holders == 0 || --kept->holders > 0)
        return;
    list_add (self, kept);
    if (kept->found)
        cache_trim (self);
    else
        cache_drop (self, kept);
}

bool flow_cache_is_held (const struct flow_cache *self, struct span name, int version)
{
    const struct flow_kept *kept = find_name (self, name, version);
    return kept && kept->holders > 0;
}
