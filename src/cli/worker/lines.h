// Keeps the last complete line that was read from a pipe. Older lines, and lines that are too long,
// are dropped.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LINE_MAX_SIZE = 512 };

struct line_reader {
    int fd; // non-blocking; -1 when it is closed
    size_t size;
    char part[LINE_MAX_SIZE]; // the incomplete line so far
    bool fresh;               // `last` was not returned yet
    char last[LINE_MAX_SIZE]; // with a NUL, without a newline
};

// Read what is available, up to a limit, and close the pipe at its end.
void lines_read (struct line_reader *self);

// Take the last line that arrived since the previous call; NULL: none did.
const char *lines_last_new (struct line_reader *self);
