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

enum { EVERYTHING_FORMAT = 1 };

// A callback is its station's alone: no other takes it (proto 7.12). The number of skipped ones is
// printed on stderr.
bool everything_leaves_out (const json_t *plan);
void everything_report_skipped (int64_t callbacks);

// Write everything to stdout. Returns an exit code.
int everything_export (const struct cli *cli);
