// The program that `zplan watch --exec` runs for a failed outcome.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "reason.h"
#include "zplan.h"

// Whether the run of this result has failed and is not retried: no cancelled or missed one.
// `object` is the plan after a published result, or the run as the history has it; NULL is none.
bool hook_is_failure (const struct zplan_result *result, const json_t *object);

// Whether there is such a program, as execvp finds it. 0, or -1 with a reason.
int hook_check (const char *program, struct reason *reason);

struct hook {
    const char *program;
    int signal_fd; // of process_prepare
    mode_t umask;  // of the program
};

// Run it, with the outcome as JSON on its standard input and in ZPLAN_ variables, and wait for its
// end, which goes to stderr if it is not exit status 0. What it prints goes to stdout and stderr.
// False: a signal came that ends the watch; the program is stopped then.
bool hook_run (const struct hook *self, const struct zplan_result *result, const json_t *object);
