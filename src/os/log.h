// The log: one line per event to stderr, in logfmt or as a JSON object (log_json.h). Events have
// stable names; values are text.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Not LOG_INFO and so on: those are macros of syslog.h, which czmq includes.
enum log_level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_DEBUG };

// Whether this is the name of a level: "error", "warn", "info" or "debug".
bool log_level_known (const char *name);

// Whether this is the name of a format: "logfmt" or "json".
bool log_format_known (const char *name);

// Set the program's name (borrowed for the life of the process), the least severe level that is
// logged, and the format. An unknown level or format is ignored.
void log_start (const char *program, const char *level, const char *format);

// The number of lines dropped because stderr did not accept them at once.
uint64_t log_dropped (void);

// Write one line: level, event, then the fields, formatted as by printf (`key=value` pairs; bytes
// from peers only through quoted ()). Never blocks. Each event, except at debug level, is limited
// to 20 lines per second; its next line reports how many were dropped. `event` is borrowed for the
// life of the process.
void log_event (enum log_level level, const char *event, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
