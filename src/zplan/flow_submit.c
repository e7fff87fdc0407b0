// zplan flow start: a plan that runs a flow once, at once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codes.h"
#include "expr.h"
#include "flow_command.h"
#include "flow_file.h"
#include "flow_run_view.h"
#include "json.h"
#include "plan_ref.h"
#include "print.h"

// -- what is sent

// Whether a param takes a text as it is: its type or its default is one. Of an expression nobody
// knows before it is evaluated.
static bool takes_text (const json_t *param)
{
    const char *type = json_string_value (json_object_get (param, "type"));
    const char *text = json_string_value (param);
    return (type && strcmp (type, "string") == 0) || (text && text[0] != '=');
}

// The params of the flow in use; NULL where the station does not say, for any reason: it will
// reject what is wrong.
static json_t *declared_params (const struct cli *cli, struct zplan_client *client,
                                const char *flow)
{
    struct verdict ignored;
    const char *const say[] = {"get", flow};
    json_t *answer = flow_ask_quietly (cli, client, say, 2, &ignored);
    json_t *definition = json_object_get (answer, "definition");
    json_t *params = json_incref (json_object_get (definition, "params"));
    json_decref (answer);
    return params;
}

static bool add_param (json_t *params, const json_t *declared, const char *text,
                       struct reason *reason)
{
    struct reason ignored;
    const char *equals = strchr (text, '=');
    if (!equals || equals == text) {
        reason_set (reason, "--param: want NAME=VALUE, got %s", quoted (span_text (text)));
        return false;
    }
    char *name = strndup (text, (size_t)(equals - text));
    json_t *value = NULL;
    if (!takes_text (json_object_get (declared, name)))
        value = expr_read_json (span_text (equals + 1), &ignored);
    if (!value)
        value = json_string (equals + 1);
    bool good = value && json_object_set_new (params, name, value) == 0;
    if (!good)
        reason_set (reason, "--param: want UTF-8, got %s", quoted (span_text (text)));
    free (name);
    return good;
}

// The input as a JSON frame; NULL with a reason.
static char *read_input (const char *file, struct reason *reason)
{
    size_t size;
    struct reason why;
    char *text = flow_file_read (file, &size, &why);
    json_t *json = text ? expr_read_json (span_of (text, size), &why) : NULL;
    free (text);
    text = json_is_object (json) ? json_write (json) : NULL;
    if (!text)
        reason_set (reason, "%s: %s", file, json ? "want an object" : why.text);
    json_decref (json);
    return text;
}

static json_t *plan_of (const char *flow, const struct flow_wish *wish)
{
    json_t *plan = json_pack ("{s:i}", "plan_type", 0);
    json_object_set_new (plan, "description",
                         json_from_frame (span_text (wish->title ? wish->title : flow)));
    if (wish->unique)
        json_object_set_new (plan, "key", json_from_frame (span_text (wish->unique)));
    if (wish->batch)
        json_object_set_new (plan, "batch", json_from_frame (span_text (wish->batch)));
    return plan;
}

// -- until it has ended

// The run of a plan: as long as that is there it names it; then it is among the runs of its flow.
static bool find_run (const struct cli *cli, struct zplan_client *client, const char *flow,
                      const char *plan, int64_t *answered_us, char out[IDENT_SIZE], int *ret_code)
{
    size_t i;
    uint64_t id = 0;
    const json_t *run;
    struct zplan_reply reply;
    struct reason ignored;
    int outcome = zplan_client_manage (client, "message", &plan, 1, &reply);
    struct verdict verdict = call_verdict (cli, outcome, &reply);
    if (verdict.code == EXIT_DONE) {
        json_t *message = json_read_object (call_frame (&reply, ZERO_FRAME_JSON), &ignored);
        id = (uint64_t)json_integer_value (json_object_get (message, "flow_run"));
        json_decref (message);
    } else if (verdict.status == ZERO_STATUS_NOT_FIND_ID) {
        json_t *filter = json_pack ("{s:s}", "flow", flow);
        json_t *answer = flow_run_page (cli, client, filter, 0, ret_code);
        json_array_foreach (json_object_get (answer, "runs"), i, run)
        {
            if (span_is (text_of (json_object_get (run, "plan")), plan))
                ident_parse (text_of (json_object_get (run, "run")), &id);
        }
        if (!id && *ret_code == EXIT_DONE) {
            complain (plan, span_text ("the plan is gone, and no run of it is known"));
            *ret_code = EXIT_REFUSED;
        }
        json_decref (answer);
        json_decref (filter);
    } else if (!flow_may_go_on (&verdict, answered_us)) {
        *ret_code = verdict_tell (&verdict, plan);
    }
    ident_text (id, out);
    return id;
}

static int wait_for_end (const struct cli *cli, struct zplan_client *client, const char *flow,
                         const char *plan)
{
    enum { PAUSE_US = 100000 };
    int code = EXIT_DONE;
    int64_t answered_us = 0;
    char name[IDENT_SIZE];
    while (!find_run (cli, client, flow, plan, &answered_us, name, &code)) {
        if (code != EXIT_DONE)
            return code;
        usleep (PAUSE_US);
    }
    json_t *run = flow_follow (cli, client, name, &code);
    if (run && cli->json) {
        flow_run_print_json (cli, run);
    } else if (run) {
        flow_run_print_state (run);
        if (json_object_get (run, "error"))
            complain (NULL, text_of (json_object_get (run, "error")));
        if (json_object_get (run, "output")) {
            printf ("output ");
            print_json (json_object_get (run, "output"));
        }
    }
    if (run && !span_is (text_of (json_object_get (run, "state")), "finished"))
        code = EXIT_REFUSED;
    json_decref (run);
    return code;
}

// -- the request

static void print_started (const struct cli *cli, const char *flow, const char *id, enum kept kept)
{
    if (cli->json) {
        json_t *answer = json_pack ("{s:s, s:s, s:s}", "id", id, "flow", flow, "result",
                                    kept == KEPT_ADDED ? "added" : "exists");
        print_json (answer);
        json_decref (answer);
    } else {
        printf ("plan %s of flow %s %s\n", id, flow,
                kept == KEPT_ADDED ? "accepted, runs at once" : "already exists");
    }
    fflush (stdout);
}

static int submit (const struct cli *cli, struct zplan_client *client, const char *flow,
                   const json_t *plan, const char *input, bool waits)
{
    struct zplan_reply reply;
    struct span more;
    char *text = json_write (plan), id[IDENT_SIZE];
    uint64_t number = 0;
    struct zplan_frame frame = {ZERO_FRAME_JSON, input, input ? strlen (input) : 0};
    struct zplan_submission submission = {
        .station = flow, .plan = text, .frames = &frame, .count = input ? 1 : 0};
    int code = call_judge (cli, zplan_client_submit (client, &submission, &reply), &reply, flow);
    free (text);
    if (code != EXIT_DONE)
        return code;
    if (reply.status != ZERO_STATUS_PLAN_ID ||
        !ident_parse (call_frame (&reply, ZERO_FRAME_GLOBAL_ID), &number)) {
        complain (cli->connect, span_text ("answers, but keeps no plan: is it a plan station?"));
        return EXIT_REFUSED;
    }
    print_started (cli, flow, ident_text (number, id), call_kept (&reply, &more));
    return waits ? wait_for_end (cli, client, flow, id) : EXIT_DONE;
}

int flow_start (const struct cli *cli, const char *flow, const struct flow_wish *wish)
{
    int code = EXIT_USAGE;
    struct reason reason;
    char *input = wish->input ? read_input (wish->input, &reason) : NULL;
    if (wish->input && !input) {
        complain ("--input", span_text (reason.text));
        return EXIT_REFUSED;
    }
    json_t *plan = plan_of (flow, wish), *params = json_object (), *declared = NULL;
    struct zplan_client *client = call_open (cli, &code);
    if (client && wish->params.count)
        declared = declared_params (cli, client, flow);
    bool good = client;
    for (size_t i = 0; good && i < wish->params.count; i++)
        good = add_param (params, declared, wish->params.texts[i], &reason);
    if (wish->params.count)
        json_object_set (plan, "params", params);
    if (client)
        code = good ? submit (cli, client, flow, plan, input, wish->wait)
                    : usage_error (cli->argv[0], &reason);
    zplan_client_destroy (&client);
    json_decref (declared);
    json_decref (params);
    json_decref (plan);
    free (input);
    return code;
}
