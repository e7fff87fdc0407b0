// A progress line on stderr for a long job. It appears after two seconds, only on a terminal, and
// is erased at the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *verb, *things; // `things`: what is counted, by default plans
    bool wanted;               // stderr is a terminal
    bool shown;
    int64_t next_us; // monotonic: the line is not updated before
};

enum progress_output { PROGRESS_QUIET, PROGRESS_LINES };

// `output`: PROGRESS_LINES if the job itself prints lines, so that a terminal needs no progress
// line.
void progress_start (struct progress *self, const char *verb, enum progress_output output);

// Report that `done` things are done; `total` 0: the total is unknown.
void progress_step (struct progress *self, size_t done, size_t total);

// Report that `done` things are done, and `part` of `whole`; `whole` 0: its size is unknown.
void progress_share (struct progress *self, size_t done, int64_t part, int64_t whole);

// Erase the line: before anything else is written to stderr, and at the end.
void progress_clear (struct progress *self);
