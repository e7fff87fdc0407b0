// Runs of flows, as the command line names, reads and shows them.
#pragma once

#include <stdio.h>

#include "flow_send.h"
#include "ident.h"
#include "display.h"

// Read RUN as the user names it: a number in hex, or `last` for the newest run, of this flow if
// `flow` is not NULL, else the newest one that is not a sub-flow's. Returns an exit code; errors
// are printed.
int flow_run_read (const struct cli *cli, struct zplan_client *client, const char *text,
                   const char *flow, char out[IDENT_SIZE]);

// Request the run by `show`, with its steps in this state; `state` NULL: all steps. NULL: the
// caller reports the verdict.
json_t *flow_run_show (const struct cli *cli, struct zplan_client *client, const char *run,
                       const char *state, struct verdict *ret);

// Print a run, or a line of its log, as a line of JSON; times are RFC 3339, or with --json=wire
// unchanged.
void flow_run_print_json (const struct cli *cli, const json_t *run);

// Print how to resolve the failed undo for which the run waits.
void flow_run_print_parked (FILE *out, const json_t *run);

// Print the state of a run: "run 2a of flow etl: finished".
void flow_run_print_state (const json_t *run);

bool flow_run_has_ended (const json_t *run);
enum colour flow_state_colour (const json_t *state);

// Whether a waiting command continues after this verdict: it does for up to 60 s without an answer,
// as the station may come back or a standby may take over. `answered_us` is the monotonic time of
// the last answer, 0 at first; this function updates it.
bool flow_wait_continues (const struct verdict *verdict, int64_t *answered_us);

// Print the log of a run, and follow it until the run has ended. Returns the run, owned by the
// caller. NULL: the error was printed, and `ret_code` is the exit code.
json_t *flow_run_follow (const struct cli *cli, struct zplan_client *client, const char *run,
                         int *ret_code);
