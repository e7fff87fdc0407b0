// zplan why: why a plan is not running now, or which run is in progress, and what will change that.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "call.h"
#include "cells.h"
#include "options.h"
#include "plan_ref.h"
#include "print.h"

static const char about[] =
    "Print each reason why a plan does not run now, or its run in progress, and\n"
    "what will change that.\n\n"
    "  zplan why 1f\n"
    "  zplan why 1f 20 --json | jq '.reasons[].why'\n";

static void print_reasons (const char *id, const json_t *answer)
{
    const json_t *state = json_object_get (answer, "plan_state");
    print_between ("plan ", span_text (plan_ref_shown (id)), ": ");
    write_coloured (stdout, state_colour (state), span_text (state_plain_text (state)));
    puts (field_is_true (answer, "running") ? ", a run is in progress" : "");
    why_print (json_object_get (answer, "reasons"));
}

static void print_object (const struct cli *cli, const char *id, const json_t *answer)
{
    const json_t *plan_id = json_object_get (answer, "plan_id");
    json_t *object = json_pack ("{s:s, s:s}", "id", plan_id ? id_hex_text (plan_id) : id, "state",
                                state_wire_text (json_object_get (answer, "plan_state")));
    json_object_update (object, (json_t *)(uintptr_t)answer);
    print_answer_new (cli, JSON_ANSWER, object);
}

static int plan_why_print (const struct cli *cli, struct zplan_client *client, const char *id)
{
    int code;
    json_t *answer = call_command (cli, client, (const char *[]){"why", id, NULL}, id, &code);
    if (answer && cli->json)
        print_object (cli, id, answer);
    else if (answer)
        print_reasons (id, answer);
    json_decref (answer);
    return code;
}

int verb_why (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan why ID...",
        .about = about,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    return call_for_each_plan (cli, &usage, plan_why_print);
}
