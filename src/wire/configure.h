// The settings of a program from its command line and its ZPL file.
#pragma once

#include <stdbool.h>

#include "settings.h"

struct configured_program {
    const char *name;
    const struct setting_table *table;
    const char *usage_head, *usage_tail; // text of --help before and after the options
    bool reloads;                        // true: SIGHUP reloads all settings that are not fixed
    int (*check) (const void *values, struct reason *reason); // checks all settings together
};

enum configure_result {
    CONFIGURED,       // the settings are valid: run the program
    CONFIGURED_DONE,  // --help, --version or --settings was answered
    CONFIGURED_USAGE, // the command line is wrong
    CONFIGURED_WRONG  // a setting or the file is wrong
};

// Apply the defaults, the file of -c, then --set and the options in their order. `values` is the
// struct that the table describes. Errors leave a reason.
enum configure_result configure (const struct configured_program *program, int argc, char **argv,
                                 void *values, struct reason *reason);

// Exit statuses.
enum { CONFIGURED_STOPPED = 0, CONFIGURED_NOT_STARTED = 1, CONFIGURED_MISUSED = 2 };

// Run the program with its settings. Returns the exit status, with a reason unless that is 0.
typedef int configured_run_fn (void *values, struct reason *reason);

// The main function of a program with settings: reads them, runs the program, and prints errors.
// Returns the exit status.
int configured_main (const struct configured_program *program, int argc, char **argv, void *values,
                     configured_run_fn *run);
