// Definitions of flows in Redis: `plan:flow:def:NAME`, a hash with the texts of its versions and
// data about them, and the names in `plan:flow:names`. Calls are answered like those of store.h.
#pragma once

#include "store.h"

enum { STORE_FLOW_VERSIONS = 100 }; // how many versions of a flow are kept

// The part of a flow that a station keeps in memory.
struct store_flow_head {
    struct span name;
    int use, last;    // version in use, and last one; 0: none, or invalid after an edit by hand
    int64_t updated;  // Unix seconds
    struct span info; // JSON about the version in use; empty = none
};

struct store_flow_heads {
    enum store_result result;
    const struct store_flow_head *heads; // in the order of their names
    size_t count;
    const char *error;
};

typedef void store_flow_heads_fn (void *owner, const struct store_flow_heads *answer);

// Read the heads of all flows, at most `max`, in pages. The call waits while Redis is away.
void store_flow_heads (struct store *self, size_t max, store_flow_heads_fn *reply, void *owner);

struct store_flow {
    enum store_result result;              // STORE_NONE: there is no such flow
    int use, last;                         // version in use, and last one, as in store_flow_head
    int64_t updated;                       // Unix seconds
    int versions[2 * STORE_FLOW_VERSIONS]; // the versions kept, in ascending order
    size_t version_count;
    int version;      // the version of `text`
    struct span text; // the definition, JSON; empty = no such version
    int64_t plans;    // number of plans with this flow as their target
    const char *error;
};

typedef void store_flow_fn (void *owner, const struct store_flow *answer);

// Which version to read.
enum { STORE_FLOW_IN_USE = 0, STORE_FLOW_LAST = -1 };

// Read a flow, with the text of a version. With LINK_REPEAT the call waits while Redis is away.
void store_flow_read (struct store *self, const char *name, int version, enum link_repeat repeat,
                      store_flow_fn *reply, void *owner);

struct store_flow_change {
    const char *name;
    int version;        // number of a new version; 0 = none is added
    struct span text;   // definition of the new version
    const int *dropped; // versions to delete
    size_t dropped_count;
    int use, last; // the rest as in store_flow_head
    int64_t updated;
    const char *info;
};

// Write the change. Everything is copied.
void store_flow_put (struct store *self, const struct store_flow_change *change,
                     store_done_fn *reply, void *owner);

// Delete the flow with all its versions.
void store_flow_remove (struct store *self, const char *name, store_done_fn *reply, void *owner);

// Call `reply` when everything written so far is in Redis.
void store_flow_settle (struct store *self, store_done_fn *reply, void *owner);
