// A line is written only if stderr accepts it at once: a stopped reader or a full disk causes lost
// lines, but never blocks. Each event is limited to 20 lines per second, as a peer may trigger it;
// its next line reports the number of dropped ones.
#include "log.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "log_json.h"
#include "nearest.h"

enum { LINES_A_SECOND = 20, EVENTS_MAX = 64, LINE_MAX_BYTES = 1024, JSON_MAX_BYTES = 4096 };

// The rate of an event within the current second.
struct rate {
    const char *event; // NULL: a free entry
    int64_t second;
    uint64_t lines;
    uint64_t suppressed; // dropped since the last line that was written
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static const char *const format_names[] = {"logfmt", "json"};

enum {
    LEVELS = sizeof level_names / sizeof *level_names,
    FORMATS = sizeof format_names / sizeof *format_names
};

static const char *log_program = "zplan";
static enum log_level log_limit = LEVEL_INFO;
static bool log_is_json;
static struct rate rates[EVENTS_MAX];
static uint64_t dropped;

bool log_level_known (const char *name)
{
    return word_index (level_names, LEVELS, name) >= 0;
}

bool log_format_known (const char *name)
{
    return word_index (format_names, FORMATS, name) >= 0;
}

void log_start (const char *program, const char *level, const char *format)
{
    int limit = word_index (level_names, LEVELS, level);
    int form = word_index (format_names, FORMATS, format);
    log_program = program;
    if (limit >= 0)
        log_limit = (enum log_level)limit;
    if (form >= 0)
        log_is_json = form > 0;
}

uint64_t log_dropped (void)
{
    return dropped;
}

// The event's entry in the table; when the table is full, the last entry is shared.
static struct rate *event_rate (const char *event)
{
    size_t at = 0;
    while (at < EVENTS_MAX - 1 && rates[at].event && strcmp (rates[at].event, event) != 0)
        at++;
    rates[at].event = event;
    return &rates[at];
}

// Count a line of the event. True: its rate allows the line; `*ret_suppressed` is the number of its
// lines dropped before.
static bool count_event_line (const char *event, uint64_t *ret_suppressed)
{
    struct rate *rate = event_rate (event);
    int64_t second = clock_mono_us () / 1000000;
    if (rate->second != second)
        rate->lines = 0;
    rate->second = second;
    if (rate->lines++ >= LINES_A_SECOND) {
        rate->suppressed++;
        return false;
    }
    *ret_suppressed = rate->suppressed;
    rate->suppressed = 0;
    return true;
}

// Write the line if stderr accepts it at once, else count it as dropped.
static void write_line (const char *line, size_t size)
{
    struct pollfd item = {.fd = STDERR_FILENO, .events = POLLOUT};
    bool takes = poll (&item, 1, 0) == 1 && item.revents & POLLOUT;
    // One write call per line, so that lines of several processes on one stderr do not mix.
    if (!takes || write (STDERR_FILENO, line, size) != (ssize_t)size)
        dropped++;
}

static size_t print_line_head (char *line, size_t room, enum log_level level, const char *event)
{
    struct timespec now;
    struct tm utc;
    char stamp[32];
    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &utc);
    strftime (stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    return (size_t)snprintf (line, room, "ts=%s.%03ldZ level=%s program=%s event=%s ", stamp,
                             now.tv_nsec / 1000000, level_names[level], log_program, event);
}

void log_event (enum log_level level, const char *event, const char *format, ...)
{
    uint64_t suppressed = 0;
    if (level > log_limit || (level != LEVEL_DEBUG && !count_event_line (event, &suppressed)))
        return;
    char line[LINE_MAX_BYTES];
    size_t size = print_line_head (line, sizeof line, level, event);
    if (suppressed)
        size +=
            (size_t)snprintf (line + size, sizeof line - size, "left_out=%" PRIu64 " ", suppressed);
    va_list args;
    va_start (args, format);
    int tail = vsnprintf (line + size, sizeof line - size - 1, format, args);
    va_end (args);
    size_t room = sizeof line - size - 2;
    size += (size_t)tail < room ? (size_t)tail : room;
    char json[JSON_MAX_BYTES];
    char *out = log_is_json ? json : line;
    if (log_is_json)
        size = log_json (line, size, json, sizeof json - 1);
    out[size++] = '\n';
    write_line (out, size);
}
