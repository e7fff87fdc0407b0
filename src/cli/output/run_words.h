// What a table says of a run of the history, in the words of people: history, logs and status share
// it.
#pragma once

#include <jansson.h>
#include <stdio.h>

// The name of its plan, or else its title, or else its id; also of a plan itself, which has its
// command before its id.
void write_plan_label (FILE *out, const json_t *run);

// Why it ended as it did: its reason, with the last line of what a failed run wrote, where the
// history gave that and the reason does not have it. Of several lines the last one.
void write_run_reason (FILE *out, const json_t *run);

// The number of its broadcast, or its place after one: as `zplan logs --run` takes it.
void write_run_number (FILE *out, const json_t *run);

// Print a line about the run, and what it wrote as far as the history gave it. `label`: what stands
// after its number, or NULL.
void print_run_output (const json_t *run, void (*label) (FILE *out, const json_t *run));
