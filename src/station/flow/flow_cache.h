// A cache of compiled definitions of flows, by name and version. Held definitions stay; the least
// recently used of the others are evicted when the cache exceeds its size. Pure.
#pragma once

#include "flow.h"
#include "table.h"

// A definition in the cache.
struct flow_cache_entry {
    struct table_node node;                 // first; in flow_cache.entries, by its name
    struct flow_cache_entry *older, *newer; // in the list of unused definitions
    char name[FLOW_NAME_MAX + 1];
    int version;
    struct flow *flow;
    size_t size; // bytes, approximately
    size_t holders;
    bool findable; // flow_cache_find finds it; false: it is freed at its last release
};

struct flow_cache {
    struct table entries;
    struct flow_cache_entry *oldest, *newest;         // list of definitions that nobody holds
    size_t size, max;                                 // bytes of all definitions
    void (*on_drop) (void *owner, struct flow *flow); // frees a definition; NULL: flow_destroy
    void *owner;
};

// Free all definitions, held or not, with flow_destroy.
void flow_cache_clear (struct flow_cache *self);

// Find a definition; NULL: it is not in the cache.
const struct flow *flow_cache_find (struct flow_cache *self, struct span name, int version);

// Add a definition that was compiled from `text_size` bytes; the cache takes ownership. Returns it.
// Holders of an earlier definition of this name and version keep theirs.
const struct flow *flow_cache_put (struct flow_cache *self, const char *name, int version,
                                   struct flow *flow, size_t text_size);

// Make this version, or all versions if 0, unavailable to flow_cache_find.
void flow_cache_forget (struct flow_cache *self, struct span name, int version);

// Hold a definition: it stays in memory until each hold is released.
void flow_cache_hold (struct flow_cache *self, const struct flow *flow);
void flow_cache_release (struct flow_cache *self, const struct flow *flow);

// Whether somebody holds this version.
bool flow_cache_is_held (const struct flow_cache *self, struct span name, int version);
