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

// A callback is its station's alone: no other takes it (proto 7.12).
bool everything_leaves_out (const json_t *plan);

// A plan or the fields of a kind whose callback `import` will reject: without the role manage its
// URLs are read masked.
bool everything_is_masked (const json_t *fields);

// Say on stderr how many there were of both. Returns an exit code: with masked ones it is no
// backup.
int everything_report_left (int64_t callbacks, int64_t masked);

// Write everything to stdout. Returns an exit code.
int everything_export (const struct cli *cli);
