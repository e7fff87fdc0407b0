#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static const char *log_program = "zplan";
static enum log_level log_limit = LEVEL_INFO;

bool log_level_parse (const char *name, enum log_level *ret)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp (name, level_names[i]) == 0) {
            *ret = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_start (const char *program, enum log_level level)
{
    log_program = program;
    log_limit = level;
}

void log_event (enum log_level level, const char *event, const char *format, ...)
{
    if (level > log_limit)
        return;
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r (&now.tv_sec, &utc);
    char stamp[32];
    strftime (stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);

    char line[1024];
    int head = snprintf (line, sizeof line, "ts=%s.%03ldZ level=%s program=%s event=%s ", stamp,
                         now.tv_nsec / 1000000, level_names[level], log_program, event);
    va_list args;
    va_start (args, format);
    int tail = vsnprintf (line + head, sizeof line - (size_t)head - 1, format, args);
    va_end (args);
    size_t room = sizeof line - (size_t)head - 2;
    size_t size = (size_t)head + ((size_t)tail < room ? (size_t)tail : room);
    line[size++] = '\n';
    // One write a line: lines of several processes on one stderr do not mix.
    fwrite (line, 1, size, stderr);
}
