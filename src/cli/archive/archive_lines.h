// Reads an archive file line by line. The file is not trusted: a crash may have truncated it, and
// anybody may have written it.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "span.h"

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

// Start reading at the first line; `file` is borrowed.
void archive_lines_start (struct archive_lines *self, FILE *file);

// Return the next line, without its newline. The text is valid until the next call.
enum archive_line archive_lines_next (struct archive_lines *self, struct span *ret);
