// Compiled definitions of flows, by name and version. Those in use stay; of the others as many as
// have room, those that were used last. Pure.
#pragma once

#include "flow.h"
#include "table.h"

// A definition.
struct flow_kept {
    struct table_node by_name, by_flow;
    struct flow_kept *older, *newer; // of unused ones
    char name[FLOW_NAME_MAX + 1];
    int version;
    struct flow *flow;
    size_t size; // bytes, approximately
    size_t holders;
    bool found; // by its name; else its last holder frees it
};

struct flow_cache {
    struct table by_name, by_flow;
    struct flow_kept *oldest, *newest;             // of unused ones
    size_t size, max;                              // bytes of all
    void (*gone) (void *owner, struct flow *flow); // takes those that go; NULL: flow_destroy
    void *owner;
};

// Free all, held or not, here.
void flow_cache_clear (struct flow_cache *self);

// NULL: it is not there.
const struct flow *flow_cache_find (struct flow_cache *self, struct span name, int version);

// Put a definition in, which was made of `text_size` bytes; it is the cache's from then on. Users
// of this name and version keep theirs.
const struct flow *flow_cache_put (struct flow_cache *self, const char *name, int version,
                                   struct flow *flow, size_t text_size);

// This version is not found any more, or with 0 any version.
void flow_cache_forget (struct flow_cache *self, struct span name, int version);

void flow_cache_hold (struct flow_cache *self, const struct flow *flow);
void flow_cache_release (struct flow_cache *self, const struct flow *flow);

// Whether this version is in use.
bool flow_cache_is_held (const struct flow_cache *self, struct span name, int version);
