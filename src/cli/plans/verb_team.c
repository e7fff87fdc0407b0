// zplan team: the workers that fetched a plan, and the state of each.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "call.h"
#include "options.h"
#include "plan_ref.h"
#include "print.h"
#include "text_table.h"

static const char about[] =
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
        .about = about,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    return call_for_each_plan (cli, &usage, team_print);
}
