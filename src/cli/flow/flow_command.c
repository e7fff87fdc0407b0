#include "flow_command.h"

#include <string.h>

#include "flow_help.h"

// Find the subcommand among the arguments, before the options are read: each has its own options
// and help. NULL: there is none.
static const struct flow_verb *find_word (const struct cli *cli)
{
    for (int i = 1; !cli->describe && i < cli->argc; i++)
        for (int word = 0; word < FLOW_WORDS; word++)
            if (strcmp (cli->argv[i], flow_rows[word].word.name) == 0)
                return &flow_rows[word];
    return NULL;
}

int verb_flow (const struct cli *typed)
{
    bool helps = !typed->describe && typed->argc > 1 && strcmp (typed->argv[1], "help") == 0;
    // `zplan flow help show` is `zplan flow show --help`.
    char *help_words[] = {"flow", "--help", helps ? typed->argv[2] : NULL, NULL};
    struct cli asked = *typed;
    const struct cli *cli = helps ? &asked : typed;
    asked.argv = help_words;
    asked.argc = help_words[2] ? 3 : 2;
    struct flow_wish wish = {.runs = 1};
    struct flow_help help = {0};
    struct usage usage;
    struct subcommand words[FLOW_WORDS];
    int count, code;
    struct reason reason;
    flow_help_start (&help, find_word (cli), &wish, &usage);
    bool read = options_read (&usage, cli, &count, &code);
    flow_help_clear (&help);
    if (!read)
        return code;
    for (size_t i = 0; i < FLOW_WORDS; i++)
        words[i] = flow_rows[i].word;
    int word = subcommand_read (words, FLOW_WORDS, cli, count, &reason);
    if (word >= 0 && wish.ascii + wish.dot + wish.mermaid + wish.svg > 1) {
        reason_set (&reason, "want one of --ascii, --dot, --mermaid and --svg");
        word = -1;
    }
    if (word < 0)
        return usage_error (cli->argv[0], &reason);
    wish.words = cli->argv + 2;
    wish.count = count - 1;
    wish.form = wish.dot       ? FLOW_DOT
                : wish.mermaid ? FLOW_MERMAID
                : wish.svg     ? FLOW_SVG
                               : FLOW_LAYERS;
    bool connects = flow_rows[word].section != LOCAL && !flow_rows[word].connects_itself;
    if (connects && !(wish.client = call_open (cli, &code)))
        return code;
    code = flow_rows[word].run (cli, &wish);
    zplan_client_destroy (&wish.client);
    return code;
}
