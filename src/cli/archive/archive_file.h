// The files that outcomes are moved to: a folder with one file per month, history-YYYY-MM.ndjson,
// or one named file. No outcome is written twice: the outcomes in a file are read before the first
// is added, so an archive may have been interrupted anywhere, and Redis may have lost its last
// removals. Memory: 32 bytes for each outcome in the file that is open.
#pragma once

#include "outcomes.h"

enum { ARCHIVE_LINE_MAX = 65536 }; // bytes of a line; an outcome has far less

// -- to append

struct archive;

// Open or create the folder. NULL with a reason, also if another archive uses it.
struct archive *archive_open_folder (const char *folder, struct reason *reason);
struct archive *archive_open_file (const char *file, struct reason *reason);
void archive_close (struct archive **self);

// Whether an outcome that ended at this time (Unix milliseconds) belongs in the open file.
bool archive_file_covers (const struct archive *self, int64_t ended_ms);

// Open the file of the month of this time. An incomplete last line is cut off and reported on
// stderr. 0, or -1 with a reason.
int archive_open_month (struct archive *self, int64_t ended_ms, struct reason *reason);

// Whether the open file had this outcome when it was opened.
bool archive_has (const struct archive *self, const struct outcome_key *key);

// Append whole lines. 0: they are on disk; -1 with a reason: none of them was added.
int archive_append (struct archive *self, struct span lines, struct reason *reason);

// The name of the file that is open, without its folder.
const char *archive_name (const struct archive *self);

// -- to read back. Memory: 48 bytes for each outcome of a file that `wants` accepts. A file is not
// trusted: a crash may have truncated it, and anybody may have written it.

struct archive_reader {
    const char *path;
    bool newest; // the newest outcome first; else the oldest
    bool quiet;  // do not report broken lines: an earlier pass did
    bool (*wants) (void *owner, const json_t *outcome); // whether to read this outcome
    bool (*take) (void *owner, const json_t *outcome);  // in order of time; false: stop reading
    void *owner;
    int64_t broken; // number of invalid lines: skipped, and reported unless `quiet`
};

// Call `take` for each wanted outcome. 0, or -1 with a reason.
int archive_read (struct archive_reader *self, struct reason *reason);
