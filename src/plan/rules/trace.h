// W3C trace context: the `traceparent` of a submission, and of each run of its plan. Pure.
// Source: W3C Trace Context, version 00.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

enum { TRACE_SIZE = 56 }; // VERSION-TRACE-SPAN-FLAGS, with a NUL

// Whether this is a traceparent of version 00: 55 characters, hex digits in lower case, and no id
// of zeros only.
bool trace_valid (struct span text);

// The ids of a run's traceparent are derived from these: the same run always has the same ids.
struct trace_run {
    uint64_t plan_id, exec_id;
    int64_t nominal; // Unix seconds
    bool repeats;    // the plan repeats: each occurrence is a trace of its own
};

// The traceparent of a run. `parent`: the valid traceparent that its plan was submitted with. The
// tries of an occurrence belong to one trace; each has a span of its own.
void trace_of_run (const char *parent, const struct trace_run *run, char ret[TRACE_SIZE]);
