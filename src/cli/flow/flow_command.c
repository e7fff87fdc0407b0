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

static bool form_read (const struct flow_wish *wish, enum flow_form *ret, struct reason *reason)
{
    if (wish->ascii + wish->dot + wish->mermaid + wish->svg > 1) {
        reason_set (reason, "want one of --ascii, --dot, --mermaid and --svg");
        return false;
    }
    *ret = wish->dot ? FLOW_DOT : wish->mermaid ? FLOW_MERMAID : wish->svg ? FLOW_SVG : FLOW_LAYERS;
    return true;
}

static int run (const struct cli *cli, enum flow_word word, int count, const struct flow_wish *wish,
                enum flow_form form)
{
    char **behind = cli->argv + 2;
    switch (word) {
    case FLOW_CHECK:
        return flow_check (cli, behind, count);
    case FLOW_GRAPH:
        return flow_draw (cli, behind[0], wish->flow, form);
    case FLOW_SIMULATE:
        return flow_rehearse (cli, behind, count, wish);
    case FLOW_PUT_FILE:
        return flow_put (cli, behind, count);
    case FLOW_USE_VERSION:
        return flow_use (cli, behind);
    case FLOW_GET:
        return flow_get (cli, behind, count);
    case FLOW_LIST:
        return flow_list (cli, behind, count);
    case FLOW_REMOVE_ALL:
        return flow_remove (cli, behind, count);
    case FLOW_EXPORT:
        return flow_export (cli, behind, count);
    case FLOW_IMPORT:
        return flow_import (cli, behind[0]);
    case FLOW_START_RUN:
        return flow_start (cli, behind[0], wish);
    case FLOW_BACKFILL:
        return flow_backfill (cli, behind[0], wish);
    case FLOW_SHOW_RUNS:
        return flow_runs (cli, wish);
    case FLOW_SHOW_RUN:
        return wish->graph ? flow_draw_run (cli, behind[0], wish->flow, FLOW_LAYERS)
                           : flow_show (cli, behind[0], wish);
    case FLOW_SHOW_LOG:
        return flow_log (cli, behind[0], wish);
    case FLOW_SHOW_WHY:
    case FLOW_DONE_UNDO:
    case FLOW_RESET_UNDO:
        return flow_step_word (cli, words[word].name, behind, count, wish);
    default:
        if (word == FLOW_CANCEL_RUN && strchr (behind[0], '/'))
            return flow_step_word (cli, words[word].name, behind, count, wish);
        return flow_act (cli, words[word].name, behind, count, wish);
    }
}

// Each subcommand has options and a help of its own, so it is looked for before they are read.
static enum flow_word find_word (const struct cli *cli)
{
    for (int i = 1; !cli->describe && i < cli->argc; i++)
        for (int word = 0; word < FLOW_WORDS; word++)
            if (strcmp (cli->argv[i], words[word].name) == 0)
                return (enum flow_word)word;
    return FLOW_WORDS;
}

int verb_flow (const struct cli *cli)
{
    struct flow_wish wish = {.runs = 1};
    struct flow_help help = {0};
    struct usage usage;
    int count, code;
    struct reason reason;
    enum flow_form form;
    flow_help_start (&help, find_word (cli), &wish, &usage);
    bool read = options_read (&usage, cli, &count, &code);
    flow_help_clear (&help);
    if (!read)
        return code;
    int word = subword_read (words, FLOW_WORDS, cli, count, &reason);
    if (word < 0 || !form_read (&wish, &form, &reason))
        return usage_error (cli->argv[0], &reason);
    return run (cli, (enum flow_word)word, count - 1, &wish, form);
}
