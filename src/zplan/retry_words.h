// The `retry` of a plan as people say it, and as it is told to them. Pure.
//
//   none   fixed:30s:5   exponential:1s:8   sequence:1s/2s/4s:5
//
// A strategy, its pace, and how often it is tried again (left out: for ever); behind it, if wanted,
// ",jitter=2s" and ",manual".
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "reason.h"

// The member of the PLAN frame. NULL with a reason.
json_t *retry_read (const char *text, struct reason *reason);

// "at most 5 times, 30 s apart; then by hand". What is no such member: a dash.
void retry_write (FILE *file, const json_t *retry);
