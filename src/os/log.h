// The log: one line an event, to stderr: logfmt, or a JSON object (log_json.h). Events have
// stable names; values are text.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Not LOG_INFO and so on: those are macros of syslog.h, which czmq includes.
enum log_level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_DEBUG };

// Whether a level has this name: "error", "warn", "info" or "debug"; and a format: "logfmt" or
// "json".
bool log_level_known (const char *name);
bool log_format_known (const char *name);

// Write as this program, which is borrowed for the life of the process, no lines above this level,
// and in this format; names that are not known change nothing.
void log_start (const char *program, const char *level, const char *format);

// Lines that were lost because stderr did not take them at once.
uint64_t log_dropped (void);

// One line: level, event, then the fields as printf makes them (`key=value` pairs; peer bytes only
// through quoted ()). Never waits. At most 20 lines a second of one event; the next one then says
// how many were left out. `event` is borrowed for the life of the process.
void log_event (enum log_level level, const char *event, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
