// zplan history: how runs ended, page by page.
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "options.h"
#include "pages.h"
#include "print.h"
#include "table.h"

struct asked {
    int64_t since; // -1 = not given
    const char *epoch, *station;
    bool newest;
    int64_t count;
};

static const struct option rows[] = {
    {.name = "--since",
     .metavar = "SEQ",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct asked, since),
     .help = "only outcomes after this one; tells when some are gone",
     .max = INT64_MAX},
    {.name = "--epoch",
     .metavar = "TEXT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct asked, epoch),
     .help = "what SEQ belongs to: in another one now, all is printed"},
    {.name = "--station",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct asked, station),
     .offered = VALUES_STATIONS,
     .help = "runs at this target station"},
    {.name = "--newest",
     .type = OPTION_FLAG,
     .offset = offsetof (struct asked, newest),
     .help = "the newest first"},
    {.name = "-n",
     .metavar = "COUNT",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct asked, count),
     .help = "print at most this many; of each plan, where ids are given",
     .min = 1,
     .max = INT64_MAX},
};

static const char about[] =
    "Print how runs ended, the oldest first: a table, or with --json an object a line. SEQ counts\n"
    "what the station has published; an outcome without one was not published.\n\n"
    "  zplan history 1f\n"
    "  zplan history --newest -n 20\n"
    "  zplan history --since 4711 --station jobs --json\n";

struct printing {
    const struct cli *cli;
    const struct asked *asked;
    struct table *table; // NULL with --json
    bool told;           // what is missed
};

// -- the table

static void write_seq (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    const json_t *seq = json_object_get (run, "seq");
    fputs (json_integer_value (seq) ? number_word (seq, word) : "-", out);
}

static void write_fired (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    fputs (time_word (json_object_get (run, "fired"), word), out);
}

static void write_took (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    fputs (took_word (json_object_get (run, "fired"), json_object_get (run, "ended"), word), out);
}

static void write_plan (FILE *out, const json_t *run)
{
    write_bytes (out, text_of (json_object_get (run, "plan")));
}

static void write_station (FILE *out, const json_t *run)
{
    write_bytes (out, text_of (json_object_get (run, "station")));
}

static void write_status (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    fputs (status_text (json_object_get (run, "status"), word), out);
}

static enum colour colour_of_status (const json_t *run)
{
    return status_colour (json_object_get (run, "status"));
}

static void write_title (FILE *out, const json_t *run)
{
    write_frame (out, json_object_get (run, "title"));
    write_reason (out, ": ", run);
}

static const struct column columns[] = {
    {.heading = "SEQ", .width = 8, .is_number = true, .write = write_seq},
    {.heading = "FIRED", .width = 20, .write = write_fired},
    {.heading = "TOOK", .width = 11, .is_number = true, .write = write_took},
    {.heading = "PLAN", .width = 16, .write = write_plan},
    {.heading = "STATION", .width = 16, .rule = COLUMN_SHORT, .write = write_station},
    {.heading = "STATUS", .width = 12, .write = write_status, .colour = colour_of_status},
    {.heading = "TITLE", .rule = COLUMN_REST, .write = write_title},
};

// -- the pages

// With the name of the plan that the other verbs give it, in front.
static void print_run (const json_t *run)
{
    json_t *object = json_object ();
    json_object_set (object, "id", json_object_get (run, "plan"));
    json_object_update_missing (object, (json_t *)(uintptr_t)run);
    print_json (object);
    json_decref (object);
}

static bool take_page (struct pages *pages, const json_t *page)
{
    struct printing *self = pages->owner;
    if (json_is_true (json_object_get (page, "missed")) && !self->told) {
        const char *asked = self->asked->epoch;
        const char *epoch = json_string_value (json_object_get (page, "epoch"));
        char first[WORD_SIZE], last[WORD_SIZE];
        if (asked && epoch && strcmp (asked, epoch) != 0)
            complain (NULL,
                      span_text ("the station counts its results anew: this is all that is kept"));
        else if (json_integer_value (json_object_get (page, "last")) < self->asked->since)
            fprintf (stderr, "zplan: there is no outcome %" PRId64 " yet: the last one is %s\n",
                     self->asked->since, number_word (json_object_get (page, "last"), last));
        else
            fprintf (stderr,
                     "zplan: outcomes after %" PRId64 " are gone: the first one kept is %s\n",
                     self->asked->since, number_word (json_object_get (page, "first"), first));
        self->told = true;
    }
    size_t i;
    json_t *run;
    json_array_foreach (json_object_get (page, "runs"), i, run)
    {
        if (pages->room == 0)
            return false;
        if (self->cli->json)
            print_run (run);
        else
            table_row (self->table, run);
        pages->room--;
    }
    return true;
}

// `plan` is an id, or NULL: of all.
static int print_runs (const struct cli *cli, struct zplan_client *client,
                       const struct asked *asked, struct table *table, const char *plan)
{
    struct printing printing = {.cli = cli, .asked = asked, .table = table};
    struct pages pages = {.word = "history",
                          .filter = json_object (),
                          .room = asked->count,
                          .take = take_page,
                          .owner = &printing};
    if (plan)
        json_object_set_new (pages.filter, "plan", json_string (plan));
    if (asked->since >= 0)
        json_object_set_new (pages.filter, "since", json_integer (asked->since));
    if (asked->epoch)
        json_object_set_new (pages.filter, "epoch", json_string (asked->epoch));
    if (asked->station)
        json_object_set_new (pages.filter, "station", json_string (asked->station));
    if (asked->newest)
        json_object_set_new (pages.filter, "newest", json_true ());
    struct verdict verdict = pages_turn (cli, client, &pages);
    json_decref (pages.filter);
    return verdict_tell (&verdict, plan);
}

static int print_all (const struct cli *cli, const struct asked *asked, int plans)
{
    int code;
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    struct table *table =
        cli->json ? NULL : table_new (columns, sizeof columns / sizeof *columns, stdout);
    code = plans == 0 ? print_runs (cli, client, asked, table, NULL) : EXIT_DONE;
    for (int i = 1; i <= plans && code != EXIT_NO_ANSWER; i++) {
        char id[PLAN_ID_SIZE];
        struct reason reason;
        call_plan_id (cli->argv[i], id, &reason); // was checked
        int one = print_runs (cli, client, asked, table, id);
        code = one == EXIT_DONE ? code : one;
    }
    if (code == EXIT_DONE)
        table_end (&table);
    else
        table_break (&table);
    zplan_client_destroy (&client);
    return code;
}

static int check_asked (const struct cli *cli, const struct asked *asked, int plans,
                        struct reason *reason)
{
    for (int i = 1; i <= plans; i++) {
        char id[PLAN_ID_SIZE];
        if (call_plan_id (cli->argv[i], id, reason))
            return -1;
    }
    if (asked->epoch && asked->since < 0) {
        reason_set (reason, "--epoch: goes with --since only");
        return -1;
    }
    return call_text ("--epoch", asked->epoch, reason) ||
                   call_text ("--station", asked->station, reason)
               ? -1
               : 0;
}

int verb_history (const struct cli *cli)
{
    struct asked asked = {.since = -1, .count = INT64_MAX};
    const struct usage usage = {
        .synopsis = "zplan history [ID...] [--since SEQ] [--station NAME] [--newest] [-n COUNT]",
        .about = about,
        .groups = {{"Which runs", rows, sizeof rows / sizeof *rows, &asked}},
        .group_count = 1,
        .words_max = INT_MAX,
        .words = "plan ids",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (check_asked (cli, &asked, count, &reason))
        return usage_error (cli->argv[0], &reason);
    return print_all (cli, &asked, count);
}
