// The files that outcomes are moved to: in a folder one of each month, history-YYYY-MM.ndjson, or
// one that was named. What was written is never written again: each file's outcomes are read before
// the first is added, so that it is no matter where an earlier archive was stopped, or whether
// Redis forgot what it had taken out. Memory: 32 bytes for each outcome in the one file that is
// open.
#pragma once

#include "outcomes.h"

struct archive;

// `folder` is created if it does not exist. NULL with a reason: also when another archive uses it.
struct archive *archive_open_folder (const char *folder, struct reason *reason);
struct archive *archive_open_file (const char *file, struct reason *reason);
void archive_close (struct archive **self);

// Whether outcomes of this time go into the file that is open.
bool archive_is_at (const struct archive *self, int64_t ended_ms);

// Open the file for this time: cut an incomplete last line off, and report it on stderr. 0, or -1
// with a reason.
int archive_turn (struct archive *self, int64_t ended_ms, struct reason *reason);

// Whether the file that is open had this outcome when it was opened.
bool archive_has (const struct archive *self, const struct outcome_key *key);

// Add whole lines: they are on the disk when it returns 0. -1 with a reason: none is there.
int archive_append (struct archive *self, struct span lines, struct reason *reason);

// The name of the file that is open, without its folder.
const char *archive_name (const struct archive *self);
