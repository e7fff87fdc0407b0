// The program that `zplan watch --exec` runs for a failed outcome.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "reason.h"
#include "zplan.h"

// Whether the run of this result has failed and is not retried; cancelled and missed runs do not
// count. `object` is the plan after a published result, or the run of the history, or NULL.
bool hook_is_failure (const struct zplan_result *result, const json_t *object);

// Check that the program exists, looked up as by execvp. 0, or -1 with a reason.
int hook_check (const char *program, struct reason *reason);

struct hook {
    const char *program;
    int signal_fd; // the watch's signals, from process_prepare
    mode_t umask;  // umask for the program
};

// Run the program, with the outcome as JSON on its standard input and in ZPLAN_ variables, and wait
// for its end; any exit status but 0 is reported on stderr. Its output is printed too. False: a
// signal ended the watch; the program was then stopped.
bool hook_run (const struct hook *self, const struct zplan_result *result, const json_t *object);
