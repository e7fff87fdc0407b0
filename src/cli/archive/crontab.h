// Parses a crontab: its jobs, as crontab(5) describes them, and remarks about lines that are wrong.
// Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reason.h"
#include "span.h"

enum {
    CRONTAB_SIZE_MAX = 1 << 20,     // bytes of a file
    CRONTAB_JOBS_MAX = 10000,       // lines of jobs
    CRONTAB_REMARKS_MAX = 1000,     // reading stops after this many
    CRONTAB_VARIABLES_MAX = 1 << 14 // total size of the variables in bytes
};

enum crontab_format {
    CRONTAB_USER,  // what `crontab -l` prints
    CRONTAB_SYSTEM // /etc/crontab: a user follows the times
};

struct crontab_job {
    int line;        // counted from 1
    char *times;     // 5 fields separated by blanks, or a word such as @daily
    char *timezone;  // CRON_TZ; NULL = none was set
    char *user;      // only with CRONTAB_SYSTEM; else NULL
    char *command;   // as cron would give it to the shell
    char *script;    // for /bin/sh: sets the variables that precede the line, then runs the command
    char *input;     // standard input of the command; NULL = none
    char digest[13]; // 12 hex digits: hash of these fields except `line`
};

// A remark about a line.
struct crontab_remark {
    int line;
    enum { CRONTAB_ERROR, CRONTAB_NOTE } type; // an invalid line; an ignored setting
    struct reason text;                        // names the column if it is known
};

struct crontab {
    struct crontab_job *jobs;
    size_t job_count;
    struct crontab_remark *remarks;
    size_t remark_count, error_count;
    bool cut; // reading stopped at CRONTAB_REMARKS_MAX, before the end
};

// Read a text, which may be hostile. Never NULL: an invalid line adds an error remark.
struct crontab *crontab_read (struct span text, enum crontab_format format);

void crontab_destroy (struct crontab **self);

// Add a remark about a line.
void crontab_remark (struct crontab *self, int line, int type, const char *text);
