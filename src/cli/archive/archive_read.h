// Reads outcomes back from an archive: a folder with one file per month, or a single file. Memory:
// 48 bytes for each outcome of a file that `wants` accepts.
#pragma once

#include <jansson.h>

#include "reason.h"

struct archive_reading {
    const char *path;
    bool newest; // the newest outcome first; else the oldest
    bool quiet;  // do not report broken lines: an earlier pass did
    bool (*wants) (void *owner, const json_t *outcome); // whether to read this outcome
    bool (*take) (void *owner, const json_t *outcome);  // in order of time; false: stop reading
    void *owner;
    int64_t broken; // number of invalid lines: skipped, and reported unless `quiet`
};

// Call `take` for each wanted outcome. 0, or -1 with a reason.
int archive_read (struct archive_reading *self, struct reason *reason);
