// A crontab as text: its lines of jobs as crontab(5) describes them, and what is wrong with others.
// Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reason.h"
#include "span.h"

enum {
    CRONTAB_SIZE_MAX = 1 << 20,     // bytes of a file
    CRONTAB_JOBS_MAX = 10000,       // lines of jobs
    CRONTAB_REMARKS_MAX = 1000,     // then no further line is read
    CRONTAB_VARIABLES_MAX = 1 << 14 // bytes of the variables together
};

enum crontab_format {
    CRONTAB_USER,  // what `crontab -l` prints
    CRONTAB_SYSTEM // /etc/crontab: a user follows the times
};

struct crontab_job {
    int line;        // counted from 1
    char *times;     // 5 fields with a blank between, or a word as @daily
    char *timezone;  // CRON_TZ; NULL = none was set
    char *user;      // of CRONTAB_SYSTEM; else NULL
    char *command;   // as cron would give it to the shell
    char *script;    // the same for /bin/sh: with the variables that were set before the line
    char *input;     // its standard input; NULL = none
    char digest[13]; // 12 hex digits of a hash of all of these but the line
};

// A remark about a line.
struct crontab_remark {
    int line;
    enum { CRONTAB_ERROR, CRONTAB_NOTE } type; // it is no job; it is not kept
    struct reason text;                        // names the column where it can
};

struct crontab {
    struct crontab_job *jobs;
    size_t job_count;
    struct crontab_remark *remarks;
    size_t remark_count, error_count;
    bool cut; // there were too many remarks, and lines after them
};

// Read a text, which may be hostile. Never NULL: a line that is wrong makes an error.
struct crontab *crontab_read (struct span text, enum crontab_format format);

void crontab_destroy (struct crontab **self);

// Add a remark about a line.
void crontab_remark (struct crontab *self, int line, int type, const char *text);
