// Reads outcomes back from an archive: a folder with one file per month, or a single file. Memory:
// 48 bytes for each outcome of a file that `wants` accepts. A file is not trusted: a crash may have
// truncated it, and anybody may have written it.
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

#include "reason.h"

// -- the lines of a file

enum { ARCHIVE_LINE_MAX = 65536 }; // bytes of a line; an outcome has far less

enum archive_line {
    ARCHIVE_END,
    ARCHIVE_WHOLE,
    ARCHIVE_LONG, // too long to be an outcome; its text is not returned
    ARCHIVE_TORN  // the last line, without a newline
};

struct archive_lines {
    FILE *file;     // borrowed
    int64_t number; // of this line, from 1
    off_t at, next; // file offsets of this line and of the next one
    char text[ARCHIVE_LINE_MAX];
};

// Start reading at the first line; `file` is borrowed. Free the result.
struct archive_lines *archive_lines_new (FILE *file);

// Return the next line, without its newline. The text is valid until the next call.
enum archive_line archive_lines_next (struct archive_lines *self, struct span *ret);

// -- the outcomes

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
