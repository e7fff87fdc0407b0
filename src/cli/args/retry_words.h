// The `retry` of a plan: read from an option, its default, and as text. Pure.
//
//   none   forever   fixed:30s:5   exponential:1s:8   sequence:1s/2s/4s:5
//
// A strategy, its pace, and how often it is tried again (left out: forever); after it, if wanted,
// ",jitter=2s" and ",manual".
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "reason.h"

// The member of the PLAN frame; null for "forever", which is what a plan without the member does.
// NULL with a reason.
json_t *retry_read (const char *text, struct reason *reason);

// Put the default into a PLAN frame that says no retry; `given` is the text of --retry, NULL =
// none. 3 tries of each occurrence, 10 of a plan that has only one, 10 s after the first failure,
// doubling. A plan of a kind gets none: its kind says it; but there "forever" becomes a member.
void retry_fill (json_t *plan, const char *given);

// A `retry` as retry_read takes it: "fixed:30s:5,manual".
void retry_write_option (FILE *file, const json_t *retry);

// Of a plan, a PLAN frame or as the station shows it: "3 tries, then the next occurrence".
void retry_summary (FILE *file, const json_t *plan);

// The same with the pace: "3 tries, 10 s after the first failure, doubling; then ...".
void retry_write (FILE *file, const json_t *plan);
