#include "flow_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "utf8.h"

enum {
    NODES_MAX = 10000,
    EDGES_MAX = 50000,
    NODE_TEXT_SIZE = 64 // bytes of the text after a name, and of an edge's `on`
};

struct node_texts {
    char what[NODE_TEXT_SIZE], join[24];
};

struct flow_graph {
    struct graph graph;
    const json_t *definition, *steps;
    struct graph_node *nodes;
    struct node_texts *texts; // one for each node
    struct graph_edge *edges;
    char (*edge_ons)[NODE_TEXT_SIZE]; // the `on` of each edge
    flow_graph_is_flow *is_flow;
    const void *context;
    struct reason *reason;
};

// -- steps

// The field of a step; if the step has none, that of `defaults`.
static const json_t *step_field_or_default (const struct flow_graph *self, const json_t *step,
                                            const char *name)
{
    const json_t *own = json_object_get (step, name);
    return own ? own : json_object_get (json_object_get (self->definition, "defaults"), name);
}

// The target of a step; NULL: it calls nothing. A target in `defaults` applies only to steps with
// fields of a call.
static const char *step_call_target (const struct flow_graph *self, const json_t *step)
{
    static const char *const fields[] = {"target", "command", "args", "json", "text", "for_each"};
    if (json_object_get (step, "wait") || json_object_get (step, "signal"))
        return NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (json_object_get (step, fields[i]))
            return json_string_value (step_field_or_default (self, step, "target"));
    return NULL;
}

// Copy a text, or as many whole characters of it as fit.
static void copy_whole_characters (const char *text, char out[NODE_TEXT_SIZE])
{
    out[span_put (out, 0, utf8_cut (span_text (text), NODE_TEXT_SIZE - 1))] = '\0';
}

// Write the texts of a list after `first`, separated by `between`, as far as there is room.
static void join_words (const json_t *list, const char *first, const char *between, char *out,
                        size_t room)
{
    size_t i, size = 0;
    const json_t *word;
    *out = '\0';
    json_array_foreach (list, i, word)
    {
        if (json_is_string (word) && size < NODE_TEXT_SIZE)
            size += (size_t)snprintf (out + size, room - size, "%s%s", i ? between : first,
                                      json_string_value (word));
    }
}

static void describe_wait (const json_t *wait, char out[NODE_TEXT_SIZE])
{
    int64_t seconds = json_integer_value (wait);
    if (json_is_string (wait))
        copy_whole_characters (json_string_value (wait), out);
    else if (seconds % 3600 == 0)
        snprintf (out, NODE_TEXT_SIZE, "%" PRId64 " h", seconds / 3600);
    else if (seconds % 60 == 0)
        snprintf (out, NODE_TEXT_SIZE, "%" PRId64 " min", seconds / 60);
    else
        snprintf (out, NODE_TEXT_SIZE, "%" PRId64 " s", seconds);
}

static void describe_signal (const json_t *signal, char out[NODE_TEXT_SIZE])
{
    char text[2 * NODE_TEXT_SIZE];
    join_words (json_object_get (signal, "who"), "of ", ", ", text, sizeof text);
    copy_whole_characters (text, out);
}

static void describe_call (const struct flow_graph *self, const json_t *step, const char *target,
                           struct graph_node *node, struct node_texts *texts)
{
    if (step_field_or_default (self, step, "for_each"))
        node->kind = GRAPH_EACH;
    else if (self->is_flow && self->is_flow (self->context, target))
        node->kind = GRAPH_FLOW;
    else
        node->kind = GRAPH_CALL;
    copy_whole_characters (target, texts->what);
}

static void add_graph_node (struct flow_graph *self, const char *name, const json_t *step)
{
    struct node_texts *texts = &self->texts[self->graph.node_count];
    struct graph_node *node = &self->nodes[self->graph.node_count++];
    const char *target = step_call_target (self, step);
    const char *last = json_string_value (json_object_get (self->definition, "finally"));
    const json_t *join = step_field_or_default (self, step, "join");
    *node = (struct graph_node){.name = name, .kind = GRAPH_COMPUTE, .what = texts->what};
    if (json_object_get (step, "wait")) {
        node->kind = GRAPH_WAIT;
        describe_wait (json_object_get (step, "wait"), texts->what);
    } else if (json_object_get (step, "signal")) {
        node->kind = GRAPH_SIGNAL;
        describe_signal (json_object_get (step, "signal"), texts->what);
    } else if (target)
        describe_call (self, step, target, node, texts);
    if (json_is_integer (join))
        snprintf (texts->join, sizeof texts->join, "%" JSON_INTEGER_FORMAT,
                  json_integer_value (join));
    else if (json_is_string (join) && strcmp (json_string_value (join), "all") != 0)
        snprintf (texts->join, sizeof texts->join, "%s", json_string_value (join));
    node->join = *texts->join ? texts->join : NULL;
    node->is_finally = last && strcmp (last, name) == 0;
}

// -- edges

static bool reject_definition (struct flow_graph *self, const char *rule, const char *name)
{
    reason_set (self->reason, "%s: %s", quoted (span_text (name ? name : "")), rule);
    return false;
}

// Write the `on` of an edge as "failed,ended". NULL: it is the default, finished.
static const char *describe_on_edge (const json_t *on, char out[NODE_TEXT_SIZE])
{
    join_words (on, "", ",", out, NODE_TEXT_SIZE);
    if (json_is_string (on))
        snprintf (out, NODE_TEXT_SIZE, "%s", json_string_value (on));
    return *out && strcmp (out, "finished") != 0 ? out : NULL;
}

// Find the position of a step in the definition, in `places`, as jansson does not provide it.
// False: there is no such step.
static bool find_step_position (const json_t *places, const char *name, uint32_t *ret)
{
    const json_t *place = name ? json_object_get (places, name) : NULL;
    *ret = (uint32_t)json_integer_value (place);
    return place;
}

static bool add_graph_edge (struct flow_graph *self, const json_t *places, const char *source,
                            const char *target, const json_t *on)
{
    struct graph_edge *edge = &self->edges[self->graph.edge_count];
    if (self->graph.edge_count == EDGES_MAX)
        return reject_definition (self, "more than 50000 edges", target);
    if (!find_step_position (places, source, &edge->source))
        return reject_definition (self, "no such step", source);
    if (!find_step_position (places, target, &edge->target))
        return reject_definition (self, "no such step", target);
    edge->on = describe_on_edge (on, self->edge_ons[self->graph.edge_count++]);
    return !edge->on || strspn (edge->on, "abcdefghijklmnopqrstuvwxyz,") == strlen (edge->on) ||
           reject_definition (self, "on: want finished, failed, caught, ended or skipped", target);
}

// Add the edges of the `after` of all steps. False: rejected, with the reason.
static bool add_after_edges (struct flow_graph *self, const json_t *places)
{
    for (uint32_t node = 0; node < self->graph.node_count; node++) {
        const char *name = self->nodes[node].name;
        const json_t *after = json_object_get (json_object_get (self->steps, name), "after"),
                     *entry;
        size_t i;
        json_array_foreach (after, i, entry)
        {
            const json_t *step = json_is_string (entry) ? entry : json_object_get (entry, "step");
            if (!add_graph_edge (self, places, json_string_value (step), name,
                                 json_object_get (entry, "on")))
                return false;
        }
    }
    return true;
}

// Add the edges of the `edges` of the flow. False: rejected, with the reason.
static bool add_listed_edges (struct flow_graph *self, const json_t *places)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (json_object_get (self->definition, "edges"), i, entry)
    {
        if (!add_graph_edge (self, places, json_string_value (json_object_get (entry, "source")),
                             json_string_value (json_object_get (entry, "target")),
                             json_object_get (entry, "on")))
            return false;
    }
    return true;
}

// -- the graph

// Whether the text can be the name of a flow. Names of steps follow the same rule without dots.
static bool is_flow_name (const char *text)
{
    size_t size = strnlen (text, 65);
    return size > 0 && size < 65 &&
           strspn (text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") ==
               size;
}

// Drop the joins of steps without edges: a join in `defaults` does not apply to them.
static void drop_default_joins (struct flow_graph *self)
{
    bool *joined = memory_new (self->graph.node_count + 1);
    for (uint32_t i = 0; i < self->graph.edge_count; i++)
        joined[self->edges[i].target] = true;
    for (uint32_t i = 0; i < self->graph.node_count; i++)
        if (!joined[i])
            self->nodes[i].join = NULL;
    free (joined);
}

static bool read_definition_graph (struct flow_graph *self, json_t *places)
{
    const char *name;
    json_t *step;
    size_t count = json_object_size (self->steps);
    if (!self->graph.name || !is_flow_name (self->graph.name))
        return reject_definition (self, "want a name of 1 to 64 of A-Z a-z 0-9 _ . -", "flow");
    if (count == 0 || count > NODES_MAX)
        return reject_definition (self, "want an object of 1 to 10000 steps", "steps");
    self->nodes = memory_new (count * sizeof *self->nodes);
    self->texts = memory_new (count * sizeof *self->texts);
    json_object_foreach ((json_t *)(uintptr_t)self->steps, name, step)
    {
        if (!is_flow_name (name) || strchr (name, '.'))
            return reject_definition (self, "want a name of 1 to 64 of A-Z a-z 0-9 _ -", name);
        if (!json_is_object (step))
            return reject_definition (self, "want an object", name);
        json_object_set_new (places, name, json_integer (self->graph.node_count));
        add_graph_node (self, name, step);
    }
    if (!add_after_edges (self, places) || !add_listed_edges (self, places))
        return false;
    drop_default_joins (self);
    self->graph.nodes = self->nodes;
    self->graph.edges = self->edges;
    return !graph_has_cycle (&self->graph) ||
           reject_definition (self, "its edges are a cycle", "steps");
}

struct flow_graph *flow_graph_new (const json_t *definition, flow_graph_is_flow *is_flow,
                                   const void *context, struct reason *reason)
{
    struct flow_graph *self = memory_new (sizeof *self);
    *self =
        (struct flow_graph){.graph.name = json_string_value (json_object_get (definition, "flow")),
                            .definition = definition,
                            .steps = json_object_get (definition, "steps"),
                            .edges = memory_new (EDGES_MAX * sizeof *self->edges),
                            .edge_ons = memory_new (EDGES_MAX * sizeof *self->edge_ons),
                            .is_flow = is_flow,
                            .context = context,
                            .reason = reason};
    json_t *places = json_object ();
    if (!read_definition_graph (self, places))
        flow_graph_destroy (&self);
    json_decref (places);
    return self;
}

void flow_graph_destroy (struct flow_graph **self)
{
    if (!*self)
        return;
    free ((*self)->nodes);
    free ((*self)->texts);
    free ((*self)->edges);
    free ((*self)->edge_ons);
    free (*self);
    *self = NULL;
}

void flow_graph_set_state (struct flow_graph *self, size_t index, const char *name,
                           const char *state)
{
    size_t count = name ? self->graph.node_count : 0;
    if (index < count && strcmp (self->nodes[index].name, name) != 0)
        index = count;
    for (size_t i = 0; index >= count && i < count; i++)
        if (strcmp (self->nodes[i].name, name) == 0)
            index = i;
    if (index < count)
        self->nodes[index].state = state;
}

const struct graph *flow_graph_of (const struct flow_graph *self)
{
    return &self->graph;
}
