// Definitions of flows in the station: the names of all flows, and compiled definitions on demand.
// The names are loaded when the station becomes the owner of the plans, a definition when it is
// needed. Commands change flows (flow_change.h). proto/flows.md 18.17.
#pragma once

#include "station_state.h"
#include "flow_cache.h"
#include "flow_names.h"
#include "flow_parser.h"

// Create station->flows, without names.
void flow_book_start (struct station *self);

// Stop reading, and answer all waiting callers. Call this before the store ends.
void flow_book_quit (struct station *self);

// Free everything, including held definitions.
void flow_book_stop (struct station *self);

// Read the names from Redis, then call `on_loaded`.
void flow_book_load (struct station *self, void (*on_loaded) (struct station *self));

// Read the names and versions of all flows; if a read is in progress, repeat it when it ends.
void flow_book_reload (struct station *self);

// Whether plans for this name are flow plans: it is a flow, and no target has this name, which
// would hide the flow.
bool flow_book_has (const struct station *self, struct span name);

// Whether a plan for this name may be submitted: it is a flow, and no command is removing it.
bool flow_book_takes (const struct station *self, struct span name);

// Whether a flow has this name or is about to get it: then no target may have it.
bool flow_book_claims (const struct station *self, struct span name);

// The version in use of this flow; 0: no such flow.
int flow_book_version (const struct station *self, struct span name);

// Receives the definition, which is valid during the call only, unless the callee holds it. `flow`
// NULL: failed, `reason` says why. While Redis is away, the request waits instead of failing.
typedef void flow_book_fn (void *owner, const struct flow *flow, int version, const char *reason);

// Get the definition of a version; 0: the one in use. `reply` is called once, and never before this
// returns.
void flow_book_get (struct station *self, const char *name, int version, flow_book_fn *reply,
                    void *owner);

// Find the definition of a version in memory; 0: the one in use. NULL: not in memory, use
// flow_book_get.
const struct flow *flow_book_find (struct station *self, struct span name, int version);

// Keep a definition in memory until this hold is released. Returns it. Definitions never change.
const struct flow *flow_book_hold (struct station *self, const struct flow *flow);
// Release one hold of a definition.
void flow_book_release (struct station *self, const struct flow *flow);

// -- for the commands

struct flow_book {
    struct station *station;
    struct flow_names names;
    struct flow_cache cache;
    struct flow_parser *parser; // NULL: the station is stopping
    struct flow_load *loads;    // definitions that are being read
    struct flow_wait *ready, **last_ready;
    struct task answer; // replies to the callers in `ready`
    bool loading;       // the names are being read
    bool load_again;    // when `loading` ends, read the names once more: they may have changed
    void (*on_loaded) (struct station *self); // called once the names are read; NULL: none
    char claimed[FLOW_NAME_MAX + 1];          // the flow that a pending put creates; "": none
    char removing[FLOW_NAME_MAX + 1];         // the flow that a pending command removes; "": none
    struct flow_change *first, **last;        // queued changes; only the first can be in progress
    bool changing;                            // the first change has begun
    struct task change;                       // begins the first change
};

// Copy the names that a definition may refer to now, for flow_parser_ask.
void flow_book_copy_names (const struct station *self, struct flow_known *ret);

// Enter or replace the flow that `entry` describes. Takes over the facts of `entry`, and `flow`,
// the compiled `version`, which may be NULL.
void flow_book_put (struct station *self, struct flow_entry *entry, struct flow *flow, int version,
                    size_t text_size);

// Remove a flow from the names and the cache.
void flow_book_remove (struct station *self, const char *name);
