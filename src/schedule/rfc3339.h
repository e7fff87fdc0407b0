// Instants as text: RFC 3339, whole seconds.
#pragma once

#include <stdint.h>

#include "reason.h"
#include "span.h"

enum { RFC3339_SIZE = 24 }; // "9999-12-31T23:59:59Z" and its NUL, rounded up

// Parse "2026-12-24T18:00:00+01:00" to Unix seconds. Date, time and offset are required; a
// fraction, a leap second, a day that does not exist, and an instant outside 1970..9999 are
// rejected. 0, or -1 with the reason.
int rfc3339_parse (struct span text, int64_t *ret_time, struct reason *reason);

// Format Unix seconds, within 1970..9999, as "2026-12-24T17:00:00Z".
void rfc3339_format (int64_t time, char out[RFC3339_SIZE]);
