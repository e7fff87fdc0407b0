// The log: one line an event, to stderr: logfmt, or a JSON object (log_json.h). Events have
// stable names; values are text.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Not LOG_INFO and so on: those are macros of syslog.h, which czmq includes.
enum log_level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_DEBUG };

// "error", "warn", "info" or "debug"; false: no such level, and nothing is changed.
bool log_level_parse (const char *name, enum log_level *ret);

// Lines above this level are dropped. `program` is borrowed for the life of the process.
void log_start (const char *program, enum log_level level);

enum log_format { LOG_LOGFMT, LOG_JSON };

// "logfmt" or "json"; false: no such format, and nothing is changed.
bool log_format_parse (const char *name, enum log_format *ret);

// How lines are written from now on; logfmt by default.
void log_use (enum log_format format);

// Lines that were lost because stderr did not take them at once.
uint64_t log_dropped (void);

// One line: level, event, then the fields as printf makes them (`key=value` pairs; peer bytes only
// through quoted ()). Never waits. At most 20 lines a second of one event; the next one then says
// how many were left out. `event` is borrowed for the life of the process.
void log_event (enum log_level level, const char *event, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
