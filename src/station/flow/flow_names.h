// The flows that there are: their versions, and what is known of the version in use without its
// text. Sorted by name. Pure.
#pragma once

#include "flow.h"

enum { FLOW_NAMES_MAX = 10000, FLOW_INFO_BECAUSE_MAX = 10 };

// The facts of the version in use, and which flows it calls. Never changed: a thread may read it.
struct flow_facts {
    size_t holders;
    struct flow_report report; // `because` short, no warnings
    uint64_t own_calls;        // without those within sub-flows
    uint32_t steps;
    struct flow_calls {
        char name[FLOW_NAME_MAX + 1];
        uint64_t times;
    } * calls;
    size_t call_count;
};

struct flow_entry {
    char name[FLOW_NAME_MAX + 1];
    int use, last;
    int64_t updated;          // Unix seconds
    struct flow_facts *facts; // NULL: not known, as it was edited by hand
};

struct flow_names {
    struct flow_entry *entries;
    size_t count, room;
};

// A copy that a thread may read while the first is changed; it shares the facts.
void flow_names_copy (struct flow_names *self, const struct flow_names *from);
void flow_names_clear (struct flow_names *self);

struct flow_entry *flow_names_find (const struct flow_names *self, struct span name);

// The place of the first name after this one.
size_t flow_names_after (const struct flow_names *self, struct span name);

// The entry of this name, a new one if there is none; until the next one is added or removed.
struct flow_entry *flow_names_add (struct flow_names *self, struct span name);
void flow_names_remove (struct flow_names *self, struct span name);

// Give the entry these facts, which are kept; NULL: none are known.
void flow_entry_take (struct flow_entry *self, struct flow_facts *facts);

struct flow_facts *flow_facts_of (const struct flow *flow);

// From and to the JSON that is stored. Free the text. NULL: not written by a station.
char *flow_facts_text (const struct flow_facts *self);
struct flow_facts *flow_facts_read (struct span text);
void flow_facts_release (struct flow_facts **self);

// Whether runs of `from` lead to runs of `to`.
bool flow_names_reach (const struct flow_names *self, struct span from, struct span to);

// Whether all flows stay within their bounds when this one has these facts. False: a caller does
// not, with the reason.
bool flow_names_fit (const struct flow_names *self, const char *name,
                     const struct flow_facts *facts, struct reason *reason);

// A flow that calls this one, not itself; NULL = none.
const struct flow_entry *flow_names_caller (const struct flow_names *self, struct span name);

// Compute the calls and the depth of all again, as those that they call have changed.
void flow_names_renew (struct flow_names *self);
