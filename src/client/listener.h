// A SUB socket and its state, shared by the subscribers of results and of events.
#pragma once

#include "keys.h"
#include "packet.h"
#include "readiness.h"

struct listener {
    void *context; // ZeroMQ context, not shared
    void *socket;
    size_t count; // number of endpoints that it is connected to
    struct readiness ready;
    struct keys keys;
    struct packet packet; // the last message that was received
};

// Subscribe at all `endpoints` to the titles that begin with `prefix`; `self` must be all zero. 0,
// or -1 with errno. Close it in any case.
int listener_open (struct listener *self, const char *endpoints, const char *prefix,
                   const struct keys *keys);
void listener_close (struct listener *self);

// Wait for something to do, at most until `timeout_ms` (below 0: forever) after `start_us`. False:
// it timed out, or a signal was caught.
bool listener_wait (const struct listener *self, int64_t start_us, int64_t timeout_ms);
