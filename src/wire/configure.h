// The settings of a program from its command line and its ZPL file.
#pragma once

#include <stdbool.h>

#include "settings.h"

struct configured_program {
    const char *name;
    const struct setting_table *table;
    const char *usage_head, *usage_tail;                      // of --help, around the options
    bool reloads;                                             // SIGHUP: all that are not fixed
    int (*check) (const void *values, struct reason *reason); // all settings together
};

enum configured {
    CONFIGURED,       // go on
    CONFIGURED_DONE,  // --help or --version was answered
    CONFIGURED_USAGE, // the command line is wrong
    CONFIGURED_WRONG  // a setting or the file is wrong
};

// Defaults, then the file of -c, then --set and the options in their order. `values` is the struct
// that the table fills. Anything but CONFIGURED and CONFIGURED_DONE leaves a reason.
enum configured configure (const struct configured_program *program, int argc, char **argv,
                           void *values, struct reason *reason);

enum {
    CONFIGURED_STOPPED = 0,
    CONFIGURED_NOT_STARTED = 1,
    CONFIGURED_MISUSED = 2
}; // exit statuses

// The program with its settings: an exit status, with a reason unless that is 0.
typedef int configured_run_fn (void *values, struct reason *reason);

// What main of a program with settings does: it reads them, runs, and prints what went wrong.
// Returns the exit status.
int configured_main (const struct configured_program *program, int argc, char **argv, void *values,
                     configured_run_fn *run);
