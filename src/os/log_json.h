// A line of the log as one JSON object.
#pragma once

#include <stddef.h>

// The fields of a logfmt line, without its newline, as an object of strings, in their order. Quotes
// around a value are omitted; bytes that are not printable ASCII are written as \xNN, as by quoted
// (). Writes at most `room` bytes, without a NUL; a longer line is cut within a value. `room` is at
// least 16. Returns the size.
size_t log_json (const char *line, size_t size, char *out, size_t room);
