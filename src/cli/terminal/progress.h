// One line on stderr that says how far a long job is. It appears after two seconds, on a terminal,
// and goes away again.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *verb, *things; // what is counted: plans, unless something else is set
    bool wanted;               // stderr is a terminal
    bool shown;
    int64_t next_us; // monotonic: when it is written again
};

enum progress_output { PROGRESS_QUIET, PROGRESS_LINES };

// `output`: PROGRESS_LINES when the job prints lines of its own meanwhile, which on a terminal say
// enough.
void progress_start (struct progress *self, const char *verb, enum progress_output output);

// Report that `done` are done; `total` 0: their number is not known.
void progress_step (struct progress *self, size_t done, size_t total);

// Report that `done` plans are done, and this share of the job; `whole` 0: its size is not known.
void progress_share (struct progress *self, size_t done, int64_t part, int64_t whole);

// Take the line away: before anything else is written to stderr, and at the end.
void progress_clear (struct progress *self);
