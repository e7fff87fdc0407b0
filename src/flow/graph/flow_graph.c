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
    WORD_MAX = 64 // size of the text after a name, and of the words of an edge
};

struct node_words {
    char what[WORD_MAX], join[24];
};

struct flow_graph {
    struct graph graph;
    const json_t *definition, *steps;
    struct graph_node *nodes;
    struct node_words *words; // of the nodes
    struct graph_edge *edges;
    char (*ons)[WORD_MAX]; // of the edges
    flow_graph_is_flow *is_flow;
    const void *context;
    struct reason *reason;
};

// -- steps

// A field of a step, or of `defaults` if the step has none.
static const json_t *field_of (const struct flow_graph *self, const json_t *step, const char *name)
{
    const json_t *own = json_object_get (step, name);
    return own ? own : json_object_get (json_object_get (self->definition, "defaults"), name);
}

// The target of a step. A default target applies only to steps that call something.
static const char *target_of (const struct flow_graph *self, const json_t *step)
{
    static const char *const fields[] = {"target", "command", "args", "json", "text", "for_each"};
    if (json_object_get (step, "wait") || json_object_get (step, "signal"))
        return NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (json_object_get (step, fields[i]))
            return json_string_value (field_of (self, step, "target"));
    return NULL;
}

// Copy a text, or as many whole characters of it as fit.
static void copy_text (const char *text, char out[WORD_MAX])
{
    out[span_put (out, 0, utf8_cut (span_text (text), WORD_MAX - 1))] = '\0';
}

static void write_wait (const json_t *wait, char out[WORD_MAX])
{
    int64_t seconds = json_integer_value (wait);
    if (json_is_string (wait))
        copy_text (json_string_value (wait), out);
    else if (seconds % 3600 == 0)
        snprintf (out, WORD_MAX, "%" PRId64 " h", seconds / 3600);
    else if (seconds % 60 == 0)
        snprintf (out, WORD_MAX, "%" PRId64 " min", seconds / 60);
    else
        snprintf (out, WORD_MAX, "%" PRId64 " s", seconds);
}

static void write_signal (const json_t *signal, char out[WORD_MAX])
{
    const json_t *who = json_object_get (signal, "who"), *name;
    char text[2 * WORD_MAX] = "";
    size_t i, size = 0;
    json_array_foreach (who, i, name)
    {
        if (json_is_string (name) && size < WORD_MAX)
            size += (size_t)snprintf (text + size, sizeof text - size, "%s%s", i ? ", " : "of ",
                                      json_string_value (name));
    }
    copy_text (text, out);
}

static void describe_call (const struct flow_graph *self, const json_t *step, const char *target,
                           struct graph_node *node, struct node_words *words)
{
    if (field_of (self, step, "for_each"))
        node->kind = GRAPH_EACH;
    else if (self->is_flow && self->is_flow (self->context, target))
        node->kind = GRAPH_FLOW;
    else
        node->kind = GRAPH_CALL;
    copy_text (target, words->what);
}

static void node_add (struct flow_graph *self, const char *name, const json_t *step)
{
    struct node_words *words = &self->words[self->graph.node_count];
    struct graph_node *node = &self->nodes[self->graph.node_count++];
    const char *target = target_of (self, step);
    const char *last = json_string_value (json_object_get (self->definition, "finally"));
    const json_t *join = field_of (self, step, "join");
    *node = (struct graph_node){.name = name, .kind = GRAPH_COMPUTE, .what = words->what};
    if (json_object_get (step, "wait")) {
        node->kind = GRAPH_WAIT;
        write_wait (json_object_get (step, "wait"), words->what);
    } else if (json_object_get (step, "signal")) {
        node->kind = GRAPH_SIGNAL;
        write_signal (json_object_get (step, "signal"), words->what);
    } else if (target)
        describe_call (self, step, target, node, words);
    if (json_is_integer (join))
        snprintf (words->join, sizeof words->join, "%" JSON_INTEGER_FORMAT,
                  json_integer_value (join));
    else if (json_is_string (join) && strcmp (json_string_value (join), "all") != 0)
        snprintf (words->join, sizeof words->join, "%s", json_string_value (join));
    node->join = *words->join ? words->join : NULL;
    node->is_finally = last && strcmp (last, name) == 0;
}

// -- edges

static bool refuse (struct flow_graph *self, const char *rule, const char *name)
{
    reason_set (self->reason, "%s: %s", quoted (span_text (name ? name : "")), rule);
    return false;
}

// The words of an edge, as "failed,ended"; NULL if it waits only for the default.
static const char *on_words (const json_t *on, char out[WORD_MAX])
{
    size_t i, size = 0;
    const json_t *word;
    *out = '\0';
    if (json_is_string (on))
        snprintf (out, WORD_MAX, "%s", json_string_value (on));
    json_array_foreach (on, i, word)
    {
        if (json_is_string (word) && size < WORD_MAX)
            size += (size_t)snprintf (out + size, WORD_MAX - size, "%s%s", i ? "," : "",
                                      json_string_value (word));
    }
    return *out && strcmp (out, "finished") != 0 ? out : NULL;
}

// The position of a step in the definition, by `places`, as jansson does not provide it.
static bool place_of (const json_t *places, const char *name, uint32_t *ret)
{
    const json_t *place = name ? json_object_get (places, name) : NULL;
    *ret = (uint32_t)json_integer_value (place);
    return place;
}

static bool edge_add (struct flow_graph *self, const json_t *places, const char *source,
                      const char *target, const json_t *on)
{
    struct graph_edge *edge = &self->edges[self->graph.edge_count];
    if (self->graph.edge_count == EDGES_MAX)
        return refuse (self, "more than 50000 edges", target);
    if (!place_of (places, source, &edge->source))
        return refuse (self, "no such step", source);
    if (!place_of (places, target, &edge->target))
        return refuse (self, "no such step", target);
    edge->on = on_words (on, self->ons[self->graph.edge_count++]);
    return !edge->on || strspn (edge->on, "abcdefghijklmnopqrstuvwxyz,") == strlen (edge->on) ||
           refuse (self, "on: want finished, failed, caught, ended or skipped", target);
}

static bool edges_of_steps (struct flow_graph *self, const json_t *places)
{
    for (uint32_t node = 0; node < self->graph.node_count; node++) {
        const char *name = self->nodes[node].name;
        const json_t *after = json_object_get (json_object_get (self->steps, name), "after"), *one;
        size_t i;
        json_array_foreach (after, i, one)
        {
            const json_t *step = json_is_string (one) ? one : json_object_get (one, "step");
            if (!edge_add (self, places, json_string_value (step), name,
                           json_object_get (one, "on")))
                return false;
        }
    }
    return true;
}

static bool edges_beside (struct flow_graph *self, const json_t *places)
{
    const json_t *one;
    size_t i;
    json_array_foreach (json_object_get (self->definition, "edges"), i, one)
    {
        if (!edge_add (self, places, json_string_value (json_object_get (one, "source")),
                       json_string_value (json_object_get (one, "target")),
                       json_object_get (one, "on")))
            return false;
    }
    return true;
}

// -- both

static bool is_name (const char *text)
{
    size_t size = strnlen (text, 65);
    return size > 0 && size < 65 &&
           strspn (text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") ==
               size;
}

// A default join applies only to steps with edges.
static void drop_joins (struct flow_graph *self)
{
    bool *joined = memory_new (self->graph.node_count + 1);
    for (uint32_t i = 0; i < self->graph.edge_count; i++)
        joined[self->edges[i].target] = true;
    for (uint32_t i = 0; i < self->graph.node_count; i++)
        if (!joined[i])
            self->nodes[i].join = NULL;
    free (joined);
}

static bool graph_read (struct flow_graph *self, json_t *places)
{
    const char *name;
    json_t *step;
    size_t count = json_object_size (self->steps);
    if (!self->graph.name || !is_name (self->graph.name))
        return refuse (self, "want a name of 1 to 64 of A-Z a-z 0-9 _ . -", "flow");
    if (count == 0 || count > NODES_MAX)
        return refuse (self, "want an object of 1 to 10000 steps", "steps");
    self->nodes = memory_new (count * sizeof *self->nodes);
    self->words = memory_new (count * sizeof *self->words);
    json_object_foreach ((json_t *)(uintptr_t)self->steps, name, step)
    {
        if (!is_name (name) || strchr (name, '.'))
            return refuse (self, "want a name of 1 to 64 of A-Z a-z 0-9 _ -", name);
        if (!json_is_object (step))
            return refuse (self, "want an object", name);
        json_object_set_new (places, name, json_integer (self->graph.node_count));
        node_add (self, name, step);
    }
    if (!edges_of_steps (self, places) || !edges_beside (self, places))
        return false;
    drop_joins (self);
    self->graph.nodes = self->nodes;
    self->graph.edges = self->edges;
    return !graph_has_cycle (&self->graph) || refuse (self, "its edges are a cycle", "steps");
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
                            .ons = memory_new (EDGES_MAX * sizeof *self->ons),
                            .is_flow = is_flow,
                            .context = context,
                            .reason = reason};
    json_t *places = json_object ();
    if (!graph_read (self, places))
        flow_graph_destroy (&self);
    json_decref (places);
    return self;
}

void flow_graph_destroy (struct flow_graph **self)
{
    if (!*self)
        return;
    free ((*self)->nodes);
    free ((*self)->words);
    free ((*self)->edges);
    free ((*self)->ons);
    free (*self);
    *self = NULL;
}

void flow_graph_set_state (struct flow_graph *self, size_t index, const char *name,
                           const char *state)
{
    bool is_it =
        name && index < self->graph.node_count && strcmp (self->nodes[index].name, name) == 0;
    for (size_t i = 0; name && !is_it && i < self->graph.node_count; i++)
        if (strcmp (self->nodes[i].name, name) == 0) {
            index = i;
            is_it = true;
        }
    if (is_it)
        self->nodes[index].state = state;
}

const struct graph *flow_graph_of (const struct flow_graph *self)
{
    return &self->graph;
}
