// A graph of steps as text: layers for a terminal, DOT and Mermaid for drawing programs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum graph_kind {
    GRAPH_CALL,
    GRAPH_EACH, // a call for each item
    GRAPH_FLOW, // a run of another flow
    GRAPH_WAIT,
    GRAPH_SIGNAL,
    GRAPH_COMPUTE
};

// Texts are borrowed. Names are those of steps: letters, digits, "_" and "-".
struct graph_node {
    const char *name;
    enum graph_kind kind;
    const char *what; // shown after the name: a target, a waiting time; NULL: nothing
    const char *join; // "any", "majority", a number; NULL: all
    bool is_finally;
    const char *state; // state of the step in a run, or "blocked"; NULL: this is not a run
};

// The letter of a state in graph_layers; '\0': there is no such state.
char graph_state_letter (const char *state);
// The state of a letter of graph_layers; NULL: there is no such letter.
const char *graph_state_of (char letter);

struct graph_edge {
    uint32_t source, target; // indices of nodes
    const char *on;          // states of the source, as "failed,ended"; NULL: finished
};

// At most 10000 nodes and 50000 edges. Only graph_has_cycle accepts a cycle.
struct graph {
    const char *name;
    const struct graph_node *nodes;
    uint32_t node_count;
    const struct graph_edge *edges;
    uint32_t edge_count;
};

bool graph_has_cycle (const struct graph *graph);

// Write one line per step, by layers: a step is one layer below the lowest of its sources. For a
// run, each name follows the letter of its state, and the letters are explained at the end. The
// text is NUL-terminated; release it with free ().
char *graph_layers (const struct graph *graph, size_t *ret_size);

// Write the graph for Graphviz; release the text with free ().
char *graph_dot (const struct graph *graph, size_t *ret_size);
// Write the graph for Mermaid; release the text with free ().
char *graph_mermaid (const struct graph *graph, size_t *ret_size);
