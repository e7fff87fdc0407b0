// Why something was rejected: a text that names the field and the rule.
#pragma once

#include <stdarg.h>

#include "span.h"

enum { REASON_MAX = 200 };

struct reason {
    char text[REASON_MAX]; // UTF-8, NUL-terminated; empty = no reason given
};

// Write the reason; a text that is too long is cut at a character boundary. Returns -1, which the
// caller can return in turn.
int reason_set (struct reason *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

// As reason_set, with the arguments of a function that is variadic itself.
void reason_format (struct reason *self, const char *format, va_list args)
    __attribute__ ((format (printf, 2, 0)));

// As reason_set, but returns false.
bool reason_reject (struct reason *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

// As reason_set, but returns `error`, an enum wire_error.
int reason_error (struct reason *self, int error, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

// A span as printable ASCII in single quotes: control bytes, quotes, backslashes and all bytes
// above 7E become \xHH. At most 64 bytes of the span are shown, followed by "..." if there are
// more. The text is in one of eight buffers of the thread that are used in turn: use it at once.
const char *quoted (struct span bytes);
