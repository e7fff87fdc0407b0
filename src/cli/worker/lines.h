// The last whole line that came through a pipe: older ones, and ones that are too long, are
// dropped.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LINE_MAX_SIZE = 512 };

struct line_reader {
    int fd; // non-blocking; -1 when it is closed
    size_t size;
    char part[LINE_MAX_SIZE]; // of the line that is coming
    bool fresh;               // `last` was not looked at yet
    char last[LINE_MAX_SIZE]; // with a NUL, without a newline
};

// Read what is there, up to a bound, and close the pipe at its end.
void lines_read (struct line_reader *self);

// The last line since the call before, or NULL.
const char *lines_last (struct line_reader *self);
