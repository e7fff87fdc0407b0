// zplan import: submits plans that zplan export wrote to a station.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "print.h"
#include "restore.h"

static const char about[] =
    "Import what `zplan export` wrote into a station, many plans at a time. FILE is a\n"
    "name, or - for standard input. Existing objects are kept, so an interrupted import\n"
    "may be repeated; another plan, target, kind, limit or flow of the same id or name\n"
    "is rejected.\n\n"
    "Of `zplan export --everything` all is restored as it was: targets, flows,\n"
    "kinds, limits, the history, and plans with their state, counts and next time.\n"
    "Outcomes get new sequence numbers and are not broadcast. A run that was in\n"
    "progress, also of a flow, begins again.\n"
    "Not in the file, and to be set by hand: settings, keys of targets, and targets\n"
    "that the settings name; their plans are skipped until the target is known.\n\n"
    "Of a file of plain `zplan export`, id, target, title, frames, schedule, the next\n"
    "time (also one that `zplan skip` has set) and the repeats that are left are\n"
    "preserved; counters (runs, failures, skips), the last status and the history are\n"
    "reset.\n"
    "Plans that were paused, or had failed permanently, stay paused; those that were\n"
    "closed or have ended are skipped. With --hold the others are stored paused as\n"
    "well and marked: none runs until `zplan reset --held` starts those, and only\n"
    "those. Times that have passed meanwhile are missed ones, as of any plan; a single\n"
    "one runs at once.\n\n"
    "  zplan import everything.ndjson --dry-run\n"
    "  zplan export >plans.ndjson\n"
    "  zplan --connect tcp://10.0.0.7:7920 import plans.ndjson --hold\n"
    "  zplan --connect tcp://10.0.0.7:7920 reset --held\n"
    "  zplan export --target jobs | zplan --connect tcp://10.0.0.7:7920 import -\n";

struct import_wish {
    bool hold, dry_run, stop_on_error;
};

static const struct option rows[] = {
    FLAG_OPTION (struct import_wish, hold, "--hold",
                 "keep them all paused, until `zplan reset --held`"),
    FLAG_OPTION (struct import_wish, dry_run, "--dry-run",
                 "of an export of everything: only print what would be added"),
    FLAG_OPTION (struct import_wish, stop_on_error, "--stop-on-error",
                 "stop at the first line that is rejected"),
};

int verb_import (const struct cli *cli)
{
    struct import_wish wish = {0};
    const struct usage usage = {
        .synopsis = "zplan import FILE [--hold] [--dry-run] [--stop-on-error]",
        .about = about,
        .groups = {OPTION_GROUP ("How", rows, &wish)},
        .words_min = 1,
        .words_max = 1,
        .words = "one file",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    char *first = NULL;
    size_t room = 0;
    FILE *file = load_open (cli->argv[1]);
    if (!file)
        return EXIT_REFUSED;
    ssize_t size = getline (&first, &room, file);
    if (ferror (file)) {
        code = complain (cli->argv[1], span_text (strerror (errno)));
    } else if (size > 0 && restore_is_first_line (first)) {
        const struct restore restore = {.name = cli->argv[1],
                                        .file = file,
                                        .first = first,
                                        .hold = wish.hold,
                                        .dry_run = wish.dry_run,
                                        .stop_on_error = wish.stop_on_error};
        code = restore_file (cli, &restore);
    } else if (wish.dry_run) {
        code =
            usage_error (cli->argv[0], &(struct reason){"--dry-run: is for a file of `zplan export "
                                                        "--everything`"});
    } else {
        const struct load load = {.file = cli->argv[1],
                                  .opened = file,
                                  .first = first,
                                  .first_size = size > 0 ? (size_t)size : 0,
                                  .how = wish.hold ? LOAD_HELD : LOAD_AS_THEY_ARE,
                                  .stop_on_error = wish.stop_on_error};
        code = load_file (cli, &load);
    }
    free (first);
    if (file != stdin)
        fclose (file);
    return code;
}
