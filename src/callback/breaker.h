// A receiver that does not work is left alone: ten failures in a row open its breaker for 30 s,
// doubling to 15 minutes; then one callback tries it. Pure.
#pragma once

#include <stdbool.h>

#include "table.h"

enum { BREAKER_FAILURES = 10, BREAKER_HOSTS_MAX = 4096 };

// Zeroed knows of no failures.
struct breakers {
    struct table table;
};

// How long to wait before the next callback to this host, in milliseconds; 0: send it, and report
// how it ended. `probes` is the callback's own, false at first: it becomes the one that tries the
// host, and may ask again.
int64_t breaker_wait (struct breakers *self, const char *host, int64_t now_ms, bool *probes);

enum breaker_end {
    BREAKER_WORKS,  // the host answered
    BREAKER_FAILED, // no answer, HTTP 429 or 5xx
    BREAKER_UNKNOWN // the callback was not sent to its end
};

void breaker_end (struct breakers *self, const char *host, enum breaker_end end, int64_t now_ms);

void breakers_free (struct breakers *self);
