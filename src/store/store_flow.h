// Definitions of flows in Redis: `plan:flow:def:NAME`, a hash of the texts of its versions and what
// is known of them, and the names in `plan:flow:names`. Answered as the calls of store.h.
#pragma once

#include "store.h"

enum { STORE_FLOW_VERSIONS = 100 }; // that are kept of a flow

// What a station keeps of a flow in memory.
struct store_flow_head {
    struct span name;
    int use, last;    // versions; 0: there is none, or it was edited
    int64_t updated;  // Unix seconds
    struct span info; // JSON, of the version in use; empty = there is none
};

struct store_flow_heads {
    enum store_result result;
    const struct store_flow_head *heads; // in the order of their names
    size_t count;
    const char *error;
};

typedef void store_flow_heads_fn (void *owner, const struct store_flow_heads *answer);

// Read what is known of all flows, at most `max`, in pages. The call waits while Redis is away.
void store_flow_heads (struct store *self, size_t max, store_flow_heads_fn *reply, void *owner);

struct store_flow {
    enum store_result result; // STORE_NONE: there is no such flow
    int use, last;            // as in the head
    int64_t updated;
    int versions[2 * STORE_FLOW_VERSIONS]; // that are kept, rising
    size_t version_count;
    int version;      // the one that `text` is of
    struct span text; // empty = there is no such version
    int64_t plans;    // with it as their target
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
    int version; // a new one, with its text; 0 = none
    struct span text;
    const int *dropped; // versions that are not kept any more
    size_t dropped_count;
    int use, last;
    int64_t updated;
    const char *info;
};

// Write it. Everything is copied.
void store_flow_put (struct store *self, const struct store_flow_change *change,
                     store_done_fn *reply, void *owner);

// Take the flow out, with all its versions.
void store_flow_remove (struct store *self, const char *name, store_done_fn *reply, void *owner);

// Answered when all that was written until now is in Redis.
void store_flow_settle (struct store *self, store_done_fn *reply, void *owner);
