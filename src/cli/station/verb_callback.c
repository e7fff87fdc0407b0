// zplan callback: deliveries of outcomes over HTTP: the pending and the permanently failed ones,
// and test deliveries.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "call.h"
#include "json.h"
#include "options.h"
#include "pages.h"
#include "print.h"
#include "text_table.h"
#include "zplan_codes.h"

static const char about[] =
    "Callbacks: what came of runs, sent over HTTP by zplan-callback. List those that were\n"
    "not delivered yet (the default), send dead ones again, or send a test. A test takes the\n"
    "path of all: the sender's secrets and its rules of where it may connect.\n\n"
    "  zplan callback list\n"
    "  zplan callback redeliver 19a1fb4d\n"
    "  zplan callback test jobs https://hooks.example/alert --secret billing\n"
    "  zplan add --command backup --daily 2:00 --callback https://hooks.example/alert\n";

struct callback_options {
    const char *secret;
    bool put;
};

static const struct option rows[] = {
    TEXT_OPTION (struct callback_options, secret, "--secret", "NAME",
                 "test: sign it with this secret of the sender", .utf8 = true),
    FLAG_OPTION (struct callback_options, put, "--put", "test: with PUT instead of POST"),
};

// Find the station's target for callbacks. Returns an exit code; after EXIT_DONE an empty `out`
// means that there is none yet.
enum { NAME_SIZE = 65 };
static int find_target (const struct cli *cli, struct zplan_client *client, char out[NAME_SIZE])
{
    int code;
    size_t i;
    const json_t *target;
    json_t *answer =
        call_command (cli, client, (const char *const[]){"station", "list", NULL}, NULL, &code);
    out[0] = '\0';
    json_array_foreach (json_object_get (answer, "stations"), i, target)
    {
        const char *name = json_string_value (json_object_get (target, "name"));
        if (name && field_is_true (target, "callbacks"))
            snprintf (out, NAME_SIZE, "%s", name);
    }
    json_decref (answer);
    return code;
}

// -- list

static void write_id (FILE *out, const json_t *id)
{
    fprintf (out, "%llx", (unsigned long long)json_integer_value (id));
}

static void write_state (FILE *out, const json_t *number)
{
    static const char *const words[] = {[1] = "queued", [2] = "queued", [3] = "retrying",
                                        [5] = "paused", [6] = "dead",   [7] = "given up"};
    json_int_t state = json_integer_value (number);
    bool known = state > 0 && state < (json_int_t)(sizeof words / sizeof *words) && words[state];
    fputs (known ? words[state] : "?", out);
}

static void write_callback_plan (FILE *out, const json_t *ext)
{
    write_bytes (out, field_text (ext, "plan"));
}

static const struct column columns[] = {
    COLUMN ("ID", 16, .rule = COLUMN_WHOLE, .field = "plan_id", .write = write_id),
    COLUMN ("STATE", 8, .field = "plan_state", .write = write_state),
    COLUMN ("TRIES", 5, .field = "error_count", .write = column_number),
    COLUMN ("TARGET", 12, .rule = COLUMN_SHORT, .field = "source"),
    COLUMN ("OF PLAN", 16, .rule = COLUMN_WHOLE, .field = "ext", .write = write_callback_plan),
    COLUMN ("LAST TRY", 0, .rule = COLUMN_REST, .field = "error_info"),
};

struct callback_listing {
    const struct cli *cli;
    struct text_table *table;
};

static bool handle_plan (struct pages *pages, json_t *plan)
{
    const struct callback_listing *self = pages->owner;
    if (self->cli->json)
        print_answer (self->cli, JSON_PLAN, plan);
    else
        table_add_row (self->table, plan);
    return true;
}

static int callback_list (const struct subcommand_call *request)
{
    const struct cli *cli = request->cli;
    char target[NAME_SIZE];
    int code = find_target (cli, request->client, target);
    if (code != EXIT_DONE || !target[0])
        return code;
    struct callback_listing listing = {
        cli, cli->json ? NULL : table_new (columns, sizeof columns / sizeof *columns, stdout)};
    struct pages pages = {.word = "list",
                          .filter = json_pack ("{s:s}", "station", target),
                          .room = INT64_MAX,
                          .take_item = handle_plan,
                          .owner = &listing};
    struct verdict verdict = pages_read (cli, request->client, &pages);
    table_end (&listing.table);
    return verdict_print (&verdict, NULL);
}

// -- redeliver

static int redeliver_callback (const struct cli *cli, struct zplan_client *client, const char *text)
{
    struct reason reason;
    char id[PLAN_ID_SIZE];
    if (call_plan_id (text, id, &reason))
        return usage_error (cli->argv[0], &reason);
    return call_change (cli, client, (const char *[]){"callback", "redeliver", id, NULL},
                        &(struct change_report){.name = span_text (id),
                                                .field = "callback",
                                                .label = "callback ",
                                                .past = ": sent again"},
                        id);
}

// -- test

enum { POLL_MS = 200, WAIT_MS = 30000 };

// Read the first try of a delivery; NULL: none was made yet, or an error was reported. `ret_code`
// is the exit code.
static json_t *read_first_try (const struct cli *cli, struct zplan_client *client,
                               const char *target, const char *id, int *ret_code)
{
    struct verdict verdict;
    json_t *answer = call_with_filter (
        cli, client, "history",
        json_pack ("{s:s, s:s, s:i}", "station", target, "plan", id, "limit", 1), &verdict);
    *ret_code = verdict_print (&verdict, NULL);
    json_t *run = json_incref (json_array_get (json_object_get (answer, "runs"), 0));
    json_decref (answer);
    return run;
}

static int report_try (const struct cli *cli, const char *id, const json_t *run)
{
    struct span reason = field_text (run, "reason");
    bool good = field_number (run, "status") < ZERO_STATUS_ERROR_FLAG;
    if (cli->json) {
        print_answer_new (cli, JSON_ANSWER,
                          json_pack ("{s:s, s:b, s:o}", "callback", id, "delivered", run && good,
                                     "reason", run ? json_from_frame (reason) : json_null ()));
    } else if (!run) {
        fprintf (stderr,
                 "zplan: callback %s: nobody has sent it within %d s: does zplan-callback run?\n",
                 id, WAIT_MS / 1000);
    } else {
        printf ("callback %s %s", id, good ? "delivered" : "failed");
        print_between (reason.size ? ": " : "", reason, "\n");
    }
    return run && good ? EXIT_DONE : EXIT_REFUSED;
}

static int await_delivery (const struct cli *cli, struct zplan_client *client, const char *id)
{
    char target[NAME_SIZE];
    int code = find_target (cli, client, target);
    json_t *run = NULL;
    for (int waited = 0; code == EXIT_DONE && !run && waited < WAIT_MS; waited += POLL_MS) {
        usleep (POLL_MS * 1000);
        run = read_first_try (cli, client, target, id, &code);
    }
    if (code == EXIT_DONE)
        code = report_try (cli, id, run);
    json_decref (run);
    return code;
}

static int callback_test (const struct subcommand_call *request)
{
    const struct cli *cli = request->cli;
    const struct callback_options *options = request->options;
    struct zplan_reply reply;
    char id[PLAN_ID_SIZE];
    json_t *callback =
        json_pack ("{s:{s:s, s:s}, s:s*}", "success", "url", request->args[1], "method",
                   options->put ? "PUT" : "POST", "secret", options->secret);
    char *text = callback ? json_write (callback) : NULL;
    int outcome = zplan_client_manage (
        request->client, "callback", (const char *[]){"test", request->args[0], text ? text : "{}"},
        3, &reply);
    int code = call_report (cli, outcome, &reply, NULL);
    free (text);
    json_decref (callback);
    if (code != EXIT_DONE)
        return code;
    struct span given = call_frame (&reply, ZERO_FRAME_GLOBAL_ID);
    snprintf (id, sizeof id, "%.*s", (int)given.size, (const char *)given.data);
    return await_delivery (cli, request->client, id);
}

static const struct subcommand_row words[] = {
    {{"list", 0, 0, "unexpected argument"}, callback_list, NULL},
    {{"redeliver", 1, INT_MAX, "want at least one id of a callback"}, NULL, redeliver_callback},
    {{"test", 2, 2, "want a target and a URL"}, callback_test, NULL},
};

int verb_callback (const struct cli *cli)
{
    struct callback_options options = {0};
    const struct usage usage = {
        .synopsis =
            "zplan callback [list] | redeliver ID... | test TARGET URL [--secret NAME] [--put]",
        .about = about,
        .groups = {OPTION_GROUP ("Test", rows, &options)},
        .words_max = INT_MAX,
        .words = "list, redeliver or test",
    };
    return subcommand_run (cli, &usage, words, sizeof words / sizeof *words, &options);
}
