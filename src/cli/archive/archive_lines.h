// The lines of an archive's file, one after the other. What stands there may have been cut by a
// crash, or written by anybody.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "span.h"

enum { ARCHIVE_LINE_MAX = 65536 }; // bytes of a line; an outcome has far less

enum archive_line {
    ARCHIVE_END,
    ARCHIVE_WHOLE,
    ARCHIVE_LONG, // too long to be an outcome: there is no text
    ARCHIVE_TORN  // the last one, without its newline
};

struct archive_lines {
    FILE *file; // borrowed
    int64_t number;
    off_t at, next; // where this line begins, and the next one
    char text[ARCHIVE_LINE_MAX];
};

// Begin with the first line.
void archive_lines_start (struct archive_lines *self, FILE *file);

// The next line, without its newline. The text lives until the call after.
enum archive_line archive_lines_next (struct archive_lines *self, struct span *ret);
