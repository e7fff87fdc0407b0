// zplan flow why RUN/STEP
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "flow_command.h"
#include "flow_graph.h"
#include "flow_run_view.h"
#include "print.h"
#include "why.h"

static json_t *find_step (const json_t *run, const char *name)
{
    size_t i;
    json_t *step;
    json_array_foreach (json_object_get (run, "steps"), i, step)
    {
        if (span_is (text_of (json_object_get (step, "step")), name))
            return step;
    }
    return NULL;
}

static bool is_decided (const json_t *step)
{
    static const char *const ends[] = {"finished", "failed", "cancelled", "skipped"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (span_is (text_of (json_object_get (step, "state")), ends[i]))
            return true;
    return false;
}

// The sources of a step that are not decided, by the definition that the run has.
static json_t *sources_of (const json_t *run, const json_t *definition, const char *name)
{
    struct reason ignored;
    json_t *list = json_array ();
    struct flow_graph *drawn = flow_graph_new (definition, NULL, NULL, &ignored);
    const struct graph *graph = drawn ? flow_graph_of (drawn) : NULL;
    for (uint32_t i = 0; graph && i < graph->edge_count; i++) {
        const char *source = graph->nodes[graph->edges[i].source].name;
        bool is_its = strcmp (graph->nodes[graph->edges[i].target].name, name) == 0;
        const json_t *step = is_its ? find_step (run, source) : NULL;
        if (step && !is_decided (step))
            json_array_append_new (list, json_pack ("{s:s, s:O}", "step", source, "state",
                                                    json_object_get (step, "state")));
    }
    flow_graph_destroy (&drawn);
    return list;
}

// What a step that is not decided, and for which the station gives no reason, waits for.
static void add_sources (const struct cli *cli, struct zplan_client *client, const json_t *run,
                         const char *name, json_t *answer)
{
    char version[24];
    struct verdict ignored;
    snprintf (version, sizeof version, "%" JSON_INTEGER_FORMAT,
              json_integer_value (json_object_get (run, "version")));
    const char *const say[] = {"get", json_string_value (json_object_get (run, "flow")), version};
    json_t *flow = flow_ask_quietly (cli, client, say, 3, &ignored);
    if (flow)
        json_object_set_new (answer, "waits_for",
                             sources_of (run, json_object_get (flow, "definition"), name));
    json_decref (flow);
}

static void add_plan (const struct cli *cli, struct zplan_client *client, const json_t *step,
                      json_t *answer)
{
    struct zplan_reply reply;
    const char *plan = json_string_value (json_object_get (step, "plan"));
    if (!plan)
        return;
    int outcome = zplan_client_manage (client, "why", &plan, 1, &reply);
    struct span text = {0};
    if (call_verdict (cli, outcome, &reply).code == EXIT_DONE)
        text = call_frame (&reply, ZERO_FRAME_JSON);
    json_t *why = json_loadb ((const char *)text.data, text.size, 0, NULL);
    if (why)
        json_object_set (answer, "reasons", json_object_get (why, "reasons"));
    json_decref (why);
}

static json_t *answer_new (const struct cli *cli, struct zplan_client *client, const json_t *run,
                           const json_t *step)
{
    json_t *answer = json_object ();
    const char *name = json_string_value (json_object_get (step, "step"));
    // Also one that is ready, and that the run has not started yet.
    bool waits = span_is (text_of (json_object_get (step, "state")), "none") ||
                 (span_is (text_of (json_object_get (step, "state")), "new") &&
                  !json_object_get (step, "plan"));
    json_object_set (answer, "run", json_object_get (run, "run"));
    json_object_update (answer, (json_t *)(uintptr_t)step);
    json_object_set (answer, "run_state", json_object_get (run, "state"));
    if (json_object_get (step, "run"))
        json_object_set (answer, "sub_run", json_object_get (step, "run"));
    json_object_set (answer, "run", json_object_get (run, "run"));
    if (waits && !json_object_get (step, "why") && !flow_run_has_ended (run))
        add_sources (cli, client, run, name, answer);
    if (json_object_get (run, "in_flight"))
        json_object_set (answer, "in_flight", json_object_get (run, "in_flight"));
    add_plan (cli, client, step, answer);
    return answer;
}

static void print_text (const char *before, const json_t *text)
{
    if (!json_string_length (text))
        return;
    printf ("  %s", before);
    print_bytes (text_of (text));
    putchar ('\n');
}

static void print_waits (const json_t *answer)
{
    size_t i;
    const json_t *source, *list = json_object_get (answer, "waits_for");
    json_int_t in_flight = json_integer_value (json_object_get (answer, "in_flight"));
    json_array_foreach (list, i, source)
    {
        printf ("%s", i ? ", " : "  waits for ");
        print_bytes (text_of (json_object_get (source, "step")));
        printf (" (");
        print_bytes (text_of (json_object_get (source, "state")));
        putchar (')');
    }
    if (json_array_size (list))
        putchar ('\n');
    else if (list && span_is (text_of (json_object_get (answer, "run_state")), "suspended"))
        puts ("  the run is suspended: `zplan flow resume`");
    else if (list && in_flight)
        printf ("  %" JSON_INTEGER_FORMAT " steps are in flight: max_parallel allows no more\n",
                in_flight);
}

static void print_why (const json_t *answer)
{
    const json_t *state = json_object_get (answer, "state");
    printf ("step ");
    print_bytes (text_of (json_object_get (answer, "run")));
    putchar ('/');
    print_bytes (text_of (json_object_get (answer, "step")));
    printf (": ");
    colour_on (stdout, flow_state_colour (state));
    print_bytes (text_of (state));
    colour_off (stdout, flow_state_colour (state));
    puts (json_object_get (answer, "by") ? ", by a person" : "");
    print_text (span_is (text_of (state), "none") ? "blocked: " : "",
                json_object_get (answer, "why"));
    print_text ("", json_object_get (answer, "error"));
    print_text ("its sub-flow is run ", json_object_get (answer, "sub_run"));
    print_waits (answer);
    if (json_object_get (answer, "reasons"))
        print_text ("plan ", json_object_get (answer, "plan"));
    why_print (json_object_get (answer, "reasons"));
}

// "RUN/STEP", in two. False: it is not of that form.
static bool split (const char *text, char run[IDENT_SIZE + 8], char step[FLOW_NAME_MAX + 1],
                   struct reason *reason)
{
    const char *slash = strchr (text, '/');
    if (slash && slash - text < IDENT_SIZE + 8 && strlen (slash + 1) <= FLOW_NAME_MAX && slash[1]) {
        snprintf (run, IDENT_SIZE + 8, "%.*s", (int)(slash - text), text);
        snprintf (step, FLOW_NAME_MAX + 1, "%s", slash + 1);
        return true;
    }
    reason_set (reason, "want RUN/STEP, got %s", quoted (span_text (text)));
    return false;
}

static int tell_no_step (const json_t *run, const char *subject)
{
    char text[FLOW_NAME_MAX + 32];
    snprintf (text, sizeof text, "%s has no such step",
              json_string_value (json_object_get (run, "flow")));
    struct verdict none = verdict_refused (text);
    return verdict_tell (&none, subject);
}

int flow_why (const struct cli *cli, const char *text, const struct flow_wish *wish)
{
    int code;
    struct reason reason;
    struct verdict verdict;
    char given[IDENT_SIZE + 8], name[IDENT_SIZE], step[FLOW_NAME_MAX + 1];
    json_t *run = NULL, *answer = NULL;
    if (!split (text, given, step, &reason))
        return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = flow_run_read (cli, client, given, wish->flow, name);
    if (client && code == EXIT_DONE && !(run = flow_run_show (cli, client, name, NULL, &verdict)))
        code = verdict_tell (&verdict, name);
    const json_t *found = run ? find_step (run, step) : NULL;
    if (run && !found)
        code = tell_no_step (run, text);
    else if (run)
        answer = answer_new (cli, client, run, found);
    if (answer && cli->json)
        print_json (answer);
    else if (answer)
        print_why (answer);
    json_decref (answer);
    json_decref (run);
    zplan_client_destroy (&client);
    return code;
}
