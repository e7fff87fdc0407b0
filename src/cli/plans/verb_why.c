// zplan why: why a plan is not running now, or which run is in progress, and what will change that.
// zplan team: the workers that fetched a plan, and the state of each.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "call.h"
#include "cells.h"
#include "options.h"
#include "plan_ref.h"
#include "print.h"
#include "text_table.h"

// -- why

static const char about_why[] =
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
        .about = about_why,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    return call_for_each_plan (cli, &usage, plan_why_print);
}

// -- team

static const char about_team[] =
    "The workers that have taken a plan of a pull target: who is at work, since when, how far it\n"
    "is, and how the others ended. A worker is in `timeout` when it was unresponsive for longer\n"
    "than its plan allows.\n\n"
    "  zplan team 1f\n"
    "  zplan team 1f --json | jq .state\n";

static void write_state (FILE *out, const json_t *worker)
{
    write_bytes (out, field_text (worker, "state"));
    if (field_is_true (worker, "earlier"))
        fputs (", earlier", out);
}

static enum colour worker_colour (const json_t *worker)
{
    static const struct {
        const char *state;
        enum colour colour;
    } colours[] = {{"running", CYAN}, {"success", GREEN}, {"fail", RED}, {"timeout", YELLOW}};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (span_is (field_text (worker, "state"), colours[i].state))
            return colours[i].colour;
    return PLAIN;
}

static const struct column columns[] = {
    COLUMN ("WORKER", 24, .rule = COLUMN_SHORT, .field = "worker"),
    COLUMN ("STATE", 13, .write = write_state, .colour = worker_colour),
    COLUMN ("SINCE", 20, .rule = COLUMN_SPARE, .field = "started_ms", .write = column_time_ms),
    COLUMN ("HEARTBEAT", 20, .rule = COLUMN_SPARE, .field = "heard_ms", .write = column_time_ms),
    COLUMN ("PROGRESS", 10, .rule = COLUMN_SHORT, .field = "progress", .write = write_frame),
    COLUMN ("REASON", 0, .rule = COLUMN_REST, .field = "reason"),
};

static void print_team (const char *id, const json_t *answer)
{
    size_t i;
    const json_t *worker, *workers = json_object_get (answer, "workers");
    print_between ("plan ", span_text (plan_ref_shown (id)), ": ");
    print_bytes (field_text (answer, "state"));
    puts (field_is_true (answer, "current") ? ", a run is in progress" : "");
    struct text_table *table = table_new (columns, sizeof columns / sizeof *columns, stdout);
    json_array_foreach (workers, i, worker) table_add_row (table, worker);
    table_end_if_rows (&table); // prints nothing if there are no workers
}

static int team_print (const struct cli *cli, struct zplan_client *client, const char *id)
{
    return call_print (cli, client, (const char *[]){"team", id, NULL}, id, print_team);
}

int verb_team (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan team ID...",
        .about = about_team,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    return call_for_each_plan (cli, &usage, team_print);
}
