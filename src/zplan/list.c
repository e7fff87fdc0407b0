// zplan list: the plans of the station, page by page.
#include <stdio.h>

#include "print.h"
#include "select.h"
#include "table.h"

struct listing {
    const struct cli *cli;
    int64_t limit;
    struct table *table; // NULL with --json
};

static const struct option rows[] = {
    {.name = "--limit",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct listing, limit),
     .help = "print at most this many",
     .min = 1,
     .max = INT64_MAX},
};

static const char about[] =
    "List the plans: a table, or with --json an object a line. On a terminal long titles are\n"
    "cut, and NEXT is told from now; --times absolute and a pipe show it all.\n\n"
    "  zplan list\n"
    "  zplan list --target billing --state error\n"
    "  zplan list --type week --title 'report*' --json\n"
    "  zplan list --dead                      # failed for good\n"
    "  zplan list --verdict manual --limit 5\n"
    "  zplan list --state close --json | jq -r .id | xargs zplan remove\n";

// -- the table

static void write_id (FILE *out, const json_t *plan)
{
    char word[WORD_SIZE];
    fputs (id_word (json_object_get (plan, "plan_id"), word), out);
}

static void write_station (FILE *out, const json_t *plan)
{
    write_bytes (out, text_of (json_object_get (plan, "station")));
}

static void write_next (FILE *out, const json_t *plan)
{
    char word[WORD_SIZE];
    fputs (time_word (json_object_get (plan, "plan_time"), word), out);
}

// Of cron the first expression tells more.
static void write_type (FILE *out, const json_t *plan)
{
    char word[WORD_SIZE];
    const json_t *cron = json_object_get (plan, "cron");
    const json_t *first = json_is_array (cron) ? json_array_get (cron, 0) : cron;
    if (json_is_string (first)) {
        write_bytes (out, text_of (first));
        fputs (json_array_size (cron) > 1 ? " ..." : "", out);
        return;
    }
    fputs (type_word (json_object_get (plan, "plan_type"), word), out);
}

static void write_runs (FILE *out, const json_t *plan)
{
    char done[WORD_SIZE], total[WORD_SIZE];
    fprintf (out, "%s/%s", number_word (json_object_get (plan, "real_repet"), done),
             repeat_word (json_object_get (plan, "plan_repet"), total));
}

static void write_state (FILE *out, const json_t *plan)
{
    char word[WORD_SIZE];
    fputs (state_word (json_object_get (plan, "plan_state"), word), out);
}

static enum colour colour_of_state (const json_t *plan)
{
    return state_colour (json_object_get (plan, "plan_state"));
}

static void write_title (FILE *out, const json_t *plan)
{
    write_frame (out, json_object_get (plan, "description"));
}

static const struct column columns[] = {
    {.heading = "ID", .width = 16, .write = write_id},
    {.heading = "STATION", .width = 16, .rule = COLUMN_SHORT, .write = write_station},
    {.heading = "NEXT", .width = 20, .write = write_next},
    {.heading = "TYPE", .width = 6, .rule = COLUMN_SPARE, .may_go = true, .write = write_type},
    {.heading = "RUNS", .width = 12, .is_number = true, .may_go = true, .write = write_runs},
    {.heading = "STATE", .width = 7, .write = write_state, .colour = colour_of_state},
    {.heading = "TITLE", .rule = COLUMN_REST, .write = write_title},
};

static bool take_plan (void *owner, const json_t *plan)
{
    const struct listing *self = owner;
    if (self->cli->json)
        print_plan (self->cli, plan);
    else
        table_row (self->table, plan);
    return true;
}

int verb_list (const struct cli *cli)
{
    struct selection selection = {0};
    struct listing self = {.cli = cli, .limit = INT64_MAX};
    const struct usage usage = {
        .synopsis = "zplan list [OPTIONS]",
        .about = about,
        .groups = {select_options (&selection),
                   {"Output", rows, sizeof rows / sizeof *rows, &self}},
        .group_count = 2,
        .words = "no arguments",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (select_check (&selection, &reason))
        return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    if (!cli->json)
        self.table = table_new (columns, sizeof columns / sizeof *columns, stdout);
    struct verdict verdict =
        select_walk (cli, client, &selection,
                     &(struct selected){.take = take_plan, .owner = &self, .room = self.limit});
    code = verdict_tell (&verdict, NULL);
    if (code == EXIT_DONE)
        table_end (&self.table);
    else
        table_break (&self.table);
    zplan_client_destroy (&client);
    return code;
}
