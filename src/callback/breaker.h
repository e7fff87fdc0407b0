// Circuit breakers for receivers: ten failures in a row open the breaker of a host for 30 s,
// doubling up to 15 minutes; then one callback probes it. Pure.
#pragma once

#include <stdbool.h>

#include "table.h"

enum { BREAKER_FAILURES = 10, BREAKER_HOSTS_MAX = 4096 };

// When zeroed, no failures are known.
struct breakers {
    struct table table;
};

// How long to wait before the next callback to this host, in milliseconds; 0: send it, and call
// breaker_end afterwards. `probes` belongs to the callback and is false at first; true: this
// callback probes the host, and may call this again.
int64_t breaker_wait (struct breakers *self, const char *host, int64_t now_ms, bool *probes);

enum breaker_end {
    BREAKER_WORKS,  // the host answered
    BREAKER_FAILED, // no answer, HTTP 429 or 5xx
    BREAKER_UNKNOWN // the callback was not fully sent
};

void breaker_end (struct breakers *self, const char *host, enum breaker_end end, int64_t now_ms);

void breakers_free (struct breakers *self);
