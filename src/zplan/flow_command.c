#include "flow_command.h"

#include <limits.h>
#include <stdio.h>

#include "print.h"
#include "subword.h"

static const char about[] =
    "Flows: steps that wait for each other. A definition is a file, JSON or YAML; `-` is\n"
    "standard input. No station is needed.\n\n"
    "  check FILE... say what is wrong with it, everything at once; else how many\n"
    "                calls a run makes at most, whether its time is bounded, and what\n"
    "                looks like a mistake. A target is a flow when its file is given\n"
    "                as well\n"
    "  graph FILE    draw it: a line for each step, by layers. A step stands below\n"
    "                all steps that it waits for. --dot and --mermaid write texts for\n"
    "                programs that draw, --svg runs `dot` of Graphviz\n\n"
    "A definition has a name and steps; a step has a target, or it waits, or it computes:\n"
    "  flow: greeting\n"
    "  steps:\n"
    "    name:  {target: jobs, command: name}\n"
    "    greet: {after: [name], target: jobs, command: echo,\n"
    "            args: [\"='hello ' + steps.name.value\"]}\n\n"
    "  zplan flow check greeting.yaml\n"
    "  zplan flow check night.json etl.json  # night has a step whose target is etl\n"
    "  zplan flow graph greeting.yaml\n"
    "  zplan flow graph greeting.yaml --svg >greeting.svg\n";

struct wish {
    bool ascii, dot, mermaid, svg;
};

static const struct option rows[] = {
    {.name = "--ascii",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, ascii),
     .help = "a line for each step, the default"},
    {.name = "--dot",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, dot),
     .help = "a text for Graphviz"},
    {.name = "--mermaid",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, mermaid),
     .help = "a text for Mermaid"},
    {.name = "--svg",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, svg),
     .help = "a picture; `dot` of Graphviz makes it"},
};

enum word { WORD_CHECK, WORD_GRAPH, WORDS };

static const struct subword words[WORDS] = {
    [WORD_CHECK] = {"check", 1, INT_MAX, "want a file"},
    [WORD_GRAPH] = {"graph", 1, 1, "want one file"},
};

static bool form_read (const struct wish *wish, enum flow_form *ret, struct reason *reason)
{
    if (wish->ascii + wish->dot + wish->mermaid + wish->svg > 1) {
        reason_set (reason, "want one of --ascii, --dot, --mermaid and --svg");
        return false;
    }
    *ret = wish->dot ? FLOW_DOT : wish->mermaid ? FLOW_MERMAID : wish->svg ? FLOW_SVG : FLOW_LAYERS;
    return true;
}

int verb_flow (const struct cli *cli)
{
    struct wish wish = {0};
    const struct usage usage = {
        .synopsis = "zplan flow check FILE... | graph FILE [--ascii|--dot|--mermaid|--svg]",
        .about = about,
        .groups = {{"Graph", rows, sizeof rows / sizeof *rows, &wish}},
        .group_count = 1,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "check FILE... or graph FILE",
    };
    int count, code;
    struct reason reason;
    enum flow_form form;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    int word = subword_read (words, WORDS, cli, count, &reason);
    if (word < 0 || !form_read (&wish, &form, &reason))
        return usage_error (cli->argv[0], &reason);
    return word == WORD_CHECK ? flow_check (cli, cli->argv + 2, count - 1)
                              : flow_draw (cli, cli->argv[2], form);
}
