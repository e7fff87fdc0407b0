// zplan flow graph
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "flow_command.h"
#include "flow_file.h"
#include "flow_graph.h"
#include "print.h"

static int refuse (const char *file, const struct reason *reason)
{
    complain (file, span_text (reason->text));
    return EXIT_REFUSED;
}

// Graphviz reads the text from us, and writes the picture to our standard output itself.
static int draw_svg (const char *text, size_t size)
{
    struct reason reason;
    if (system ("command -v dot >/dev/null 2>&1") != 0) {
        reason_set (&reason, "not found: `dot` of Graphviz; --dot writes the text for it");
        return refuse ("--svg", &reason);
    }
    fflush (stdout);
    FILE *dot = popen ("exec dot -Tsvg", "w");
    bool written = dot && fwrite (text, 1, size, dot) == size;
    if (dot && pclose (dot) == 0 && written)
        return EXIT_DONE;
    reason_set (&reason, "`dot` failed");
    return refuse ("--svg", &reason);
}

// -- for programs

static json_t *node_json (const struct graph_node *node)
{
    static const char *const kinds[] = {
        [GRAPH_CALL] = "call", [GRAPH_EACH] = "for_each", [GRAPH_FLOW] = "flow",
        [GRAPH_WAIT] = "wait", [GRAPH_SIGNAL] = "signal", [GRAPH_COMPUTE] = "compute"};
    json_t *json = json_pack ("{s:s, s:s, s:s}", "name", node->name, "kind", kinds[node->kind],
                              "join", node->join ? node->join : "all");
    if (node->kind == GRAPH_CALL || node->kind == GRAPH_EACH || node->kind == GRAPH_FLOW)
        json_object_set_new (json, "target", json_string (node->what));
    if (node->is_finally)
        json_object_set_new (json, "finally", json_true ());
    return json;
}

static void print_graph (const struct graph *graph)
{
    json_t *steps = json_array (), *edges = json_array ();
    for (uint32_t i = 0; i < graph->node_count; i++)
        json_array_append_new (steps, node_json (&graph->nodes[i]));
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct graph_edge *edge = &graph->edges[i];
        json_array_append_new (edges, json_pack ("{s:s, s:s, s:s}", "source",
                                                 graph->nodes[edge->source].name, "target",
                                                 graph->nodes[edge->target].name, "on",
                                                 edge->on ? edge->on : "finished"));
    }
    json_t *json =
        json_pack ("{s:s, s:o, s:o}", "flow", graph->name, "steps", steps, "edges", edges);
    print_json (json);
    json_decref (json);
}

// -- for all

// What the definition says may hold what a terminal takes as a command.
static void print_lines (const char *text)
{
    for (const char *end; (end = strchr (text, '\n')); text = end + 1) {
        print_bytes (span_of (text, (size_t)(end - text)));
        putchar ('\n');
    }
}

static int draw (const struct cli *cli, const struct graph *graph, enum flow_form form)
{
    static char *(*const makers[]) (const struct graph *,
                                    size_t *) = {[FLOW_LAYERS] = graph_layers,
                                                 [FLOW_DOT] = graph_dot,
                                                 [FLOW_MERMAID] = graph_mermaid,
                                                 [FLOW_SVG] = graph_dot};
    if (cli->json) {
        print_graph (graph);
        return EXIT_DONE;
    }
    size_t size;
    char *text = makers[form](graph, &size);
    int code = EXIT_DONE;
    if (form == FLOW_SVG)
        code = draw_svg (text, size);
    else if (form == FLOW_LAYERS)
        print_lines (text);
    else
        fwrite (text, 1, size, stdout);
    free (text);
    return code;
}

int flow_draw (const struct cli *cli, const char *file, enum flow_form form)
{
    struct reason reason;
    size_t size;
    char *text = flow_file_read (file, &size, &reason);
    if (!text)
        return refuse (file, &reason);
    json_t *definition = expr_read_json (span_of (text, size), &reason);
    free (text);
    struct flow_graph *graph = definition ? flow_graph_new (definition, NULL, NULL, &reason) : NULL;
    int code = graph ? draw (cli, flow_graph_of (graph), form) : refuse (file, &reason);
    flow_graph_destroy (&graph);
    json_decref (definition);
    return code;
}
