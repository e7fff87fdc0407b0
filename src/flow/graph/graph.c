#include "graph.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "memory.h"

enum { LINE_PART_MAX = 512 };

__attribute__ ((format (printf, 2, 3))) static void write_formatted (struct json_text *out,
                                                                     const char *format, ...)
{
    char part[LINE_PART_MAX];
    va_list values;
    va_start (values, format);
    vsnprintf (part, sizeof part, format, values);
    va_end (values);
    json_text_raw (out, span_text (part));
}

// -- states

static const struct {
    const char *state;
    char letter;
    const char *fill; // fill color for Graphviz and Mermaid
} states[] = {
    {"none", '.', "#ffffff"},      {"new", 'N', "#e8f0ff"},      {"accepted", 'A', "#bfd7ff"},
    {"running", 'R', "#8fbcff"},   {"finished", 'F', "#b9e6b3"}, {"failed", 'X', "#f5a3a3"},
    {"cancelled", 'C', "#f0c9a0"}, {"skipped", 'S', "#dddddd"},  {"blocked", 'B', "#f7d4d4"}};

enum { STATES = sizeof states / sizeof *states };

// The index of a state in `states`; STATES: there is no such state.
static size_t find_state_index (const char *state)
{
    size_t i = 0;
    while (state && i < STATES && strcmp (states[i].state, state) != 0)
        i++;
    return state ? i : STATES;
}

char graph_state_letter (const char *state)
{
    size_t at = find_state_index (state);
    return at < STATES ? states[at].letter : '\0';
}

const char *graph_state_of (char letter)
{
    for (size_t i = 0; i < STATES; i++)
        if (states[i].letter == letter)
            return states[i].state;
    return NULL;
}

static void write_legend (struct json_text *out, const struct graph *graph)
{
    bool used[STATES + 1] = {false}, first = true;
    for (uint32_t i = 0; i < graph->node_count; i++)
        used[find_state_index (graph->nodes[i].state)] = true;
    for (size_t i = 0; i < STATES; i++) {
        if (!used[i])
            continue;
        write_formatted (out, "%s%c %s", first ? "\n" : ", ", states[i].letter, states[i].state);
        first = false;
    }
    if (!first)
        write_formatted (out, "\n");
}

// -- layers

// The edges into, or out of, each node, in their given order.
struct incident {
    uint32_t *first; // where the edges of each node begin in `edges`; one more entry for the end
    uint32_t *edges;
};

static struct incident incident_new (const struct graph *graph, bool into)
{
    struct incident self = {memory_new ((graph->node_count + 2) * sizeof (uint32_t)),
                            memory_new ((graph->edge_count + 1) * sizeof (uint32_t))};
    for (uint32_t i = 0; i < graph->edge_count; i++)
        self.first[2 + (into ? graph->edges[i].target : graph->edges[i].source)]++;
    for (uint32_t i = 2; i < graph->node_count + 2; i++)
        self.first[i] += self.first[i - 1];
    for (uint32_t i = 0; i < graph->edge_count; i++)
        self.edges[self.first[1 + (into ? graph->edges[i].target : graph->edges[i].source)]++] = i;
    return self;
}

static void incident_free (struct incident *self)
{
    free (self->first);
    free (self->edges);
}

// The layer of each node, from 1: the length of its longest path from a root. `finally` is below
// all others. A new array; NULL: there is a cycle.
static uint32_t *node_layers_new (const struct graph *graph, uint32_t *ret_count)
{
    uint32_t *layers = memory_new ((graph->node_count + 1) * sizeof *layers);
    uint32_t *open = memory_new ((graph->node_count + 1) * sizeof *open);
    uint32_t *queue = memory_new ((graph->node_count + 1) * sizeof *queue);
    struct incident out = incident_new (graph, false);
    uint32_t end = 0, deepest = 0;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        open[graph->edges[i].target]++;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (!open[i]) {
            layers[i] = 1;
            queue[end++] = i;
        }
    for (uint32_t at = 0; at < end; at++) {
        uint32_t node = queue[at];
        deepest = layers[node] > deepest ? layers[node] : deepest;
        for (uint32_t i = out.first[node]; i < out.first[node + 1]; i++) {
            uint32_t target = graph->edges[out.edges[i]].target;
            if (layers[target] <= layers[node])
                layers[target] = layers[node] + 1;
            if (--open[target] == 0)
                queue[end++] = target;
        }
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].is_finally && graph->node_count > 1)
            layers[i] = deepest = deepest + 1;
    incident_free (&out);
    free (queue);
    free (open);
    if (end < graph->node_count) {
        free (layers);
        return NULL;
    }
    *ret_count = deepest;
    return layers;
}

bool graph_has_cycle (const struct graph *graph)
{
    uint32_t count, *layers = node_layers_new (graph, &count);
    free (layers);
    return !layers;
}

// The indices of the nodes sorted by layer, and within a layer in their given order, as a new
// array.
static uint32_t *sort_by_layer (const struct graph *graph, const uint32_t *layers, uint32_t count)
{
    uint32_t *first = memory_new ((count + 2) * sizeof *first);
    uint32_t *order = memory_new ((graph->node_count + 1) * sizeof *order);
    for (uint32_t i = 0; i < graph->node_count; i++)
        first[layers[i] + 1]++;
    for (uint32_t i = 1; i < count + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < graph->node_count; i++)
        order[first[layers[i]]++] = i;
    free (first);
    return order;
}

// Write what a node does: "jobs, each item", "flow etl", "wait 1 h".
static void describe_node (const struct graph_node *node, char out[LINE_PART_MAX])
{
    static const char *const words[] = {
        [GRAPH_CALL] = "",     [GRAPH_EACH] = "",         [GRAPH_FLOW] = "flow",
        [GRAPH_WAIT] = "wait", [GRAPH_SIGNAL] = "signal", [GRAPH_COMPUTE] = "computes"};
    const char *word = words[node->kind], *what = node->what ? node->what : "";
    snprintf (out, LINE_PART_MAX, "%s%s%s%s", word, *word && *what ? " " : "", what,
              node->kind == GRAPH_EACH ? ", each item" : "");
}

// The widths of the columns of names and texts. They are limited: a longer text shifts only its own
// line.
static void column_widths (const struct graph *graph, int *ret_name, int *ret_what)
{
    enum { NAME_MAX_WIDTH = 32, WHAT_MAX_WIDTH = 28 };
    int name = 0, what = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        char text[LINE_PART_MAX];
        describe_node (&graph->nodes[i], text);
        int name_size = (int)strlen (graph->nodes[i].name), what_size = (int)strlen (text);
        name = name_size > name && name_size <= NAME_MAX_WIDTH ? name_size : name;
        what = what_size > what && what_size <= WHAT_MAX_WIDTH ? what_size : what;
    }
    *ret_name = name;
    *ret_what = what;
}

static void write_sources (struct json_text *out, const struct graph *graph,
                           const struct incident *into, uint32_t node)
{
    uint32_t first = into->first[node], end = into->first[node + 1];
    if (graph->nodes[node].is_finally)
        write_formatted (out, "  finally");
    for (uint32_t i = first; i < end; i++) {
        const struct graph_edge *edge = &graph->edges[into->edges[i]];
        const char *join = graph->nodes[node].join;
        write_formatted (out, "%s%s%s%s", i == first ? "  after " : ", ",
                         i == first && join ? join : "", i == first && join ? " of " : "",
                         graph->nodes[edge->source].name);
        if (edge->on)
            write_formatted (out, " (%s)", edge->on);
    }
}

char *graph_layers (const struct graph *graph, size_t *ret_size)
{
    struct json_text out;
    uint32_t count;
    int name, what;
    uint32_t *layers = node_layers_new (graph, &count);
    assert (layers);
    uint32_t *order = sort_by_layer (graph, layers, count);
    struct incident into = incident_new (graph, true);
    json_text_start (&out, 256 + 96 * (size_t)graph->node_count);
    column_widths (graph, &name, &what);
    write_formatted (&out, "%s: %u %s, %u %s, %u %s\n\n", graph->name, graph->node_count,
                     graph->node_count == 1 ? "step" : "steps", graph->edge_count,
                     graph->edge_count == 1 ? "edge" : "edges", count,
                     count == 1 ? "layer" : "layers");
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t node = order[i];
        char text[LINE_PART_MAX];
        describe_node (&graph->nodes[node], text);
        if (i == 0 || layers[node] != layers[order[i - 1]])
            write_formatted (&out, "%5u  ", layers[node]);
        else
            write_formatted (&out, "       ");
        if (graph->nodes[node].state)
            write_formatted (&out, "%c ",
                             graph_state_letter (graph->nodes[node].state)
                                 ? graph_state_letter (graph->nodes[node].state)
                                 : '?');
        write_formatted (&out, "%-*s  %-*s", name, graph->nodes[node].name, what, text);
        write_sources (&out, graph, &into, node);
        while (out.bytes[out.size - 1] == ' ')
            out.size--;
        write_formatted (&out, "\n");
    }
    write_legend (&out, graph);
    incident_free (&into);
    free (order);
    free (layers);
    return json_text_end (&out, ret_size);
}

// -- for programs that draw

// Make a text safe inside quotes. DOT and Mermaid have different escapes, so special and control
// characters are replaced by '.
static const char *quoted_label (const char *text, char out[LINE_PART_MAX])
{
    size_t size = 0;
    for (; *text && size < LINE_PART_MAX - 1; text++)
        out[size++] = *text == '"' || *text == '\\' || (unsigned char)*text < ' ' || *text == 0x7f
                          ? '\''
                          : *text;
    out[size] = '\0';
    return out;
}

// Make a text safe for a label of Mermaid, which is HTML.
static const char *escaped_label (const char *text, char out[LINE_PART_MAX])
{
    static const char *const marks[] = {['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;"};
    char safe[LINE_PART_MAX];
    size_t size = 0;
    for (const char *at = quoted_label (text, safe); *at && size < LINE_PART_MAX - 8; at++) {
        unsigned char byte = (unsigned char)*at;
        const char *mark = byte < sizeof marks / sizeof *marks ? marks[byte] : NULL;
        if (mark)
            size += (size_t)snprintf (out + size, LINE_PART_MAX - size, "%s", mark);
        else
            out[size++] = *at;
    }
    out[size] = '\0';
    return out;
}

char *graph_dot (const struct graph *graph, size_t *ret_size)
{
    static const char *const shapes[] = {
        [GRAPH_CALL] = "box",     [GRAPH_EACH] = "box3d",     [GRAPH_FLOW] = "folder",
        [GRAPH_WAIT] = "ellipse", [GRAPH_SIGNAL] = "hexagon", [GRAPH_COMPUTE] = "plaintext"};
    struct json_text out;
    json_text_start (&out, 256 + 96 * (size_t)graph->node_count);
    write_formatted (&out, "digraph \"%s\" {\n    rankdir=TB;\n    node [shape=box];\n",
                     graph->name);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        char text[LINE_PART_MAX], safe[LINE_PART_MAX];
        describe_node (node, text);
        write_formatted (&out, "    \"%s\" [label=\"%s", node->name, node->name);
        if (*text)
            write_formatted (&out, "\\n%s", quoted_label (text, safe));
        if (node->join)
            write_formatted (&out, "\\n%s of its sources", node->join);
        if (node->state)
            write_formatted (&out, "\\n%s", quoted_label (node->state, safe));
        write_formatted (&out, "\", shape=%s", shapes[node->kind]);
        if (find_state_index (node->state) < STATES)
            write_formatted (&out, ", style=\"filled%s\", fillcolor=\"%s\"];\n",
                             node->is_finally ? ",dashed" : "",
                             states[find_state_index (node->state)].fill);
        else
            write_formatted (&out, "%s];\n", node->is_finally ? ", style=dashed" : "");
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct graph_edge *edge = &graph->edges[i];
        write_formatted (&out, "    \"%s\" -> \"%s\"", graph->nodes[edge->source].name,
                         graph->nodes[edge->target].name);
        if (edge->on)
            write_formatted (&out, " [label=\"%s\", style=dashed]", edge->on);
        write_formatted (&out, ";\n");
    }
    write_formatted (&out, "}\n");
    return json_text_end (&out, ret_size);
}

char *graph_mermaid (const struct graph *graph, size_t *ret_size)
{
    static const char *const forms[][2] = {
        [GRAPH_CALL] = {"[", "]"},   [GRAPH_EACH] = {"[[", "]]"},   [GRAPH_FLOW] = {"[/", "/]"},
        [GRAPH_WAIT] = {"([", "])"}, [GRAPH_SIGNAL] = {"{{", "}}"}, [GRAPH_COMPUTE] = {"(", ")"}};
    struct json_text out;
    json_text_start (&out, 256 + 96 * (size_t)graph->node_count);
    write_formatted (&out, "flowchart TB\n");
    // Steps are numbered, as some names are keywords of Mermaid: end, graph.
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        char text[LINE_PART_MAX], safe[LINE_PART_MAX];
        describe_node (node, text);
        write_formatted (&out, "    s%u%s\"%s", i, forms[node->kind][0], node->name);
        if (*text)
            write_formatted (&out, "<br>%s", escaped_label (text, safe));
        if (node->join)
            write_formatted (&out, "<br>%s of its sources", node->join);
        if (node->is_finally)
            write_formatted (&out, "<br>finally");
        if (node->state)
            write_formatted (&out, "<br>%s", escaped_label (node->state, safe));
        write_formatted (&out, "\"%s\n", forms[node->kind][1]);
        if (find_state_index (node->state) < STATES)
            write_formatted (&out, "    style s%u fill:%s\n", i,
                             states[find_state_index (node->state)].fill);
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct graph_edge *edge = &graph->edges[i];
        if (edge->on)
            write_formatted (&out, "    s%u -. %s .-> s%u\n", edge->source, edge->on, edge->target);
        else
            write_formatted (&out, "    s%u --> s%u\n", edge->source, edge->target);
    }
    return json_text_end (&out, ret_size);
}
