// Submits plans from a file with one plan per line, many in flight at once: zplan add --from, and
// zplan import.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "options.h"

struct submit_lines {
    const char *file; // "-" is stdin
    FILE *opened; // `file`, of which the first line may have been read; NULL: submit_lines opens it
    const char *first;    // the line that was read from `opened`
    size_t first_size;    // 0: there is none
    const char *timezone; // zone of local times in lines; NULL: UTC
    enum { LINES_AS_THEY_ARE, LINES_HELD } mode;
    bool stop_on_error; // stop at the first line that is invalid or rejected
    // Without --json: called with the result of each line, in any order (`done` as in JSON), and
    // once with line 0 before the summary. NULL: only the summary is printed.
    void (*on_line) (void *owner, int64_t line, const char *done);
    void *owner;
};

// Open a file of lines; "-" is stdin. NULL: reported on stderr.
FILE *lines_open (const char *name);

// Submit the plan of each line, and report the results. Returns an exit code.
int submit_lines (const struct cli *cli, const struct submit_lines *load);
