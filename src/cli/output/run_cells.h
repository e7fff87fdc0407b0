// The cells of a table of runs, for people; shared by history, logs and status.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Write the name of the run's plan, or else its title, or else its id. Also takes a plan itself,
// for which the command comes before the id.
void write_plan_label (FILE *out, const json_t *run);

// Write the reason for the run's result, with the last line of a failed run's output, if the
// history has it and the reason does not contain it. Of a reason of several lines only the last one
// is written.
void write_run_reason (FILE *out, const json_t *run);

// Write the run's sequence number, or its entry if it has none, in the form that `zplan logs --run`
// accepts.
void write_run_number (FILE *out, const json_t *run);

// Print a line about the run, and its output if the history has it. `label` writes what follows
// its number, or is NULL.
void print_run_output (const json_t *run, void (*label) (FILE *out, const json_t *run));
