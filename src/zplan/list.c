// zplan list: the plans of the station, page by page.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "json.h"
#include "options.h"
#include "print.h"
#include "schedule.h"

enum { PAGE = 100, PAGES_MAX = 10000000 };

struct selection {
    const char *station, *state, *type, *title;
    int64_t limit;
};

static const struct option rows[] = {
    {.name = "--station",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, station),
     .help = "plans for this target station"},
    {.name = "--state",
     .metavar = "STATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, state),
     .help = "none queue execute retry skip pause error close"},
    {.name = "--type",
     .metavar = "TYPE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, type),
     .help = "none time second minute hour day week month"},
    {.name = "--title",
     .metavar = "PATTERN",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, title),
     .help = "plans whose title fits; * stands for anything"},
    {.name = "--limit",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct selection, limit),
     .help = "print at most this many",
     .min = 1,
     .max = INT64_MAX},
};

static const char about[] = "List the plans: a table, or with --json an object a line.\n\n"
                            "  zplan list\n"
                            "  zplan list --station billing --state error\n"
                            "  zplan list --type week --title 'report*' --json\n";

// -- a row of the table

// A text that fills its column, or is longer.
static void print_column (struct span text, int width)
{
    print_bytes (text);
    printf ("%*s ", text.size < (size_t)width ? width - (int)text.size : 0, "");
}

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

// -- the pages

// A page is cut to --limit here, not there: the station counts what it looks at, not what fits.
static char *filter_text (const struct selection *selection, const char *after)
{
    const struct {
        const char *field, *text;
    } fields[] = {{"after", *after ? after : NULL},
                  {"station", selection->station},
                  {"state", selection->state},
                  {"type", selection->type},
                  {"title", selection->title}};
    json_t *filter = json_object ();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].text)
            json_object_set_new (filter, fields[i].field, json_string (fields[i].text));
    json_object_set_new (filter, "limit", json_integer (PAGE));
    char *text = json_write (filter);
    json_decref (filter);
    return text;
}

// Print what the page holds, up to `room` plans. Returns how many.
static int64_t print_page (const struct cli *cli, const json_t *page, int64_t room)
{
    const json_t *plans = json_object_get (page, "plans");
    int64_t count = 0;
    for (size_t i = 0; i < json_array_size (plans) && count < room; i++, count++) {
        if (cli->json)
            print_json (json_array_get (plans, i));
        else
            print_row (json_array_get (plans, i));
    }
    return count;
}

// The end of a page, behind which the next one begins; none behind the last page. A station that
// names the same place again would hold us for ever.
static int advance (const json_t *next, char after[PLAN_ID_SIZE])
{
    char place[PLAN_ID_SIZE];
    struct reason reason;
    if (!json_is_string (next)) {
        after[0] = '\0';
        return EXIT_DONE;
    }
    if (call_plan_id (json_string_value (next), place, &reason) || strcmp (place, after) == 0) {
        complain ("the list does not go on", span_text (json_string_value (next)));
        return EXIT_REFUSED;
    }
    memcpy (after, place, sizeof place);
    return EXIT_DONE;
}

// Fetch the page behind `after` and print it. EXIT_DONE: `after` is the end of the page, empty
// behind the last one.
static int turn_page (const struct cli *cli, struct zplan_client *client,
                      const struct selection *selection, char after[PLAN_ID_SIZE],
                      int64_t *ret_count)
{
    struct zplan_reply reply;
    char *filter = filter_text (selection, after);
    int outcome = zplan_client_list (client, filter, &reply);
    free (filter);
    int code = call_judge (cli, outcome, &reply, NULL);
    json_t *page = code == EXIT_DONE ? call_json (&reply) : NULL;
    if (!page)
        return code == EXIT_DONE ? EXIT_REFUSED : code;

    *ret_count = print_page (cli, page, selection->limit);
    code = advance (json_object_get (page, "next"), after);
    json_decref (page);
    return code;
}

static int print_all (const struct cli *cli, struct zplan_client *client,
                      struct selection selection)
{
    char after[PLAN_ID_SIZE] = "";
    for (int64_t pages = 0; pages < PAGES_MAX; pages++) {
        int64_t count = 0;
        int code = turn_page (cli, client, &selection, after, &count);
        selection.limit -= count;
        if (code != EXIT_DONE || !*after || selection.limit == 0)
            return code;
    }
    complain (NULL, span_text ("the list has no end"));
    return EXIT_REFUSED;
}

// What is not UTF-8 would fall out of the filter, and the list be of everything.
static bool is_utf8 (const char *text)
{
    json_t *string = json_string (text ? text : "");
    json_decref (string);
    return string;
}

static int check_selection (const struct selection *selection, struct reason *reason)
{
    if (selection->state && state_parse (selection->state) < 0)
        reason_set (reason,
                    "--state: want none, queue, execute, retry, skip, pause, error or close, "
                    "got %s",
                    quoted (span_text (selection->state)));
    else if (selection->type && schedule_type_parse (selection->type) < 0)
        reason_set (reason,
                    "--type: want none, time, second, minute, hour, day, week or month, got %s",
                    quoted (span_text (selection->type)));
    else if (!is_utf8 (selection->station) || !is_utf8 (selection->title))
        reason_set (reason, "--station, --title: want UTF-8");
    else
        return 0;
    return -1;
}

int verb_list (const struct cli *cli)
{
    struct selection selection = {.limit = INT64_MAX};
    const struct usage usage = {
        .synopsis = "zplan list [OPTIONS]",
        .about = about,
        .groups = {{"Which", rows, sizeof rows / sizeof *rows, &selection}},
        .group_count = 1,
        .words = "no arguments",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (check_selection (&selection, &reason))
        return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    if (!cli->json)
        print_heading ();
    code = print_all (cli, client, selection);
    zplan_client_destroy (&client);
    return code;
}
