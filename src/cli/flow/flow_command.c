#include "flow_command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "flow_help.h"
#include "subword.h"

static const struct subword words[FLOW_WORDS] = {
    [FLOW_CHECK] = {"check", 1, INT_MAX, "want a file"},
    [FLOW_GRAPH] = {"graph", 1, 1, "want one file, flow or run"},
    [FLOW_SIMULATE] = {"simulate", 1, INT_MAX, "want a file"},
    [FLOW_PUT_FILE] = {"put", 1, 2, "want a file, and perhaps the last version"},
    [FLOW_USE_VERSION] = {"use", 2, 2, "want a flow and a version"},
    [FLOW_GET] = {"get", 1, 2, "want a flow, and perhaps a version"},
    [FLOW_LIST] = {"list", 0, 1, "want at most one name, which may end in *"},
    [FLOW_REMOVE_ALL] = {"remove", 1, INT_MAX, "want at least one flow"},
    [FLOW_EXPORT] = {"export", 0, INT_MAX, "want names of flows"},
    [FLOW_IMPORT] = {"import", 1, 1, "want one file; - is standard input"},
    [FLOW_START_RUN] = {"start", 1, 1, "want one flow"},
    [FLOW_BACKFILL] = {"backfill", 1, 1, "want one flow"},
    [FLOW_SHOW_RUNS] = {"runs", 0, 0, "want no arguments; --flow NAME has the runs of a flow"},
    [FLOW_SHOW_RUN] = {"show", 1, 1, "want one run"},
    [FLOW_SHOW_LOG] = {"log", 1, 1, "want one run"},
    [FLOW_SHOW_WHY] = {"why", 1, 1, "want RUN/STEP"},
    [FLOW_DONE_UNDO] = {"done", 1, 1, "want RUN/STEP"},
    [FLOW_RESET_UNDO] = {"reset", 1, 1, "want RUN/STEP"},
    [FLOW_SIGNAL_RUN] = {"signal", 2, 3, "want a run, a step, and perhaps JSON in quotes"},
    [FLOW_REJECT_RUN] = {"reject", 2, 3, "want a run, a step, and perhaps a reason in quotes"},
    [FLOW_SKIP_STEP] = {"skip", 2, 2, "want a run and a step"},
    [FLOW_RETRY_RUN] = {"retry", 1, INT_MAX, "want a run, and perhaps steps"},
    [FLOW_SUSPEND_RUN] = {"suspend", 1, 2, "want a run, and perhaps a reason in quotes"},
    [FLOW_RESUME_RUN] = {"resume", 1, 1, "want one run"},
    [FLOW_CANCEL_RUN] = {"cancel", 1, 2, "want a run or RUN/STEP, and perhaps a reason in quotes"},
};

static flow_fn *const runs[FLOW_WORDS] = {
    [FLOW_CHECK] = flow_check,         [FLOW_GRAPH] = flow_draw,
    [FLOW_SIMULATE] = flow_rehearse,   [FLOW_PUT_FILE] = flow_put,
    [FLOW_USE_VERSION] = flow_use,     [FLOW_GET] = flow_get,
    [FLOW_LIST] = flow_list,           [FLOW_REMOVE_ALL] = flow_remove,
    [FLOW_EXPORT] = flow_export,       [FLOW_IMPORT] = flow_import,
    [FLOW_START_RUN] = flow_start,     [FLOW_BACKFILL] = flow_backfill,
    [FLOW_SHOW_RUNS] = flow_runs,      [FLOW_SHOW_RUN] = flow_show,
    [FLOW_SHOW_LOG] = flow_log,        [FLOW_SHOW_WHY] = flow_step_word,
    [FLOW_DONE_UNDO] = flow_step_word, [FLOW_RESET_UNDO] = flow_step_word,
    [FLOW_SIGNAL_RUN] = flow_act,      [FLOW_REJECT_RUN] = flow_act,
    [FLOW_SKIP_STEP] = flow_act,       [FLOW_RETRY_RUN] = flow_act,
    [FLOW_SUSPEND_RUN] = flow_act,     [FLOW_RESUME_RUN] = flow_act,
    [FLOW_CANCEL_RUN] = flow_act};

// Each subcommand has options and a help of its own, so it is looked for before they are read.
static enum flow_word find_word (const struct cli *cli)
{
    for (int i = 1; !cli->describe && i < cli->argc; i++)
        for (int word = 0; word < FLOW_WORDS; word++)
            if (strcmp (cli->argv[i], words[word].name) == 0)
                return (enum flow_word)word;
    return FLOW_WORDS;
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
    int count, code;
    struct reason reason;
    flow_help_start (&help, find_word (cli), &wish, &usage);
    bool read = options_read (&usage, cli, &count, &code);
    flow_help_clear (&help);
    if (!read)
        return code;
    int word = subword_read (words, FLOW_WORDS, cli, count, &reason);
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
    return runs[word](cli, &wish);
}
