// zplan target: lists the station's targets, and adds and removes them while it runs.
#include <jansson.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "memory.h"
#include "options.h"
#include "print.h"
#include "scrub.h"
#include "text_table.h"

static const char about[] =
    "The targets, where plans are sent: `list` (the default) prints them, `add` and `remove`\n"
    "change them while the station runs. It keeps what was added; a target of its settings\n"
    "cannot be removed. `add` takes what zpland --station takes, NAME=TYPE@ENDPOINT with\n"
    "TYPE api, pub or vote, or NAME=pull, whose plans workers fetch. Behind a comma:\n"
    "  dialect=NAME      zeronet (the default) or microzero\n"
    "  mailbox=NAME      frame (the default) or identity: how it routes answers\n"
    "  key=TEXT          its service key\n"
    "  curve=KEY         the public key of a target that is a CURVE server\n"
    "  concurrency=N     at most N concurrent runs\n"
    "  rate=N            at most N starts per second\n"
    "  burst=N           starts that may come at one instant\n"
    "  kind=NAME         the kind of its plans that name none\n"
    "A key on the command line can be seen by everybody on the machine until it is read,\n"
    "and stays in the history of the shell: `add -` reads targets from standard input, one\n"
    "per line.\n\n"
    "  zplan target list\n"
    "  zplan target add jobs=api@tcp://127.0.0.1:7930\n"
    "  zplan target add old=api@tcp://10.0.0.7:8000,dialect=microzero,concurrency=4\n"
    "  zplan target add pile=pull\n"
    "  zplan target add - <target-with-key.txt\n"
    "  zplan target remove jobs\n";

// -- list

static const struct column columns[] = {
    COLUMN ("NAME", 16, .rule = COLUMN_SHORT, .field = "name"),
    COLUMN ("TYPE", 4, .field = "type"),
    COLUMN ("ENDPOINT", 26, .rule = COLUMN_SHORT, .field = "endpoint"),
    COLUMN ("DIALECT", 9, .rule = COLUMN_SPARE, .field = "dialect"),
    COLUMN ("MAILBOX", 8, .rule = COLUMN_SPARE, .field = "mailbox"),
    COLUMN ("ORIGIN", 8, .rule = COLUMN_SPARE, .field = "origin"),
    COLUMN ("STATE", 10, .field = "connected", .write = column_connected,
            .colour = connected_colour),
    COLUMN ("UNANSWERED", 0, .rule = COLUMN_REST, .field = "unanswered", .write = column_number),
};

static int target_list (const struct subcommand_call *request)
{
    int code;
    const char *const request_words[] = {"station", "list", NULL};
    json_t *answer = call_command (request->cli, request->client, request_words, NULL, &code);
    if (answer)
        table_print (request->cli, JSON_TARGET, columns, sizeof columns / sizeof *columns,
                     json_object_get (answer, "stations"));
    json_decref (answer);
    return code;
}

// -- add, remove

// Send `add` or `remove`, and report it. `text` is NAME=...; only the name is printed, because the
// rest may contain a key.
static int target_change (const struct cli *cli, struct zplan_client *client, const char *text)
{
    const char *word = cli->argv[1];
    bool adds = strcmp (word, "add") == 0;
    const struct change_report change = {.name = span_of (text, strcspn (text, "=")),
                                         .field = "station",
                                         .label = "target ",
                                         .past = adds ? " added" : " removed"};
    return call_change (cli, client, (const char *[]){"station", word, text, NULL}, &change,
                        quoted (change.name));
}

// Add the target of each line of standard input.
static int add_targets_from_stdin (const struct cli *cli, struct zplan_client *client)
{
    int code = EXIT_DONE;
    char *line = NULL;
    size_t room = 0;
    while (code != EXIT_NO_ANSWER && getline (&line, &room, stdin) >= 0) {
        line[strcspn (line, "\r\n")] = '\0';
        int result = *line ? target_change (cli, client, line) : EXIT_DONE;
        code = result == EXIT_DONE ? code : result;
    }
    if (ferror (stdin)) {
        complain ("stdin", span_text (strerror (errno)));
        code = EXIT_REFUSED;
    }
    free (line);
    return code;
}

static int target_add (const struct cli *cli, struct zplan_client *client, const char *text)
{
    return strcmp (text, "-") == 0 ? add_targets_from_stdin (cli, client)
                                   : target_change (cli, client, text);
}

// Add the targets of the command line, from which their keys are erased before waiting for the
// station.
static int add_targets (const struct subcommand_call *request)
{
    size_t count = (size_t)request->count;
    char **texts = memory_new (count * sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        texts[i] = memory_text (request->args[i]);
        scrub_keys (request->args[i]);
    }
    int code =
        call_for_each_argument (request->cli, request->client, texts, request->count, target_add);
    for (size_t i = 0; i < count; i++)
        free (texts[i]);
    free (texts);
    return code;
}

static const struct subcommand_row rows[] = {
    {{"list", 0, 0, "unexpected argument"}, target_list, NULL},
    {{"add", 1, INT_MAX, "want at least one target, or -"}, add_targets, NULL},
    {{"remove", 1, INT_MAX, "want at least one target"}, NULL, target_change},
};

int verb_target (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis =
            "zplan target [list] | add NAME=TYPE@ENDPOINT[,...]... | add - | remove NAME...",
        .about = about,
        .words_max = INT_MAX,
        .words = "list, add or remove",
    };
    return subcommand_run (cli, &usage, rows, sizeof rows / sizeof *rows, NULL);
}
