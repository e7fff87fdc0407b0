// Reads outcomes back from an archive: a folder with one file per month, or a single file. Memory:
// 48 bytes for each outcome of a file that `wants` accepts.
#pragma once

#include <jansson.h>

#include "reason.h"

struct archive_reading {
    const char *path;
    bool newest; // the newest first
    bool quiet;  // broken lines were reported before
    bool (*wants) (void *owner, const json_t *outcome);
    bool (*take) (void *owner, const json_t *outcome); // in order; false: no more
    void *owner;
    int64_t broken; // lines that are not valid outcomes: reported on stderr, and skipped
};

// Read them in order of time. 0, or -1 with a reason.
int archive_read (struct archive_reading *self, struct reason *reason);
