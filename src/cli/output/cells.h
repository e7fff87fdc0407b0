// Plans and runs for people: the cells of tables, what a run wrote, as the history keeps it, and
// why a plan does not run now.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "span.h"

// -- plans

// Write the plan's name, or else its id.
void write_plan_name (FILE *out, const json_t *plan);

// Write the schedule: "daily 02:00 Europe/Berlin"; without the time of day if the zone is unknown
// here.
void write_plan_schedule (FILE *out, const json_t *plan);

// Whether the plan waits for a time: its state is queued.
bool plan_waits (const json_t *plan);

// Write when the plan runs next; "-" if it does not wait for a time.
void write_plan_next (FILE *out, const json_t *plan);

// Write how the plan's last run ended, and when it was started: "ok 2 h ago".
void write_plan_last (FILE *out, const json_t *plan);

// -- runs

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

// Print the first and last bytes, between them a line with the number of bytes that were not kept,
// and a newline at the end. On a terminal control characters are escaped.
void output_print (FILE *file, const json_t *output);

// Print the bytes of one frame, escaped on a terminal, without adding a newline. Returns whether
// the last byte was a newline.
bool output_print_frame (FILE *file, const json_t *frame);

// Copy the last line that is not empty. Returns `out`; "" if there is none, or the output is not
// text.
enum { OUTPUT_LINE_SIZE = 256 };
const char *output_last_line (const json_t *output, char out[OUTPUT_LINE_SIZE]);

// -- reasons

// Print each reason of the station's `why` on an indented line.
void why_print (const json_t *reasons);

// Print an RFC 3339 time in the style of --times: ", in 3 min"; nothing if it is invalid.
void why_print_time (struct span at);
