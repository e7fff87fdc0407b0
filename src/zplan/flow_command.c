#include "flow_command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "subword.h"

static const char about[] =
    "Flows: steps that wait for each other. A definition is a file, JSON or YAML; `-` is\n"
    "standard input. These need no station:\n"
    "  check FILE... say what is wrong with it, everything at once; else how many\n"
    "                calls a run makes at most, whether its time is bounded, and what\n"
    "                looks like a mistake. A target is a flow when its file is given\n"
    "                as well\n"
    "  graph FILE    draw it: a line for each step, by layers. A step stands below\n"
    "                all steps that it waits for. --dot and --mermaid write texts for\n"
    "                programs that draw, --svg runs `dot` of Graphviz\n"
    "  simulate FILE...\n"
    "                run the first one on a virtual clock, with the rules of the\n"
    "                station: a line an event, when the run ends, its critical path,\n"
    "                and what it waited for: slots, targets, limits, workers. The\n"
    "                other files are its sub-flows, whose steps are called\n"
    "                STEP/INNER. Nothing is sent or written\n\n"
    "The station keeps definitions, each with its versions 1, 2, ...:\n"
    "  put FILE [LAST]\n"
    "                make it the next version, unless it is as the last one. It is\n"
    "                checked with the targets and flows of the station. With LAST it\n"
    "                is rejected unless that is the last version, 0: unless it is new\n"
    "  use NAME VERSION\n"
    "                use this version for new runs. With an older one it stays in use\n"
    "                when others are put, until the last one is used again\n"
    "  get NAME [VERSION]\n"
    "                print the version in use, or this one\n"
    "  list [NAME]   print which there are; a NAME may end in *\n"
    "  remove NAME...\n"
    "                remove it with all versions, if nothing refers to it: no plans,\n"
    "                and no other flow\n\n"
    "A definition has a name and steps; a step has a target, or it waits, or it computes:\n"
    "  flow: greeting\n"
    "  steps:\n"
    "    name:  {target: jobs, command: name}\n"
    "    greet: {after: [name], target: jobs, command: echo,\n"
    "            args: [\"='hello ' + steps.name.value\"]}\n\n"
    "  zplan flow check greeting.yaml\n"
    "  zplan flow check night.json etl.json  # night has a step whose target is etl\n"
    "  zplan flow graph greeting.yaml\n"
    "  zplan flow graph greeting.yaml --svg >greeting.svg\n"
    "  zplan flow put greeting.yaml\n"
    "  zplan flow get greeting >greeting.json\n"
    "  zplan flow use greeting 1\n"
    "  zplan flow simulate greeting.yaml --last name=5m --fail greet:2\n"
    "  zplan flow simulate greeting.yaml --limit jobs=2 --workers jobs=eu,us\n"
    "  zplan flow simulate night.json etl.json --cron '0 2 * * *' --runs 30\n"
    "  zplan flow simulate night.json etl.json --cron '0 2 * * *' --runs 30 \\\n"
    "    --last etl/load=30h --overlap-policy queue  # a run that takes too long\n";

static const struct option rows[] = {
    {.name = "--ascii",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, ascii),
     .help = "a line for each step, the default"},
    {.name = "--dot",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, dot),
     .help = "a text for Graphviz"},
    {.name = "--mermaid",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, mermaid),
     .help = "a text for Mermaid"},
    {.name = "--svg",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, svg),
     .help = "a picture; `dot` of Graphviz makes it"},
};

static const struct option simulate_rows[] = {
    {.name = "--at",
     .metavar = "TIME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, at),
     .help = "when the run begins, as 2026-01-31T02:00; by default now"},
    {.name = "--timezone",
     .metavar = "ZONE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, timezone),
     .help = "of the times, as Europe/Berlin; by default UTC"},
    {.name = "--cron",
     .metavar = "EXPRESSION",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, cron),
     .help = "a flow plan with this schedule, from --at on"},
    {.name = "--runs",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct flow_wish, runs),
     .help = "so many occurrences of --cron; their ends only are printed",
     .min = 1,
     .max = 1000},
    {.name = "--each",
     .metavar = "DURATION",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, each),
     .help = "how long a call takes, and a signal is waited for; by default 1s"},
    {.name = "--last",
     .metavar = "STEP=DURATION",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, last),
     .help = "the same of one step"},
    {.name = "--fail",
     .metavar = "STEP[:N]",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, fail),
     .help = "its calls fail; with N their first N attempts only"},
    {.name = "--never",
     .metavar = "STEP",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, never),
     .help = "its calls never end, its signal never arrives"},
    {.name = "--value",
     .metavar = "STEP=FILE",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, value),
     .help = "the result of its calls, JSON or YAML; by default null"},
    {.name = "--outage",
     .metavar = "TARGET=HH:MM..HH:MM",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, outage),
     .help = "the target takes nothing at that time of each day"},
    {.name = "--limit",
     .metavar = "NAME=N",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, limit),
     .help = "at most N concurrent runs of a target, or of group:NAME"},
    {.name = "--rate",
     .metavar = "NAME=N",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, rate),
     .help = "at most N starts per second, as 0.5, of a target or group:NAME"},
    {.name = "--workers",
     .metavar = "TARGET=N|NAMES",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, workers),
     .help = "a pull target: N workers take its plans, one each, or these, as eu,us"},
    {.name = "--input",
     .metavar = "FILE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, input),
     .help = "the input of the run, JSON or YAML",
     .offered = VALUES_FILES},
};

// Options of `zplan add` that a flow plan may have here.
static size_t choose_terms (struct terms *terms, struct option *ret, size_t max)
{
    static const char *const names[] = {"--misfire", "--misfire-window", "--overlap-policy",
                                        "--retry", "--run-timeout"};
    const struct option_group all = terms_options (terms);
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names && count < max; j++)
            if (strcmp (all.rows[i].name, names[j]) == 0)
                ret[count++] = all.rows[i];
    return count;
}

enum word {
    WORD_CHECK,
    WORD_GRAPH,
    WORD_SIMULATE,
    WORD_PUT,
    WORD_USE,
    WORD_GET,
    WORD_LIST,
    WORD_REMOVE,
    WORDS
};

static const struct subword words[WORDS] = {
    [WORD_CHECK] = {"check", 1, INT_MAX, "want a file"},
    [WORD_GRAPH] = {"graph", 1, 1, "want one file"},
    [WORD_SIMULATE] = {"simulate", 1, INT_MAX, "want a file"},
    [WORD_PUT] = {"put", 1, 2, "want a file, and perhaps the last version"},
    [WORD_USE] = {"use", 2, 2, "want a flow and a version"},
    [WORD_GET] = {"get", 1, 2, "want a flow, and perhaps a version"},
    [WORD_LIST] = {"list", 0, 1, "want at most one name, which may end in *"},
    [WORD_REMOVE] = {"remove", 1, INT_MAX, "want at least one flow"},
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

static int run (const struct cli *cli, enum word word, int count, const struct flow_wish *wish,
                enum flow_form form)
{
    char **words_behind = cli->argv + 2;
    switch (word) {
    case WORD_CHECK:
        return flow_check (cli, words_behind, count);
    case WORD_GRAPH:
        return flow_draw (cli, words_behind[0], form);
    case WORD_PUT:
        return flow_put (cli, words_behind, count);
    case WORD_USE:
        return flow_use (cli, words_behind);
    case WORD_GET:
        return flow_get (cli, words_behind, count);
    case WORD_LIST:
        return flow_list (cli, words_behind, count);
    case WORD_REMOVE:
        return flow_remove (cli, words_behind, count);
    default:
        return flow_rehearse (cli, words_behind, count, wish);
    }
}

int verb_flow (const struct cli *cli)
{
    struct flow_wish wish = {.runs = 1};
    struct option terms[5];
    size_t term_count = choose_terms (&wish.terms, terms, sizeof terms / sizeof *terms);
    const struct usage usage = {
        .synopsis = "zplan flow check FILE... | graph FILE [--dot|--mermaid|--svg]\n"
                    "       zplan flow simulate FILE... [OPTIONS]\n"
                    "       zplan flow put FILE [LAST] | use NAME VERSION | get NAME [VERSION]\n"
                    "       zplan flow list [NAME] | remove NAME...",
        .about = about,
        .groups = {{"Graph", rows, sizeof rows / sizeof *rows, &wish},
                   {"Simulate", simulate_rows, sizeof simulate_rows / sizeof *simulate_rows, &wish},
                   {"Flow plan of simulate", terms, term_count, &wish.terms}},
        .group_count = 3,
        .words_min = 1,
        .words_max = INT_MAX,
        .words =
            "check, graph, simulate or put with a file, use, get or remove with a name, or list",
    };
    int count, code;
    struct reason reason;
    enum flow_form form;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    int word = subword_read (words, WORDS, cli, count, &reason);
    if (word < 0 || !form_read (&wish, &form, &reason))
        return usage_error (cli->argv[0], &reason);
    return run (cli, (enum word)word, count - 1, &wish, form);
}
