#include "verb_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "display.h"

static const struct verb verbs[] = {
    {"add", verb_add, "submit a plan", WORDS_NONE, NULL, NULL},
    {"next", verb_next, "preview when a plan would run, or will run", WORDS_PLANS, NULL, NULL},
    {"list", verb_list, "list the plans", WORDS_NONE, NULL, "ls ps"},
    {"show", verb_show, "show one plan with its messages", WORDS_PLANS, NULL, "info"},
    {"why", verb_why, "why plans are not running, and what will change that", WORDS_PLANS, NULL,
     NULL},
    {"team", verb_team, "the workers that fetched plans, and what each does", WORDS_PLANS, NULL,
     NULL},
    {"update", verb_update, "change what plans do, and when", WORDS_PLANS, NULL, NULL},
    {"pause", verb_manage, "take plans out of the queue", WORDS_PLANS, NULL, "disable"},
    {"resume", verb_manage, "queue paused plans again", WORDS_PLANS, NULL, "enable"},
    {"reset", verb_manage, "queue failed plans again, and paused ones", WORDS_PLANS, NULL, "retry"},
    {"skip", verb_manage, "skip the next occurrences", WORDS_PLANS, NULL, NULL},
    {"run", verb_manage, "run plans now, outside their schedule", WORDS_PLANS, NULL, "trigger"},
    {"cancel", verb_manage, "end the run in progress of plans", WORDS_PLANS, NULL, "kill"},
    {"done", verb_manage, "resolve a permanent failure manually", WORDS_PLANS, NULL, NULL},
    {"close", verb_manage, "close plans, but keep them", WORDS_PLANS, NULL, NULL},
    {"remove", verb_manage, "remove plans", WORDS_PLANS, NULL, "rm delete del"},
    {"export", verb_export, "write plans, one JSON object per line", WORDS_NONE, NULL, NULL},
    {"import", verb_import, "submit plans that export wrote", WORDS_FILES, NULL, NULL},
    {"cron", verb_cron, "import a crontab: each line becomes a plan", WORDS_FILES, NULL, "crontab"},
    {"watch", verb_watch, "print results as they come, without a gap", WORDS_NONE, NULL, NULL},
    {"history", verb_history, "print how runs ended", WORDS_PLANS, NULL, NULL},
    {"logs", verb_logs, "print what runs wrote", WORDS_PLANS, "log output", NULL},
    {"result", verb_result, "print the last result of plans, whole", WORDS_PLANS, NULL, NULL},
    {"archive", verb_archive, "move how runs ended from the station into files", WORDS_FOLDERS,
     NULL, NULL},
    {"kind", verb_kind, "the kinds of plans: fields that they have in common", WORDS_LISTED,
     "list get put remove", NULL},
    {"target", verb_target, "list, add and remove targets", WORDS_LISTED, "list add remove",
     "station"},
    {"limit", verb_limit, "limits of targets and groups: concurrent runs, starts per second",
     WORDS_LISTED, "list set remove", NULL},
    {"callback", verb_callback, "outcomes that are sent over HTTP: list, send again, try out",
     WORDS_LISTED, "list redeliver test", NULL},
    {"flow", verb_flow, "steps that wait for each other: definitions, and their runs", WORDS_LISTED,
     "backfill cancel check done export get graph import list log put reject remove reset resume "
     "retry runs "
     "show "
     "signal simulate skip start suspend use why",
     NULL},
    {"status", verb_status, "what runs, what failed, what comes next", WORDS_NONE, NULL, NULL},
    {"stats", verb_stats, "the station in numbers", WORDS_NONE, NULL, NULL},
    {"top", verb_top, "watch the station at work", WORDS_NONE, NULL, NULL},
    {"load", verb_load, "how many plans come when, drawn", WORDS_NONE, NULL, NULL},
    {"metrics", verb_metrics, "the station in numbers, for Prometheus", WORDS_NONE, NULL, NULL},
    {"doctor", verb_doctor, "is the station healthy, and what to fix", WORDS_NONE, NULL, NULL},
    {"handover", verb_handover, "let a standby take over the plans", WORDS_NONE, NULL, NULL},
    {"ping", verb_ping, "ask whether the station serves", WORDS_NONE, NULL, NULL},
    {"whoami", verb_whoami, "what the station lets this key do", WORDS_NONE, NULL, NULL},
    {"keygen", verb_keygen, "make a pair of keys for encrypted connections", WORDS_NONE, NULL,
     NULL},
    {"web", verb_web, "users of the HTTP gateway zplan-web", WORDS_LISTED, "user", NULL},
    {"completion", verb_completion, "print a script that completes words in bash or zsh",
     WORDS_LISTED, "bash zsh", NULL},
    {"work", verb_work, "serve as a worker of a target", WORDS_COMMAND, NULL, NULL},
    {"workers", verb_workers, "the workers of a target", WORDS_NONE, NULL, NULL},
    {"drain", verb_drain, "let workers of a target finish their jobs and leave", WORDS_WORKERS,
     NULL, NULL},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

const struct verb *verb_table (size_t *ret_count)
{
    *ret_count = VERBS;
    return verbs;
}

const struct verb *verb_named (const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (strcmp (verbs[i].name, name) == 0 || words_include (verbs[i].aliases, span_text (name)))
            return &verbs[i];
    return NULL;
}

static const struct option shared_rows[] = {
    TEXT_OPTION (struct cli, connect, "--connect", "ENDPOINTS",
                 "request socket of the station, or of each of several on one\n"
                 "Redis: tcp://a:7920,tcp://b:7920; default $ZPLAN_CONNECT,\n"
                 "else tcp://127.0.0.1:7920"),
    TEXT_OPTION (struct cli, publish, "--publish", "ENDPOINTS",
                 "result socket of the station, or of each of several;\n"
                 "default $ZPLAN_PUBLISH, else tcp://127.0.0.1:7921"),
    TEXT_OPTION (struct cli, key, "--key", "FILE",
                 "connect encrypted, with this NAME.key_secret of `zplan keygen`;\n"
                 "default $ZPLAN_KEY; goes with --server-key",
                 .offered = VALUES_FILES),
    TEXT_OPTION (struct cli, server_key, "--server-key", "KEY",
                 "the station's public key (of `work`: the target station's);\n"
                 "of several stations one for all, or KEY,KEY in the order of\n"
                 "--connect; default $ZPLAN_SERVER_KEY"),
    NUMBER_OPTION (struct cli, timeout_ms, "--timeout", "DURATION", 1, INT_MAX,
                   "wait this long for an answer: 500ms, 5s, or milliseconds;\n"
                   "default 5s",
                   .unit_ms = 1),
    TEXT_OPTION (struct cli, color, "--color", "WHEN",
                 "auto (on a terminal, unless NO_COLOR is set), always, never",
                 .values = DISPLAY_COLOURS),
    TEXT_OPTION (struct cli, times, "--times", "STYLE",
                 "relative (in 3 min), absolute, both, unix; default auto:\n"
                 "relative or both on a terminal, else absolute",
                 .values = DISPLAY_TIMES),
    {.name = "--json",
     .type = OPTION_FORM,
     .offset = offsetof (struct cli, json),
     .values = "names wire",
     .help = "output for programs; --json=wire: with the wire's names"},
};

struct option_group shared_options (struct cli *cli)
{
    return (struct option_group)OPTION_GROUP ("Options of every command", shared_rows, cli);
}

int print_verbs (void)
{
    printf ("Usage: zplan [OPTIONS] COMMAND [ARGUMENTS]\n\n"
            "Plans run later, or again and again: a plan proxy station keeps them and sends\n"
            "their messages to targets when they are due.\n\nCommands:\n");
    for (size_t i = 0; i < VERBS; i++)
        printf (verbs[i].aliases ? "  %-10s  %s (also: %s)\n" : "  %-10s  %s\n", verbs[i].name,
                verbs[i].help, verbs[i].aliases);
    struct option_group shared = shared_options (NULL);
    options_help (&shared);
    printf ("  --help                   this text; zplan COMMAND --help describes one\n"
            "  --version                the version\n"
            "They may stand before or after the command, but not after --.\n\n"
            "Plans are selected by --target NAME, --state STATE, --type TYPE, --title\n"
            "PATTERN, --verdict VERDICT, --dead, or several of them; commands that change\n"
            "plans take --dry-run, and --all for every plan.\n\n"
            "Examples:\n"
            "  zplan add --target billing --command close --monthly -1@23:00\n"
            "  zplan next --weekly mon@08:30 --timezone Europe/Berlin\n"
            "  zplan add --target jobs --command report --cron '30 8 * * MON-FRI'\n"
            "  zplan list --dead\n"
            "  zplan pause --target billing --dry-run\n"
            "  zplan history --newest -n 5\n"
            "  zplan watch --json\n\n"
            "Exit status: 0 success, 1 rejected or failed, 2 usage, 3 no answer.\n");
    return EXIT_DONE;
}
