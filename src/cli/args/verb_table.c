#include "verb_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "display.h"

static const struct verb verbs[] = {
    {"add", verb_add, "submit a plan", .words = WORDS_NONE},
    {"next", verb_next, "preview when a plan would run, or will run", .words = WORDS_PLANS},
    {"list", verb_list, "list the plans", .words = WORDS_NONE, .aliases = "ls ps"},
    {"show", verb_show, "show one plan with its messages", .words = WORDS_PLANS, .aliases = "info"},
    {"why", verb_why, "why plans are not running, and what will change that", .words = WORDS_PLANS},
    {"team", verb_team, "the workers that fetched plans, and what each does", .words = WORDS_PLANS},
    {"update", verb_update, "change what plans do, and when", .words = WORDS_PLANS},
    {"pause", verb_manage, "take plans out of the queue", .words = WORDS_PLANS,
     .aliases = "disable"},
    {"resume", verb_manage, "queue paused plans again", .words = WORDS_PLANS, .aliases = "enable"},
    {"reset", verb_manage, "queue failed plans again, and paused ones", .words = WORDS_PLANS,
     .aliases = "retry"},
    {"skip", verb_manage, "skip the next occurrences", .words = WORDS_PLANS},
    {"run", verb_manage, "run plans now, outside their schedule", .words = WORDS_PLANS,
     .aliases = "trigger"},
    {"cancel", verb_manage, "end the run in progress of plans", .words = WORDS_PLANS,
     .aliases = "kill"},
    {"done", verb_manage, "resolve a permanent failure manually", .words = WORDS_PLANS},
    {"close", verb_manage, "close plans, but keep them", .words = WORDS_PLANS},
    {"remove", verb_manage, "remove plans", .words = WORDS_PLANS, .aliases = "rm delete del"},
    {"export", verb_export, "write plans, one JSON object per line", .words = WORDS_NONE},
    {"import", verb_import, "submit plans that export wrote", .words = WORDS_FILES},
    {"cron", verb_cron, "import a crontab: each line becomes a plan", .words = WORDS_FILES,
     .aliases = "crontab"},
    {"watch", verb_watch, "print results as they come, without a gap", .words = WORDS_NONE},
    {"history", verb_history, "print how runs ended", .words = WORDS_PLANS},
    {"logs", verb_logs, "print what runs wrote", .words = WORDS_PLANS, .aliases = "log output"},
    {"result", verb_result, "print the last result of plans, whole", .words = WORDS_PLANS},
    {"archive", verb_archive, "move how runs ended from the station into files",
     .words = WORDS_FOLDERS},
    {"kind", verb_kind, "the kinds of plans: fields that they have in common",
     .words = WORDS_LISTED, .listed = "list get put remove"},
    {"target", verb_target, "list, add and remove targets", .words = WORDS_LISTED,
     .listed = "list add remove", .aliases = "station"},
    {"limit", verb_limit, "limits of targets and groups: concurrent runs, starts per second",
     .words = WORDS_LISTED, .listed = "list set remove"},
    {"callback", verb_callback, "outcomes that are sent over HTTP: list, send again, try out",
     .words = WORDS_LISTED, .listed = "list redeliver test"},
    {"flow", verb_flow, "steps that wait for each other: definitions, and their runs",
     .words = WORDS_LISTED,
     .listed = "backfill cancel check done export get graph import list log put reject remove "
               "reset resume retry runs show signal simulate skip start suspend use why"},
    {"status", verb_status, "what runs, what failed, what comes next", .words = WORDS_NONE},
    {"stats", verb_stats, "the station in numbers", .words = WORDS_NONE},
    {"top", verb_top, "watch the station at work", .words = WORDS_NONE},
    {"load", verb_load, "how many plans come when, drawn", .words = WORDS_NONE},
    {"metrics", verb_metrics, "the station in numbers, for Prometheus", .words = WORDS_NONE},
    {"doctor", verb_doctor, "is the station healthy, and what to fix", .words = WORDS_NONE},
    {"handover", verb_handover, "let a standby take over the plans", .words = WORDS_NONE},
    {"ping", verb_ping, "ask whether the station serves", .words = WORDS_NONE},
    {"whoami", verb_whoami, "what the station lets this key do", .words = WORDS_NONE},
    {"keygen", verb_keygen, "make a pair of keys for encrypted connections", .words = WORDS_NONE},
    {"web", verb_web, "users of the HTTP gateway zplan-web", .words = WORDS_LISTED,
     .listed = "user"},
    {"completion", verb_completion, "print a script that completes words in bash or zsh",
     .words = WORDS_LISTED, .listed = "bash zsh"},
    {"work", verb_work, "serve as a worker of a target", .words = WORDS_COMMAND},
    {"workers", verb_workers, "the workers of a target", .words = WORDS_NONE},
    {"drain", verb_drain, "let workers of a target finish their jobs and leave",
     .words = WORDS_WORKERS},
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
