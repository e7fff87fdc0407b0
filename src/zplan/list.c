// zplan list: the plans of the station, page by page.
#include <stdio.h>

#include "print.h"
#include "select.h"

struct listing {
    const struct cli *cli;
    int64_t limit;
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

static const char about[] = "List the plans: a table, or with --json an object a line.\n\n"
                            "  zplan list\n"
                            "  zplan list --station billing --state error\n"
                            "  zplan list --type week --title 'report*' --json\n";

// -- a row of the table

static void print_row (const json_t *plan)
{
    char id[WORD_SIZE], time[WORD_SIZE], type[WORD_SIZE], done[WORD_SIZE], total[WORD_SIZE];
    char state[WORD_SIZE];
    char repeat[2 * WORD_SIZE];
    const json_t *station = json_object_get (plan, "station");
    snprintf (repeat, sizeof repeat, "%s/%s",
              number_word (json_object_get (plan, "real_repet"), done),
              repeat_word (json_object_get (plan, "plan_repet"), total));
    printf ("%-16s ", id_word (json_object_get (plan, "plan_id"), id));
    print_column (span_of (json_string_value (station), json_string_length (station)), 16);
    printf ("%-20s %-6s %-12s %-7s ", time_word (json_object_get (plan, "plan_time"), time),
            type_word (json_object_get (plan, "plan_type"), type), repeat,
            state_word (json_object_get (plan, "plan_state"), state));
    print_frame (json_object_get (plan, "description"));
    putchar ('\n');
}

static void print_heading (void)
{
    printf ("%-16s %-16s %-20s %-6s %-12s %-7s %s\n", "ID", "STATION", "NEXT", "TYPE", "RUNS",
            "STATE", "TITLE");
}

static bool take_plan (void *owner, const json_t *plan)
{
    const struct listing *self = owner;
    if (self->cli->json)
        print_json (plan);
    else
        print_row (plan);
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
        print_heading ();
    struct verdict verdict =
        select_walk (cli, client, &selection,
                     &(struct selected){.take = take_plan, .owner = &self, .room = self.limit});
    code = verdict_tell (&verdict, NULL);
    zplan_client_destroy (&client);
    return code;
}
