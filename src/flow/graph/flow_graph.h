// The graph of a flow's definition.
#pragma once

#include <jansson.h>

#include "graph.h"
#include "reason.h"

struct flow_graph;

// Whether a target is a flow.
typedef bool flow_graph_is_flow (const void *context, const char *target);

// Make the graph of a definition, which is borrowed and must outlive it. Only what a graph needs is
// checked: there are steps, edges connect steps, and there is no cycle. `is_flow` NULL: no target
// is a flow. NULL: not valid, with the reason.
struct flow_graph *flow_graph_new (const json_t *definition, flow_graph_is_flow *is_flow,
                                   const void *context, struct reason *reason);
void flow_graph_destroy (struct flow_graph **self);

// Set the state of a step in a run; the text is borrowed. `index` is the position of the step in
// the definition; if another step is there, the step is found by its name.
void flow_graph_set_state (struct flow_graph *self, size_t index, const char *name,
                           const char *state);

// The graph, which lives as long as `self`.
const struct graph *flow_graph_of (const struct flow_graph *self);
