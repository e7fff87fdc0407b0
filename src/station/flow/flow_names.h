// All flows, sorted by name: their versions, and facts about the version in use that are available
// without its text. Pure.
#pragma once

#include "flow.h"

enum { FLOW_NAMES_MAX = 10000, FLOW_INFO_BECAUSE_MAX = 10 };

// Facts about the version in use, and the flows that it calls. Immutable: a thread may read it.
struct flow_facts {
    size_t holders;
    struct flow_report report; // `because` is truncated, there are no warnings
    uint64_t own_calls;        // calls, without those of sub-flows
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
    struct flow_facts *facts; // NULL: unknown, as the flow was edited by hand
};

struct flow_names {
    struct flow_entry *entries;
    size_t count, room;
};

// Make a copy that a thread may read while the original changes; both share the facts.
void flow_names_copy (struct flow_names *self, const struct flow_names *from);
void flow_names_clear (struct flow_names *self);

struct flow_entry *flow_names_find (const struct flow_names *self, struct span name);

// The index of the first name that sorts after this one.
size_t flow_names_after (const struct flow_names *self, struct span name);

// Find or create the entry of this name. Valid until an entry is added or removed.
struct flow_entry *flow_names_add (struct flow_names *self, struct span name);
void flow_names_remove (struct flow_names *self, struct span name);

// Replace the facts of the entry, which takes ownership; NULL: unknown.
void flow_entry_set_facts (struct flow_entry *self, struct flow_facts *facts);

struct flow_facts *flow_facts_of (const struct flow *flow);

// Convert to and from the stored JSON. Free the text. flow_facts_read returns NULL if it is
// invalid.
char *flow_facts_text (const struct flow_facts *self);
struct flow_facts *flow_facts_read (struct span text);
void flow_facts_release (struct flow_facts **self);

// Whether runs of `from` lead to runs of `to`.
bool flow_names_lead_to (const struct flow_names *self, struct span from, struct span to);

// Whether all flows that lead to this one stay within their limits if it has these facts. False:
// one does not, with the reason.
bool flow_names_check_limits (const struct flow_names *self, const char *name,
                              const struct flow_facts *facts, struct reason *reason);

// Another flow that calls this one; NULL = none.
const struct flow_entry *flow_names_caller (const struct flow_names *self, struct span name);

// Recompute the numbers of calls and the depths of all flows, after a change of any of them.
void flow_names_recompute (struct flow_names *self);
