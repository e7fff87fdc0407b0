// All that a station keeps, as lines: what `zplan export --everything` writes and `zplan import`
// takes. One JSON object per line; its "type" says what it is:
//
//   everything  the first line: the format, the version, when it was written
//   target      one that was added at run time has its `text`, without its key
//   flow        a version; those before kinds, which it brings as they were
//   kind, limit
//   outcome     of a run, as `history` gives it
//   plan        as `message` gives it, with its state and its counts
//   end         the last line: how many of each; without it the file is truncated
#pragma once

#include "call.h"
#include "pipeline.h"
#include "progress.h"

enum { EVERYTHING_FORMAT = 1 };

enum { PLAN_BATCH = 32 }; // plans asked for at once; each may be large

// Plans that are read whole, a batch at a time, and written.
struct plan_export {
    const struct cli *cli;
    void (*write) (json_t *plan); // takes it
    struct pipeline *pipeline;
    uint64_t ids[PLAN_BATCH];
    json_t *plans[PLAN_BATCH]; // NULL: it is not there any more
    size_t count;
    int64_t written, others; // plans, and what else was written: for the progress
    int64_t callbacks;       // left out: one is its station's alone, no other takes it (proto 7.12)
    int64_t masked;          // whose callbacks `import` will reject
    struct verdict trouble;
    struct progress progress;
};

// Connect. False: reported on stderr, and the verb ends with `ret_code`.
bool plan_export_begin (struct plan_export *self, const struct cli *cli,
                        void (*write) (json_t *plan), int *ret_code);

// Take a plan as `list` gives it. False: the station is unresponsive.
bool plan_export_add (struct plan_export *self, const json_t *plan);

// Write those that were taken. False as above.
bool plan_export_flush (struct plan_export *self);

void plan_export_progress (struct plan_export *self);

// Say on stderr how many were left out or are masked. Returns an exit code: with masked ones it is
// no backup.
int plan_export_report (const struct plan_export *self);

// Write everything to stdout. Returns an exit code.
int everything_export (const struct cli *cli);
