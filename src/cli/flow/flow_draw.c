// zplan flow graph: draws a definition, or a run with the states of its steps.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow_command.h"
#include "flow_file.h"
#include "flow_graph.h"
#include "flow_run_view.h"
#include "print.h"

// Start Graphviz with the reading end of a pipe as its standard input. 0, or an errno.
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

// Draw with Graphviz, which reads the text from a pipe, and writes the picture to our standard
// output.
static int draw_svg (const char *text, size_t size)
{
    const char *why = "`dot` failed";
    int ends[2], status = -1;
    pid_t pid;
    fflush (stdout);
    if (pipe2 (ends, O_CLOEXEC))
        return complain ("--svg", span_text (why));
    int rc = start_dot (ends[0], &pid);
    close (ends[0]);
    void (*former) (int) = signal (SIGPIPE, SIG_IGN); // dot may end before it has read all
    bool written = true;
    for (ssize_t wrote; rc == 0 && written && size; text += wrote, size -= (size_t)wrote)
        written = (wrote = write (ends[1], text, size)) > 0;
    close (ends[1]);
    signal (SIGPIPE, former);
    if (rc)
        why = "not found: `dot` of Graphviz; --dot writes the text for it";
    else if (waitpid (pid, &status, 0) == pid && status == 0 && written)
        return EXIT_DONE;
    return complain ("--svg", span_text (why));
}

// -- for programs

static json_t *node_json (const struct graph_node *node)
{
    static const char *const kinds[] = {
        [GRAPH_CALL] = "call", [GRAPH_EACH] = "for_each", [GRAPH_FLOW] = "flow",
        [GRAPH_WAIT] = "wait", [GRAPH_SIGNAL] = "signal", [GRAPH_COMPUTE] = "compute"};
    bool calls = node->kind == GRAPH_CALL || node->kind == GRAPH_EACH || node->kind == GRAPH_FLOW;
    return json_pack ("{s:s, s:s, s:s, s:s*, s:o*, s:s*}", "name", node->name, "kind",
                      kinds[node->kind], "join", node->join ? node->join : "all", "target",
                      calls ? node->what : NULL, "finally", node->is_finally ? json_true () : NULL,
                      "state", node->state);
}

static void print_graph_json (const struct graph *graph)
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
    print_json_new (
        json_pack ("{s:s, s:o, s:o}", "flow", graph->name, "steps", steps, "edges", edges));
}

// -- all forms

// Print the graph with control sequences escaped, as a definition may contain some. In the graph of
// a run the letter before each step's name has the colour of its state.
static void print_layers (const char *text, bool has_states)
{
    enum { LETTER_AT = 7 };
    for (const char *end; (end = strchr (text, '\n')); text = end + 1) {
        size_t size = (size_t)(end - text), at = 0;
        const char *state = size > LETTER_AT ? graph_state_of (text[LETTER_AT]) : NULL;
        if (has_states && state) {
            json_t *word = json_string (state);
            enum colour colour = flow_state_colour (word);
            at = LETTER_AT + 2 + strcspn (text + LETTER_AT + 2, " \n");
            printf ("%.*s", LETTER_AT, text);
            write_coloured (stdout, colour, span_of (text + LETTER_AT, at - LETTER_AT));
            json_decref (word);
        }
        print_between ("", span_of (text + at, size - at), "\n");
    }
}

static int draw_graph (const struct cli *cli, const struct graph *graph, enum flow_form form)
{
    static char *(*const makers[]) (const struct graph *,
                                    size_t *) = {[FLOW_LAYERS] = graph_layers,
                                                 [FLOW_DOT] = graph_dot,
                                                 [FLOW_MERMAID] = graph_mermaid,
                                                 [FLOW_SVG] = graph_dot};
    if (cli->json) {
        print_graph_json (graph);
        return EXIT_DONE;
    }
    size_t size;
    char *text = makers[form](graph, &size);
    int code = EXIT_DONE;
    if (form == FLOW_SVG)
        code = draw_svg (text, size);
    else if (form == FLOW_LAYERS)
        print_layers (text, graph->node_count && graph->nodes[0].state);
    else
        fwrite (text, 1, size, stdout);
    free (text);
    return code;
}

static int draw_file (const struct cli *cli, const char *file, enum flow_form form)
{
    struct reason reason;
    json_t *definition = flow_file_json (file, &reason);
    struct flow_graph *graph = definition ? flow_graph_new (definition, NULL, NULL, &reason) : NULL;
    int code = graph ? draw_graph (cli, flow_graph_of (graph), form)
                     : complain (file, span_text (reason.text));
    flow_graph_destroy (&graph);
    json_decref (definition);
    return code;
}

// -- of the station

// The state that the graph shows: `blocked` is not a state of the wire.
static const char *state_of (const json_t *step)
{
    const char *state = json_string_value (json_object_get (step, "state"));
    bool is_blocked = state && strcmp (state, "none") == 0 && json_object_get (step, "why");
    return is_blocked ? "blocked" : state;
}

// Draw a definition with the states of `run`; NULL: without states.
static int draw_definition (const struct cli *cli, const json_t *definition, const json_t *run,
                            enum flow_form form)
{
    size_t i;
    struct reason reason;
    const json_t *step;
    const char *name = json_string_value (json_object_get (definition, "flow"));
    struct flow_graph *graph = flow_graph_new (definition, NULL, NULL, &reason);
    if (!graph)
        return complain (name ? name : "flow", span_text (reason.text));
    json_array_foreach (json_object_get (run, "steps"), i, step) flow_graph_set_state (
        graph, i, json_string_value (json_object_get (step, "step")), state_of (step));
    if (run && !cli->json && form == FLOW_LAYERS)
        flow_run_print_state (run);
    int code = draw_graph (cli, flow_graph_of (graph), form);
    flow_graph_destroy (&graph);
    return code;
}

int flow_draw_run (const struct cli *cli, struct zplan_client *client,
                   const struct flow_options *options)
{
    char id[IDENT_SIZE], version[24];
    struct verdict verdict;
    int code = flow_run_read (cli, client, options->words[0], options->flow, id);
    if (code != EXIT_DONE)
        return code;
    json_t *run = flow_run_show (cli, client, id, NULL, &verdict);
    if (!run)
        return verdict_print (&verdict, id);
    const char *name = json_string_value (json_object_get (run, "flow"));
    snprintf (version, sizeof version, "%" JSON_INTEGER_FORMAT, field_number (run, "version"));
    json_t *flow =
        flow_send_command (cli, client, (const char *[]){"get", name, version, NULL}, name, &code);
    if (flow)
        code = draw_definition (cli, json_object_get (flow, "definition"), run, options->form);
    json_decref (flow);
    json_decref (run);
    return code;
}

// Whether the text may be the name of a flow or a run, and is not a file.
static bool is_stored_name (const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *dot = strrchr (text, '.');
    bool has_file_suffix = dot && (strcmp (dot, ".json") == 0 || strcmp (dot, ".yaml") == 0 ||
                                   strcmp (dot, ".yml") == 0);
    return access (text, F_OK) != 0 && !has_file_suffix && *text &&
           text[strspn (text, letters)] == '\0' && strcmp (text, "-") != 0;
}

int flow_draw (const struct cli *cli, const struct flow_options *options)
{
    const char *text = options->words[0];
    int code;
    uint64_t ignored;
    struct verdict verdict;
    if (!is_stored_name (text))
        return draw_file (cli, text, options->form);
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    json_t *answer =
        flow_send_command_quietly (cli, client, (const char *[]){"get", text, NULL}, &verdict);
    if (answer)
        code = draw_definition (cli, json_object_get (answer, "definition"), NULL, options->form);
    else if (verdict.code != EXIT_NO_ANSWER &&
             (strcmp (text, "last") == 0 || ident_parse (span_text (text), &ignored)))
        code = flow_draw_run (cli, client, options);
    else
        code = verdict_print (&verdict, text);
    json_decref (answer);
    zplan_client_destroy (&client);
    return code;
}
