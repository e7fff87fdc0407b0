// zplan flow signal, reject, skip, retry, suspend, resume, cancel of a run, and why, done, reset,
// cancel of a step of it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "flow_command.h"
#include "flow_run_view.h"
#include "json.h"
#include "print.h"
#include "cells.h"

// -- RUN/STEP

enum { STEP_REF_SIZE = 160 };

// Read RUN/STEP or RUN/STEP.ITEM, where RUN may be `last`. Returns an exit code; reports errors.
static int read_step (const struct cli *cli, struct zplan_client *client, const char *text,
                      const char *flow, char out[STEP_REF_SIZE])
{
    const char *slash = strchr (text, '/');
    char given[IDENT_SIZE], run[IDENT_SIZE];
    size_t size = slash ? (size_t)(slash - text) : 0;
    if (size == 0 || size >= sizeof given || !slash[1] ||
        strlen (slash) >= STEP_REF_SIZE - IDENT_SIZE) {
        struct reason reason;
        reason_set (&reason, "want RUN/STEP, got %s", quoted (span_text (text)));
        return usage_error (cli->argv[0], &reason);
    }
    snprintf (given, sizeof given, "%.*s", (int)size, text);
    int code = flow_run_read (cli, client, given, flow, run);
    if (code == EXIT_DONE)
        snprintf (out, STEP_REF_SIZE, "%s%s", run, slash);
    return code;
}

static void print_step (const char *step)
{
    print_between ("step ", span_text (step), ": ");
}

static void print_why (const char *step, const json_t *answer)
{
    const json_t *state = json_object_get (answer, "step_state");
    print_step (step);
    write_coloured (stdout, flow_state_colour (state), text_of (state));
    putchar ('\n');
    why_print (json_object_get (answer, "reasons"));
}

static void print_step_change (const struct cli *cli, const char *word, const char *step)
{
    const char *done = strcmp (word, "done") == 0    ? "its undo is resolved"
                       : strcmp (word, "reset") == 0 ? "its undo is retried"
                                                     : "cancelled";
    if (cli->json) {
        print_json_new (json_pack ("{s:s, s:s}", "step", step, "result", done));
    } else {
        print_step (step);
        puts (done);
    }
}

int flow_step_command (const struct cli *cli, const struct flow_options *options)
{
    struct zplan_reply reply;
    struct zplan_client *client = options->client;
    char step[STEP_REF_SIZE];
    const char *const words[] = {cli->argv[1], step, options->count > 1 ? options->words[1] : NULL,
                                 NULL};
    int code = read_step (cli, client, options->words[0], options->flow, step);
    if (code != EXIT_DONE)
        return code;
    if (strcmp (words[0], "why") == 0)
        return call_print (cli, client, words, step, print_why);
    int outcome =
        zplan_client_manage (client, words[0], words + 1, words_count (words + 1), &reply);
    code = call_report (cli, outcome, &reply, step);
    if (code == EXIT_DONE)
        print_step_change (cli, words[0], step);
    return code;
}

// -- RUN

enum { WORDS_MAX = 4 };

// The command that is sent: the subcommand, RUN and further words.
struct run_command_words {
    const char *words[WORDS_MAX + 1]; // words of the command, and a NULL
    size_t count;
    char *options; // JSON, one of the words; owned
};

static json_t *read_value (const char *option, const char *text, struct reason *reason)
{
    struct reason why;
    json_t *value = expr_read_json (span_text (text), &why);
    if (!value)
        reason_set (reason, "%s: want JSON, as 5, '\"text\"' or '{\"a\": 1}': %s", option,
                    why.text);
    return value;
}

static void add_options (struct run_command_words *command, json_t *options)
{
    command->options = json_write (options);
    json_decref (options);
    command->words[command->count++] = command->options;
}

static void add_retry (struct run_command_words *command, char **args, int count,
                       const struct flow_options *options)
{
    json_t *steps = count ? json_array () : NULL;
    for (int i = 0; i < count; i++)
        json_array_append_new (steps, json_from_frame (span_text (args[i])));
    add_options (command, json_pack ("{s:o*, s:o*, s:o*, s:o*, s:s*}", "steps", steps, "fresh",
                                     options->fresh ? json_true () : NULL, "restart",
                                     options->restart ? json_true () : NULL, "version",
                                     options->version ? json_integer (options->version) : NULL,
                                     "reason", options->reason));
}

// Add the words of the subcommand; `args` are the `count` arguments after RUN. False with a reason.
static bool add_words (struct run_command_words *command, char **args, int count,
                       const struct flow_options *options, struct reason *reason)
{
    const char *word = command->words[0];
    bool skips = strcmp (word, "skip") == 0;
    const char *text = skips ? options->skip_value : NULL;
    if (strcmp (word, "signal") == 0 && count > 1)
        text = args[1];
    json_t *value = text ? read_value (skips ? "--value" : word, text, reason) : NULL;
    if (strcmp (word, "retry") == 0) {
        add_retry (command, args, count, options);
    } else if (strcmp (word, "cancel") == 0) {
        // Always send both words, so that the reason `force` is not taken for the flag.
        command->words[command->count++] = count ? args[0] : "";
        command->words[command->count++] = options->force ? "force" : "";
    } else {
        for (int i = 0; i < count && command->count < WORDS_MAX; i++)
            command->words[command->count++] = args[i];
    }
    if (skips)
        add_options (command,
                     json_pack ("{s:O*, s:s*}", "value", value, "reason", options->reason));
    json_decref (value);
    return value || !text;
}

int flow_run_command (const struct cli *cli, const struct flow_options *options)
{
    char run[IDENT_SIZE], **args = options->words;
    const char *word = cli->argv[1];
    struct reason reason;
    struct run_command_words command = {.words = {word, run}, .count = 2};
    if (strcmp (word, "cancel") == 0 && strchr (args[0], '/'))
        return flow_step_command (cli, options);
    json_t *answer = NULL;
    int code;
    if (!add_words (&command, args + 1, options->count - 1, options, &reason))
        code = usage_error (cli->argv[0], &reason);
    else
        code = flow_run_read (cli, options->client, args[0], options->flow, run);
    if (code == EXIT_DONE)
        answer = flow_send_command (cli, options->client, command.words, run, &code);
    if (answer && cli->json)
        flow_run_print_json (cli, answer);
    else if (answer)
        flow_run_print_state (answer);
    json_decref (answer);
    free (command.options);
    return code;
}
