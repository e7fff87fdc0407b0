// zplan list: the plans of the station, page by page.
#include <stdio.h>

#include "status_names.h"
#include "cells.h"
#include "print.h"
#include "select.h"
#include "text_table.h"

struct list_options {
    const struct cli *cli;
    const char *order;
    int64_t limit;
    struct text_table *table; // NULL with --json
};

static const struct option rows[] = {
    TEXT_OPTION (struct list_options, order, "--order", "ORDER",
                 "id (default); time: what runs next first; running: only runs in\n"
                 "progress; stopped: only plans out of the queue, the last first;\n"
                 "dead: the same of those that failed permanently",
                 .values = "id time running stopped dead"),
    NUMBER_OPTION (struct list_options, limit, "--limit", "N", 1, INT64_MAX,
                   "print at most this many"),
};

static const char about[] =
    "List the plans: a table, or with --json one object per line. PLAN is the name or else the\n"
    "id, TITLE the title or else the command. NEXT is the next time of a queued plan, LAST how\n"
    "its last run ended and when it started. Times are in UTC. On a terminal long texts are cut;\n"
    "--times absolute and a pipe show all.\n\n"
    "  zplan list\n"
    "  zplan list --target billing --state failed\n"
    "  zplan list --type week --title 'report*' --json\n"
    "  zplan list --dead                      # failed permanently\n"
    "  zplan list --order time --limit 10     # what runs next\n"
    "  zplan list --verdict manual --limit 5\n"
    "  zplan list --state closed --json | jq -r .id | xargs zplan remove\n";

// -- the table

static enum colour last_run_colour (const json_t *plan)
{
    return status_colour (json_last_status (plan));
}

static void write_title (FILE *out, const json_t *plan)
{
    const json_t *title = json_object_get (plan, "description"),
                 *command = json_object_get (plan, "command");
    bool none = json_is_string (title) && json_string_length (title) == 0;
    write_frame (out, (!title || none) && command ? command : title);
}

static const struct column columns[] = {
    COLUMN ("PLAN", 16, .write = write_plan_name),
    COLUMN ("TARGET", 12, .rule = COLUMN_SPARE, .may_omit = true, .field = "station"),
    COLUMN ("SCHEDULE", 20, .rule = COLUMN_SHORT, .least = 12, .write = write_plan_schedule),
    COLUMN ("NEXT", 20, .write = write_plan_next),
    COLUMN ("STATE", 8, .field = "plan_state", .text = state_plain_text, .colour = state_colour),
    COLUMN ("LAST", 10, .may_omit = true, .write = write_plan_last, .colour = last_run_colour),
    COLUMN ("TITLE", 0, .rule = COLUMN_REST, .least = 10, .write = write_title),
};

static bool handle_plan (void *owner, const json_t *plan)
{
    const struct list_options *self = owner;
    if (self->cli->json)
        print_plan (self->cli, plan);
    else
        table_add_row (self->table, plan);
    return true;
}

int verb_list (const struct cli *cli)
{
    struct selection selection = {0};
    struct list_options self = {.cli = cli, .limit = INT64_MAX};
    const struct usage usage = {
        .synopsis = "zplan list [OPTIONS]",
        .about = about,
        .groups = {select_options (&selection), OPTION_GROUP ("Output", rows, &self)},
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    selection.order = self.order;
    if (select_check (&selection, &usage.groups[0], &reason))
        return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    if (!cli->json)
        self.table = table_new (columns, sizeof columns / sizeof *columns, stdout);
    struct verdict verdict = select_walk (
        cli, client, &selection,
        &(struct plan_visitor){.take = handle_plan, .owner = &self, .room = self.limit});
    code = verdict_print (&verdict, NULL);
    (code == EXIT_DONE ? table_end : table_end_if_rows) (&self.table);
    zplan_client_destroy (&client);
    return code;
}
