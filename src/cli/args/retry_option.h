// The `retry` of a plan: parsing the option, its default, and formatting as text. Pure.
//
//   none   forever   fixed:30s:5   exponential:1s:8   sequence:1s/2s/4s:5
//
// A strategy, its intervals, and the maximum number of retries (omitted: no limit), optionally
// followed by ",jitter=2s" and ",manual".
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "reason.h"

// Parse a text to the member of the PLAN frame; JSON null for "forever", which is what a plan
// without the member does. NULL with a reason.
json_t *retry_read (const char *text, struct reason *reason);

// Add the default to a PLAN frame without `retry`; `given` is the text of --retry, NULL = none.
// Default: 3 tries of each occurrence, 10 if the plan has only one, 10 s after the first failure,
// doubling. A plan of a kind gets no default, because its kind defines it; but for such a plan
// "forever" is added as a member.
void retry_add_default (json_t *plan, const char *given);

// Write a `retry` in the form that retry_read parses: "fixed:30s:5,manual".
void retry_write_option (FILE *file, const json_t *retry);

// Describe the retries of a plan, a PLAN frame or the station's JSON: "3 tries, then the next
// occurrence".
void retry_summary (FILE *file, const json_t *plan);

// Describe the retries with their intervals: "3 tries, 10 s after the first failure, doubling; then
// ...".
void retry_write (FILE *file, const json_t *plan);
