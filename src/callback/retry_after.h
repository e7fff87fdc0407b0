// The header Retry-After of an answer (RFC 9110, 10.2.3). Pure.
#pragma once

#include "span.h"

enum { RETRY_AFTER_MAX_S = 86400 };

// Parse the header: the seconds from `now_s` (Unix) on. The value is a number, or the time until a
// date such as "Thu, 26 Nov 2026 13:00:00 GMT"; at most a day. 0: invalid, or a date that has
// passed.
int64_t retry_after (struct span value, int64_t now_s);
