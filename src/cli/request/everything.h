// The format that `zplan export --everything` writes and `zplan import` reads: everything that a
// station stores, one JSON object per line. Its "type" is one of:
//
//   everything  the first line: the format, the version, when it was written
//   target      one that was added at run time has its `text`, without its key
//   flow        one version, with its kinds as they were then; all flows precede the kinds
//   kind, limit
//   outcome     of a run, as `history` returns it
//   plan        as `message` returns it, with its state and its counters
//   end         the last line: how many of each; without it the file is truncated
#pragma once

#include "call.h"
#include "pipeline.h"
#include "progress.h"

enum { EVERYTHING_FORMAT = 1 };

enum { PLAN_BATCH = 32 }; // plans requested at once; each may be large

// Reads plans completely, in batches, and writes them.
struct plan_export {
    const struct cli *cli;
    const char
        *type; // plans are written as records of this type; NULL: as `zplan show` prints them
    struct pipeline *pipeline;
    uint64_t ids[PLAN_BATCH];
    json_t *plans[PLAN_BATCH]; // NULL: the plan no longer exists
    size_t count;
    int64_t written, others; // plans and other records written: for the progress
    int64_t callbacks;       // not exported: no other station accepts a callback (proto 7.12)
    int64_t masked;          // plans and kinds with masked callback URLs: `import` rejects these
    struct verdict trouble;
    struct progress progress;
};

// Connect. False: reported on stderr, and the verb ends with `ret_code`.
bool plan_export_begin (struct plan_export *self, const struct cli *cli, const char *type,
                        int *ret_code);

// Add a plan, as `list` returns it, to the batch of the struct plan_export; a `take` of struct
// selected. False: the station is unresponsive.
bool plan_export_add (void *plan_export, const json_t *plan);

// Write the plans of the batch. False: the station is unresponsive.
bool plan_export_flush (struct plan_export *self);

// Report on stderr how many plans were omitted or are masked. Returns an exit code: masked ones are
// an error, because the file is then not a complete backup.
int plan_export_report (const struct plan_export *self);

// Write a record for each version of each flow, called flows before their callers, and report how
// many runs are in progress: runs are not exported. `ret_count` gets the number of records,
// `ret_unreadable` the number of versions and flows that the station could not read, which are
// reported and omitted. Returns an exit code.
int everything_flows (const struct cli *cli, struct zplan_client *client, int64_t *ret_count,
                      int64_t *ret_unreadable);

// Write everything to stdout. Returns an exit code.
int everything_export (const struct cli *cli);
