// All flows, sorted by name: their versions, and facts about the version in use that are available
// without its text. Pure.
#pragma once

#include "flow.h"

enum { FLOW_NAMES_MAX = 10000, FLOW_INFO_BECAUSE_MAX = 10 };

// Facts about the version of a flow that is in use, and the flows that it calls. Immutable: other
// threads may read it.
struct flow_facts {
    size_t holders;
    struct flow_report
        report; // with at most FLOW_INFO_BECAUSE_MAX texts in `because`, and without warnings
    uint64_t own_calls; // maximum calls of a run, without those of sub-flows
    uint32_t steps;
    struct flow_calls {
        char name[FLOW_NAME_MAX + 1];
        uint64_t times;
    } * calls;
    size_t call_count;
};

struct flow_entry {
    char name[FLOW_NAME_MAX + 1];
    int use, last;            // the version in use (0: unknown), and the last version
    int64_t updated;          // Unix seconds
    struct flow_facts *facts; // NULL: unknown, as the stored flow was edited by hand
};

struct flow_names {
    struct flow_entry *entries;
    size_t count, room;
};

// Copy the names for another thread, which may read the copy while the original changes; the copy
// and the original share the facts.
void flow_names_copy (struct flow_names *self, const struct flow_names *from);
void flow_names_clear (struct flow_names *self);

// Find the entry of this name; NULL: none. Valid until an entry is added or removed.
struct flow_entry *flow_names_find (const struct flow_names *self, struct span name);

// The index of the first name that sorts after this one.
size_t flow_names_after (const struct flow_names *self, struct span name);

// Find or create the entry of this name. Valid until an entry is added or removed.
struct flow_entry *flow_names_add (struct flow_names *self, struct span name);
void flow_names_remove (struct flow_names *self, struct span name);

// Replace the facts of the entry; takes over one hold of `facts`. NULL: unknown.
void flow_entry_set_facts (struct flow_entry *self, struct flow_facts *facts);

// Make the facts about a definition, with one hold.
struct flow_facts *flow_facts_of (const struct flow *flow);

// Write the facts as the JSON that Redis stores; free the text.
char *flow_facts_text (const struct flow_facts *self);
// Read facts from the stored JSON, with one hold; NULL: not valid.
struct flow_facts *flow_facts_read (struct span text);
// Release one hold of the facts; the last one frees them.
void flow_facts_release (struct flow_facts **self);

// Whether a run of `from` may call `to`, directly or through other flows.
bool flow_names_lead_to (const struct flow_names *self, struct span from, struct span to);

// Whether all flows that call this one, directly or not, stay within their limits if it has these
// facts. False: one does not, which the reason names.
bool flow_names_check_limits (const struct flow_names *self, const char *name,
                              const struct flow_facts *facts, struct reason *reason);

// Find another flow that calls this one; NULL: none.
const struct flow_entry *flow_names_caller (const struct flow_names *self, struct span name);

// Recompute the maximum calls and depths of all flows, after a change of any flow.
void flow_names_recompute (struct flow_names *self);
