// A graph of steps as text: layers for a terminal, DOT and Mermaid for drawing programs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum graph_kind {
    GRAPH_CALL,
    GRAPH_EACH, // a call for each item
    GRAPH_FLOW, // a flow of its own
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
    const char *state; // of the step in a run, or "blocked"; NULL: not a run
};

// The letter of a state in graph_layers, and the state of a letter; '\0' and NULL: not valid.
char graph_state_letter (const char *state);
const char *graph_state_of (char letter);

struct graph_edge {
    uint32_t source, target; // indices of nodes
    const char *on;          // "failed,ended"; NULL: finished
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

// One line per step, by layers: a step is one layer below the lowest of its sources. For a run each
// name has the letter of its state in front, and the letters are explained at the end. The text is
// NUL-terminated; release it with free ().
char *graph_layers (const struct graph *graph, size_t *ret_size);

// The graph for Graphviz, and for Mermaid.
char *graph_dot (const struct graph *graph, size_t *ret_size);
char *graph_mermaid (const struct graph *graph, size_t *ret_size);
