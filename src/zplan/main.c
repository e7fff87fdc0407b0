// zplan: the command line of the plan proxy station. Reads the options that all verbs share and
// hands over to the verb.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"

#ifndef ZPLAN_VERSION
#define ZPLAN_VERSION "0.1.0"
#endif

static const struct verb {
    const char *name;
    const char *arguments;
    int (*run) (const struct cli *cli);
    const char *help;
} verbs[] = {
    {"add", "--station NAME ... [TIME]", verb_add, "submit a plan"},
    {"next", "TIME | ID", verb_next, "preview when a plan would run, or will run"},
    {"list", "[FILTER]", verb_list, "list the plans"},
    {"show", "ID", verb_show, "show one plan with its messages"},
    {"update", "ID... CHANGES", verb_update, "change what plans do, and when"},
    {"pause", "ID... | FILTER", verb_manage, "take plans out of the queue"},
    {"reset", "ID... | FILTER", verb_manage, "put paused and broken plans into it again"},
    {"skip", "ID... | FILTER [--count N]", verb_manage, "leave out the next occurrences"},
    {"run", "ID... | FILTER", verb_manage, "run plans now, besides their schedule"},
    {"close", "ID... | FILTER", verb_manage, "end plans, but keep them to be looked at"},
    {"remove", "ID... | FILTER", verb_manage, "remove plans"},
    {"watch", "[TITLE]", verb_watch, "print results as they come; none is missed"},
    {"history", "[ID...]", verb_history, "print how runs ended"},
    {"station", "list | add ... | remove ...", verb_station, "the target stations"},
    {"stats", "", verb_stats, "the station in numbers"},
    {"doctor", "", verb_doctor, "whether the station does its work, and what to put right"},
    {"ping", "", verb_ping, "ask whether the station serves"},
    {"keygen", "NAME", verb_keygen, "make a pair of keys for encrypted connections"},
    {"work", "-- COMMAND [ARGUMENT]...", verb_work, "serve as a worker of a target station"},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static const struct option shared_rows[] = {
    {.name = "--connect",
     .metavar = "ENDPOINT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct cli, connect),
     .help = "request socket of the station; default $ZPLAN_CONNECT,\n"
             "                           else tcp://127.0.0.1:7920"},
    {.name = "--publish",
     .metavar = "ENDPOINT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct cli, publish),
     .help = "result socket of the station; default $ZPLAN_PUBLISH,\n"
             "                           else tcp://127.0.0.1:7921"},
    {.name = "--key",
     .metavar = "FILE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct cli, key),
     .help = "connect encrypted, with this NAME.key_secret of `zplan keygen`;\n"
             "                           default $ZPLAN_KEY; goes with --server-key"},
    {.name = "--server-key",
     .metavar = "KEY",
     .type = OPTION_TEXT,
     .offset = offsetof (struct cli, server_key),
     .help = "the station's public key (of `work`: the target station's);\n"
             "                           default $ZPLAN_SERVER_KEY"},
    {.name = "--timeout",
     .metavar = "MS",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct cli, timeout_ms),
     .help = "wait this long for an answer; default 5000",
     .min = 1,
     .max = INT_MAX},
    {.name = "--json",
     .type = OPTION_FLAG,
     .offset = offsetof (struct cli, json),
     .help = "output for programs"},
};

static int print_help (const struct option_group *shared)
{
    printf ("Usage: zplan [OPTIONS] VERB [ARGUMENTS]\n\n"
            "Plans run later, or again and again: a plan proxy station keeps them and sends their\n"
            "messages to target stations when they are due.\n\nVerbs:\n");
    for (size_t i = 0; i < VERBS; i++)
        printf ("  %-7s %-27s %s\n", verbs[i].name, verbs[i].arguments, verbs[i].help);
    options_help (shared);
    printf ("  --help                   this text; zplan VERB --help tells about a verb\n"
            "  --version                the version\n"
            "They may stand before or after the verb, but not after --.\n\n"
            "FILTER is --station NAME, --state STATE, --type TYPE, --title PATTERN, or several of\n"
            "them; what changes plans takes --dry-run, and --all where it means all of them.\n\n"
            "Examples:\n"
            "  zplan add --station billing --command close --monthly -1@23:00\n"
            "  zplan next --weekly mon@08:30 --timezone Europe/Berlin\n"
            "  zplan list --state error\n"
            "  zplan pause --station billing --dry-run\n"
            "  zplan history --newest -n 5\n"
            "  zplan watch --json\n\n"
            "Ends with 0 done, 1 refused or failed, 2 usage, 3 no answer.\n");
    return EXIT_DONE;
}

static int fail (const char *what, const char *which)
{
    fprintf (stderr, "zplan: %s%s\nTry: zplan --help\n", what, which);
    return EXIT_USAGE;
}

// Before the verb nothing is left now but --help and --version.
static int run (struct cli *cli, const struct option_group *shared)
{
    const char *first = cli->argc > 0 ? cli->argv[0] : NULL;
    if (!first)
        return fail ("want a verb", "");
    if (strcmp (first, "--help") == 0 || strcmp (first, "-h") == 0)
        return print_help (shared);
    if (strcmp (first, "--version") == 0) {
        printf ("zplan %s\n", ZPLAN_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < VERBS; i++)
        if (strcmp (first, verbs[i].name) == 0)
            return verbs[i].run (cli);
    return fail (*first == '-' ? "unknown option " : "unknown verb ", quoted (span_text (first)));
}

static const char *environment (const char *name, const char *fallback)
{
    const char *value = getenv (name);
    return value && *value ? value : fallback;
}

int main (int argc, char **argv)
{
    if (argc < 1)
        return EXIT_USAGE;
    struct cli cli = {.connect = environment ("ZPLAN_CONNECT", "tcp://127.0.0.1:7920"),
                      .publish = environment ("ZPLAN_PUBLISH", "tcp://127.0.0.1:7921"),
                      .key = environment ("ZPLAN_KEY", NULL),
                      .server_key = environment ("ZPLAN_SERVER_KEY", NULL),
                      .timeout_ms = 5000};
    const struct option_group shared = {"Options of every verb", shared_rows,
                                        sizeof shared_rows / sizeof *shared_rows, &cli};
    struct reason reason;
    int left = options_take (&shared, argc, argv, &reason);
    if (left < 0)
        return fail (reason.text, "");
    cli.argc = left - 1;
    cli.argv = argv + 1;

    int code = run (&cli, &shared);
    if (fflush (stdout) == 0 && !ferror (stdout))
        return code;
    fprintf (stderr, "zplan: the output cannot be written\n");
    return code == EXIT_DONE ? EXIT_REFUSED : code;
}
