// The graph of a flow's definition.
#pragma once

#include <jansson.h>

#include "graph.h"
#include "reason.h"

struct flow_graph;

// Whether a target is a flow.
typedef bool flow_graph_is_flow (const void *context, const char *target);

// Of a definition as JSON, which stays the caller's and must outlive the graph. Only what a graph
// needs is judged: that there are steps, that edges lead from one to another, without a cycle.
// `is_flow` NULL: no target is. NULL with a reason.
struct flow_graph *flow_graph_new (const json_t *definition, flow_graph_is_flow *is_flow,
                                   const void *context, struct reason *reason);
void flow_graph_destroy (struct flow_graph **self);

// The state of a step in a run, borrowed. `index` is its place in the definition; where that is
// another step, the one of this name is meant.
void flow_graph_set_state (struct flow_graph *self, size_t index, const char *name,
                           const char *state);

// Lives as long as `self`.
const struct graph *flow_graph_of (const struct flow_graph *self);
