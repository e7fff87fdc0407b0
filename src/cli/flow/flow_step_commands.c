// zplan flow why, done, reset, and cancel of RUN/STEP: the station's commands about a step.
#include <stdio.h>
#include <string.h>

#include "flow_command.h"
#include "flow_run_view.h"
#include "print.h"
#include "verb_why.h"

enum { STEP_REF_SIZE = 160, WORDS_MAX = 3 };

// The texts after a command whose reply has no reasons.
static const struct {
    const char *name, *done;
} changes[] = {
    {"done", "its undo is resolved"}, {"reset", "its undo is retried"}, {"cancel", "cancelled"}};

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
    const char *done = "";
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (strcmp (changes[i].name, word) == 0)
            done = changes[i].done;
    if (cli->json) {
        print_json_new (json_pack ("{s:s, s:s}", "step", step, "result", done));
    } else {
        print_step (step);
        puts (done);
    }
}

static int send_step_command (const struct cli *cli, struct zplan_client *client,
                              const char *const *words, size_t count)
{
    struct zplan_reply reply;
    int outcome = zplan_client_manage (client, words[0], words + 1, count - 1, &reply);
    int code = call_report (cli, outcome, &reply, words[1]);
    if (code != EXIT_DONE)
        return code;
    if (strcmp (words[0], "why") != 0) {
        print_step_change (cli, words[0], words[1]);
        return code;
    }
    json_t *answer = call_json (&reply);
    if (answer && cli->json)
        print_answer (cli, JSON_ANSWER, answer);
    else if (answer)
        print_why (words[1], answer);
    code = answer ? EXIT_DONE : EXIT_REFUSED;
    json_decref (answer);
    return code;
}

int flow_step_word (const struct cli *cli, const struct flow_wish *wish)
{
    int code, count = wish->count;
    char step[STEP_REF_SIZE], **args = wish->words;
    const char *const words[WORDS_MAX] = {cli->argv[1], step, count > 1 ? args[1] : NULL};
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = read_step (cli, client, args[0], wish->flow, step);
    if (client && code == EXIT_DONE)
        code = send_step_command (cli, client, words, count > 1 ? 3 : 2);
    zplan_client_destroy (&client);
    return code;
}
