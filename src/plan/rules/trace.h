// W3C trace context: the `traceparent` of a submission, and of each run that comes of it. Pure.
// Source: W3C Trace Context, version 00.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

enum { TRACE_SIZE = 56 }; // VERSION-TRACE-SPAN-FLAGS, with a NUL

// Whether this is a traceparent of version 00: 55 characters, hex digits in lower case, neither id
// 0.
bool trace_valid (struct span text);

// What makes the ids of a run: the same run always has the same.
struct trace_run {
    uint64_t plan_id, exec_id;
    int64_t nominal;
    bool repeats; // its plan does: each occurrence is a trace of its own
};

// The traceparent of a run of the plan that was submitted with the valid `parent`: tries of one
// occurrence are of one trace, each a span of its own.
void trace_of_run (const char *parent, const struct trace_run *run, char ret[TRACE_SIZE]);
