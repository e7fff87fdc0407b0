// Definitions of flows in the station: which flows there are, and compiled definitions as they are
// asked for. The names are read when the station begins to own the plans, the texts when they are
// wanted. Changed by commands (flow_change.h). proto/flows.md 18.17.
#pragma once

#include "station_state.h"
#include "flow_cache.h"
#include "flow_names.h"
#include "flow_parser.h"

void flow_book_start (struct station *self);

// No more reads: all that wait for a definition are answered. Before the store ends.
void flow_book_quit (struct station *self);

// Definitions that are held are gone with it.
void flow_book_stop (struct station *self);

// Read the names; then call.
void flow_book_load (struct station *self, void (*then) (struct station *self));

// Read them again, as it is not known what was written.
void flow_book_look (struct station *self);

// Whether plans of this name are flow plans. A target hides a flow of its name.
bool flow_book_has (const struct station *self, struct span name);

// Whether a plan of this name may be submitted: it is such a flow, and is not being removed.
bool flow_book_takes (const struct station *self, struct span name);

// Whether no target may have this name: a flow has it, or is about to.
bool flow_book_claims (const struct station *self, struct span name);

// The version in use; 0 = there is none.
int flow_book_version (const struct station *self, struct span name);

// The definition; it is borrowed for the call, and stays when it is held in it. NULL: `reason` says
// why. Redis being away is no reason: the call waits.
typedef void flow_book_fn (void *owner, const struct flow *flow, int version, const char *reason);

// A version, 0 = the one in use. Answered once, and never inside the call.
void flow_book_get (struct station *self, const char *name, int version, flow_book_fn *reply,
                    void *owner);

// A definition that is in memory; NULL: it has to be got. Version 0 = the one in use.
const struct flow *flow_book_find (struct station *self, struct span name, int version);

// Definitions never change. One that was held stays until it is released as often. Returns it.
const struct flow *flow_book_hold (struct station *self, const struct flow *flow);
void flow_book_release (struct station *self, const struct flow *flow);

// -- for the commands

struct flow_book {
    struct station *station;
    struct flow_names names;
    struct flow_cache cache;
    struct flow_parser *parser; // NULL: the station stops
    struct flow_load *loads;    // definitions that are being read
    struct flow_wait *ready, **last_ready;
    struct task answer; // the waits that are ready
    bool loading;       // the names are being read
    bool load_again;    // they may have changed meanwhile
    void (*then) (struct station *self);
    char claimed[FLOW_NAME_MAX + 1];   // a flow of this name is about to be put; "" = none
    char removing[FLOW_NAME_MAX + 1];  // this one is about to be removed
    struct flow_change *first, **last; // changes, the first of which is in progress
    bool changing;                     // the first change has begun
    struct task change;                // begin the first change
};

// What a definition may refer to now.
void flow_book_known (const struct station *self, struct flow_known *ret);

// This flow is as the entry says, whose facts are taken over. `flow`, compiled of `version`, is
// taken over too; NULL: there is none.
void flow_book_put (struct station *self, struct flow_entry *entry, struct flow *flow, int version,
                    size_t text_size);

// There is no such flow any more.
void flow_book_remove (struct station *self, const char *name);

// This version is not kept any more.
void flow_book_forget (struct station *self, const char *name, int version);
