// zplan import, for a file that `zplan export --everything` wrote (everything.h).
#pragma once

#include <stdio.h>

#include "options.h"

struct restore {
    const char *name;  // the file's name, for messages
    FILE *file;        // borrowed; its first line was read already
    const char *first; // the first line of `file`
    bool hold;         // keep the plans paused, marked as held
    bool dry_run;      // only report what would be done
    bool stop_on_error;
};

// Whether this is the first line of a file that `zplan export --everything` wrote.
bool restore_is_first_line (const char *line);

// Restore the contents of the file to the station, and report the result. Returns an exit code.
int restore_file (const struct cli *cli, const struct restore *restore);
