// Edges and joins of a definition.
#include <stdlib.h>

#include "flow_private.h"
#include "memory.h"

// The set of FLOW_ON_... for one word of an edge's `on`; 0: not valid.
static uint8_t edge_on_of_name (const char *text)
{
    static const char *const names[] = {"finished", "failed", "caught", "ended", "skipped"};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp (names[i], text) == 0)
            return (uint8_t)(1U << i);
    return 0;
}

// Read `on`, a word or a list of words, as a set of FLOW_ON_...
static uint8_t read_edge_on (struct flow_reader *self, const json_t *on, const char *path)
{
    uint8_t set = 0;
    size_t index;
    json_t *value;
    if (!on)
        return FLOW_ON_FINISHED;
    bool ok = true;
    if (!json_is_array (on))
        set = edge_on_of_name (json_string_value (on));
    json_array_foreach (on, index, value)
    {
        ok = ok && edge_on_of_name (json_string_value (value));
        set |= edge_on_of_name (json_string_value (value));
    }
    if (!ok || !set)
        flow_add_error (self, path,
                        "on must be finished, failed, caught, ended, skipped or a list of "
                        "them");
    return set;
}

// Add an edge from `source` to step number `target`; report an edge that is not valid.
static void add_edge (struct flow_reader *self, const char *source, uint32_t target, uint8_t on,
                      const char *path)
{
    char key[2 * FLOW_NAME_MAX + 2];
    int64_t from = flow_find (self->flow, source);
    snprintf (key, sizeof key, "%u %u", (unsigned)from, (unsigned)target);
    if (from < 0) {
        flow_add_error (self, path, "no such step: %s", quoted (span_text (source)));
    } else if (from == target) {
        flow_add_error (self, path, "%s waits for itself", source);
    } else if (from == self->flow->final || target == self->flow->final) {
        flow_add_error (self, path, "the step of finally has no edges");
    } else if (json_object_get (self->edge_set, key)) {
        flow_add_error (self, path, "%s twice: one edge for each pair",
                        quoted (span_text (source)));
    } else if (self->edge_count >= FLOW_EDGES_MAX) {
        flow_add_error (self, path, "a flow has at most %d edges", FLOW_EDGES_MAX);
    } else {
        json_object_set_new_nocheck (self->edge_set, key, json_true ());
        self->edges =
            memory_grow (self->edges, self->edge_count, &self->edge_room, sizeof *self->edges);
        self->edges[self->edge_count++] = (struct flow_edge_entry){(uint32_t)from, target, on};
    }
}

// Report unknown fields of an edge.
static void check_edge_fields (struct flow_reader *self, const json_t *edge, const char *path,
                               const char *const *names)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)edge, name, value)
    {
        if (!flow_is_one_of (name, names))
            flow_add_error (self, path, "no such field: %s", quoted (span_text (name)));
    }
}

void flow_read_after (struct flow_reader *self, uint32_t target)
{
    static const char *const after_names[] = {"step", "on", NULL};
    const struct flow_step *step = &self->flow->steps[target];
    const json_t *after = json_object_get (step->json, "after");
    char path[FLOW_PATH_SIZE];
    size_t index;
    json_t *value;
    if (after && !json_is_array (after))
        flow_add_error (self, flow_path_of (flow_path_of ("steps", step->name).text, "after").text,
                        "must be a list");
    json_array_foreach (after, index, value)
    {
        snprintf (path, sizeof path, "steps.%.64s.after[%zu]", step->name, index);
        uint8_t on = FLOW_ON_FINISHED;
        const char *source = json_string_value (value);
        if (json_is_object (value)) {
            source = json_string_value (json_object_get (value, "step"));
            on = read_edge_on (self, json_object_get (value, "on"), path);
            check_edge_fields (self, value, path, after_names);
        }
        if (source)
            add_edge (self, source, target, on, path);
        else
            flow_add_error (self, path, "must be the name of a step, or an object with it as step");
    }
}

void flow_read_edges (struct flow_reader *self)
{
    static const char *const edge_names[] = {"source", "target", "on", NULL};
    const json_t *edges = json_object_get (self->flow->json, "edges");
    char path[FLOW_PATH_SIZE];
    size_t index;
    json_t *value;
    if (edges && !json_is_array (edges))
        flow_add_error (self, "edges", "must be a list");
    json_array_foreach (edges, index, value)
    {
        snprintf (path, sizeof path, "edges[%zu]", index);
        const char *source = json_string_value (json_object_get (value, "source")),
                   *name = json_string_value (json_object_get (value, "target"));
        int64_t target = name ? flow_find (self->flow, name) : -1;
        check_edge_fields (self, value, path, edge_names);
        uint8_t on = read_edge_on (self, json_object_get (value, "on"), path);
        if (!source || !name)
            flow_add_error (self, path,
                            "must be an object with names of steps as source and target");
        else if (target < 0)
            flow_add_error (self, path, "no such step: %s", quoted (span_text (name)));
        else
            add_edge (self, source, (uint32_t)target, on, path);
    }
}

// Make flow.in and flow.out from the edges, in the order in which they were read.
static void make_edge_arrays (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    uint32_t in = 0, out = 0;
    flow->edge_count = (uint32_t)self->edge_count;
    flow->in = memory_new ((self->edge_count + 1) * sizeof *flow->in);
    flow->out = memory_new ((self->edge_count + 1) * sizeof *flow->out);
    for (size_t i = 0; i < self->edge_count; i++) {
        flow->steps[self->edges[i].target].in_count++;
        flow->steps[self->edges[i].source].out_count++;
    }
    for (size_t i = 0; i < flow->step_count; i++) {
        struct flow_step *step = &flow->steps[i];
        step->in_first = in, step->out_first = out;
        in += step->in_count, out += step->out_count;
        step->in_count = step->out_count = 0;
    }
    for (size_t i = 0; i < self->edge_count; i++) {
        const struct flow_edge_entry *edge = &self->edges[i];
        struct flow_step *source = &flow->steps[edge->source], *target = &flow->steps[edge->target];
        flow->in[target->in_first + target->in_count++] =
            (struct flow_edge){edge->source, edge->on};
        flow->out[source->out_first + source->out_count++] =
            (struct flow_edge){edge->target, edge->on};
        source->has_caught = source->has_caught || edge->on & FLOW_ON_CAUGHT;
    }
}

// Read the join of a step. A join in `defaults` applies only to steps with edges.
static void read_join (struct flow_reader *self, struct flow_step *step)
{
    const json_t *own = json_object_get (json_object_get (self->flow->json, "steps"), step->name);
    const json_t *join =
        json_object_get (step->in_count || !self->defaults ? step->json : own, "join");
    const char *how = json_string_value (join);
    const struct flow_path path = flow_path_of (flow_path_of ("steps", step->name).text, "join");
    step->join_all = !join || (how && strcmp (how, "all") == 0);
    if (step->join_all)
        return;
    if (how && strcmp (how, "any") == 0)
        step->need = 1;
    else if (how && strcmp (how, "majority") == 0)
        step->need = step->in_count / 2 + 1;
    else if (json_is_integer (join) && json_integer_value (join) >= 1 &&
             json_integer_value (join) <= FLOW_EDGES_MAX)
        step->need = (uint32_t)json_integer_value (join);
    else
        flow_add_error (self, path.text, "must be all, any, majority or a number of edges");
    if (step->need > step->in_count)
        flow_add_error (self, path.text, "never starts: it waits for %u edge%s and has %u",
                        step->need, step->need == 1 ? "" : "s", step->in_count);
}

// The first source of a step that has open sources itself; `at`: there is none.
static uint32_t find_open_source (const struct flow *flow, const uint32_t *open_sources,
                                  uint32_t at)
{
    const struct flow_step *step = &flow->steps[at];
    for (uint32_t i = 0; i < step->in_count; i++)
        if (open_sources[flow->in[step->in_first + i].step])
            return flow->in[step->in_first + i].step;
    return at;
}

// Report one cycle, by the names of its steps, among the steps that still have open sources. Then
// remove its steps from them, so that the next cycle is found.
static void report_cycle (struct flow_reader *self, uint32_t *open_sources, uint32_t *end)
{
    struct flow *flow = self->flow;
    uint32_t at = 0, length = 0;
    char text[REASON_MAX];
    size_t used = 0;
    uint32_t *seen = memory_new (flow->step_count * sizeof *seen);
    while (!open_sources[at])
        at++;
    // Each of these steps has an open source, so following the sources must reach a cycle.
    while (!seen[at]) {
        seen[at] = ++length;
        at = find_open_source (flow, open_sources, at);
    }
    uint32_t begin = at, count = length - seen[at] + 1;
    text[0] = '\0';
    do {
        int more =
            snprintf (text + used, sizeof text - used, "%s waits for ", flow->steps[at].name);
        used += more > 0 ? (size_t)more : 0;
        at = find_open_source (flow, open_sources, at);
    } while (at != begin && used < sizeof text - 80);
    flow_add_error (self, "steps", "a cycle of %u steps: %s%s", count, text,
                    at == begin ? flow->steps[begin].name : "...");
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (seen[i] >= seen[begin]) {
            open_sources[i] = 0;
            flow->order[(*end)++] = i;
        }
    free (seen);
}

// Append to flow.order the steps whose sources are all in it.
static void append_ready_steps (struct flow *flow, uint32_t *open_sources, uint32_t *begin,
                                uint32_t *end)
{
    while (*begin < *end) {
        const struct flow_step *step = &flow->steps[flow->order[(*begin)++]];
        for (uint32_t i = 0; i < step->out_count; i++) {
            uint32_t target = flow->out[step->out_first + i].step;
            if (open_sources[target] && --open_sources[target] == 0)
                flow->order[(*end)++] = target;
        }
    }
}

void flow_link_edges (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    uint32_t *open_sources = memory_new (flow->step_count * sizeof *open_sources), begin = 0,
             end = 0;
    make_edge_arrays (self);
    flow->order = memory_new (flow->step_count * sizeof *flow->order);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        read_join (self, &flow->steps[i]);
        open_sources[i] = flow->steps[i].in_count;
        if (!open_sources[i])
            flow->order[end++] = i;
    }
    append_ready_steps (flow, open_sources, &begin, &end);
    self->cyclic = end < flow->step_count;
    while (end < flow->step_count) {
        report_cycle (self, open_sources, &end);
        append_ready_steps (flow, open_sources, &begin, &end);
    }
    flow_check_references (self);
    free (open_sources);
}
