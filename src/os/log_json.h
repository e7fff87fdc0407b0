// A line of the log as one JSON object.
#pragma once

#include <stddef.h>

// Write the fields of a logfmt line, which has no newline, as an object of strings, in their order.
// Quotes around a value are omitted; bytes that are not printable ASCII are written as \xNN, as by
// quoted (). Writes at most `room` bytes, without a NUL; a longer line is cut within a value.
// `room` is at least 16. Returns the size of the object.
size_t log_json (const char *line, size_t size, char *out, size_t room);
