// zplan flow graph
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Start Graphviz with the reading end of a pipe as its standard input. 0, or why not.
static int start_dot (int input, pid_t *ret_pid)
{
    static char *const argv[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, input, STDIN_FILENO);
    int rc = posix_spawnp (ret_pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy (&actions);
    return rc;
}

// It reads the text from us, and writes the picture to our standard output itself.
static int draw_svg (const char *text, size_t size)
{
    struct reason reason;
    int ends[2], status = -1;
    pid_t pid;
    reason_set (&reason, "`dot` failed");
    fflush (stdout);
    if (pipe2 (ends, O_CLOEXEC))
        return refuse ("--svg", &reason);
    int rc = start_dot (ends[0], &pid);
    close (ends[0]);
    bool written = true;
    for (ssize_t wrote; rc == 0 && written && size; text += wrote, size -= (size_t)wrote)
        written = (wrote = write (ends[1], text, size)) > 0;
    close (ends[1]);
    if (rc)
        reason_set (&reason, "not found: `dot` of Graphviz; --dot writes the text for it");
    else if (waitpid (pid, &status, 0) == pid && status == 0 && written)
        return EXIT_DONE;
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
