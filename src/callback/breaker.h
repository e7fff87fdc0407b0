// Circuit breakers for receivers: ten failures in a row open the breaker of a host for 30 s,
// doubling up to 15 minutes; then one callback probes it. Pure.
#pragma once

#include <stdbool.h>

#include "table.h"

enum { BREAKER_FAILURES = 10, BREAKER_HOSTS_MAX = 4096 };

// The breakers of all hosts with failures; all zero at first.
struct breakers {
    struct table table;
};

// How long to wait before the next callback to this host, in milliseconds; 0: send it, and call
// breaker_end afterwards. `probes` belongs to the callback and is false at first; it becomes true
// when the callback is the probe of an open breaker. The probe may ask again, and gets 0.
int64_t breaker_wait (struct breakers *self, const char *host, int64_t now_ms, bool *probes);

enum breaker_end {
    BREAKER_WORKS,  // the host answered
    BREAKER_FAILED, // no answer, HTTP 429 or 5xx
    BREAKER_UNKNOWN // the callback was not fully sent
};

void breaker_end (struct breakers *self, const char *host, enum breaker_end end, int64_t now_ms);

void breakers_free (struct breakers *self);
