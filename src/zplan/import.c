// zplan import: plans that zplan export wrote, into a station.
#include "load.h"

static const char about[] =
    "Take plans that `zplan export` wrote into a station, many at a time. FILE is a\n"
    "name, or - for standard input.\n\n"
    "Kept are id, target, title, frames, schedule, the next time (also one that\n"
    "`zplan skip` has set) and the repeats that are left. Begin anew: what the\n"
    "station counts (runs, failures, the last status, skips), and the history.\n"
    "Plans that were paused, or out of the queue for an error, stay paused, and what\n"
    "was closed or has ended is left out. With --hold the others are stored paused as\n"
    "well and marked: none runs until `zplan reset --held` starts those, and only\n"
    "those. Times that have passed meanwhile are missed ones, as of any plan; a single\n"
    "one runs at once.\n\n"
    "A plan that is there already is left as it is, so an import that was broken\n"
    "off can be said again. Another plan with the same id is refused.\n\n"
    "  zplan export >plans.ndjson\n"
    "  zplan --connect tcp://10.0.0.7:7920 import plans.ndjson --hold\n"
    "  zplan --connect tcp://10.0.0.7:7920 reset --held\n"
    "  zplan export --target jobs | zplan --connect tcp://10.0.0.7:7920 import -\n";

struct wish {
    bool hold, stop_on_error;
};

static const struct option rows[] = {
    {.name = "--hold",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, hold),
     .help = "keep them all paused, until `zplan reset --held`"},
    {.name = "--stop-on-error",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, stop_on_error),
     .help = "go on to no further line when one is refused"},
};

int verb_import (const struct cli *cli)
{
    struct wish wish = {0};
    const struct usage usage = {
        .synopsis = "zplan import FILE [--hold] [--stop-on-error]",
        .about = about,
        .groups = {{"How", rows, sizeof rows / sizeof *rows, &wish}},
        .group_count = 1,
        .words_min = 1,
        .words_max = 1,
        .words = "one file",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    const struct load load = {.file = cli->argv[1],
                              .how = wish.hold ? LOAD_HELD : LOAD_AS_THEY_ARE,
                              .stop_on_error = wish.stop_on_error};
    return load_file (cli, &load);
}
