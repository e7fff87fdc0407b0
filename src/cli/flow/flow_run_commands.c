// zplan flow signal, reject, skip, retry, suspend, resume, cancel: manual actions on a run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "flow_command.h"
#include "flow_run_view.h"
#include "json.h"
#include "print.h"

enum { WORDS_MAX = 4 };

// The command for the station: the subcommand, RUN and further words.
struct act_words {
    const char *words[WORDS_MAX + 1]; // words of the command, and a NULL
    size_t count;
    char *options; // JSON, the text of one of the words; freed at the end
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

static void add_options (struct act_words *command, json_t *options)
{
    command->options = json_write (options);
    json_decref (options);
    command->words[command->count++] = command->options;
}

static bool add_signal (struct act_words *command, char **args, int count, struct reason *reason)
{
    json_t *value = count > 1 ? read_value ("signal", args[1], reason) : NULL;
    command->words[command->count++] = args[0];
    if (value)
        command->words[command->count++] = args[1];
    json_decref (value);
    return value || count < 2;
}

static bool add_skip (struct act_words *command, char **args, const struct flow_wish *wish,
                      struct reason *reason)
{
    json_t *value = wish->skip_value ? read_value ("--value", wish->skip_value, reason) : NULL;
    command->words[command->count++] = args[0];
    add_options (command, json_pack ("{s:o*, s:s*}", "value", value, "reason", wish->reason));
    return value || !wish->skip_value;
}

static void add_retry (struct act_words *command, char **args, int count,
                       const struct flow_wish *wish)
{
    json_t *steps = count ? json_array () : NULL;
    for (int i = 0; i < count; i++)
        json_array_append_new (steps, json_from_frame (span_text (args[i])));
    add_options (command, json_pack ("{s:o*, s:o*, s:o*, s:o*, s:s*}", "steps", steps, "fresh",
                                     wish->fresh ? json_true () : NULL, "restart",
                                     wish->restart ? json_true () : NULL, "version",
                                     wish->version ? json_integer (wish->version) : NULL, "reason",
                                     wish->reason));
}

// Add the words of the subcommand; `args` are the `count` arguments after RUN.
static bool add_words (struct act_words *command, char **args, int count,
                       const struct flow_wish *wish, struct reason *reason)
{
    const char *word = command->words[0];
    if (strcmp (word, "signal") == 0)
        return add_signal (command, args, count, reason);
    if (strcmp (word, "skip") == 0)
        return add_skip (command, args, wish, reason);
    if (strcmp (word, "retry") == 0) {
        add_retry (command, args, count, wish);
    } else if (strcmp (word, "cancel") == 0) {
        // Always send both words, so that the reason `force` is not taken for the flag.
        command->words[command->count++] = count ? args[0] : "";
        command->words[command->count++] = wish->force ? "force" : "";
    } else {
        for (int i = 0; i < count && command->count < WORDS_MAX; i++)
            command->words[command->count++] = args[i];
    }
    return true;
}

int flow_act (const struct cli *cli, const struct flow_wish *wish)
{
    int code;
    char **args = wish->words;
    const char *word = cli->argv[1];
    struct reason reason;
    char run[IDENT_SIZE];
    struct act_words command = {.words = {word, run}, .count = 2};
    if (strcmp (word, "cancel") == 0 && strchr (args[0], '/'))
        return flow_step_word (cli, wish);
    if (!add_words (&command, args + 1, wish->count - 1, wish, &reason)) {
        free (command.options);
        return usage_error (cli->argv[0], &reason);
    }
    struct zplan_client *client = flow_run_open (cli, args[0], wish->flow, run, &code);
    json_t *answer = client ? flow_send_command (cli, client, command.words, run, &code) : NULL;
    if (answer && cli->json)
        flow_run_print_json (cli, answer);
    else if (answer)
        flow_run_print_state (answer);
    json_decref (answer);
    free (command.options);
    zplan_client_destroy (&client);
    return code;
}
