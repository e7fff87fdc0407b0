// Resolve names to addresses, in threads: a name server that does not answer blocks nothing else.
// Answers are cached for 30 s. There is one resolver per process, for its whole life, since a
// thread that waits for a name server cannot be ended.
#pragma once

#include <stdbool.h>

#include "callback_url.h"
#include "reactor.h"

enum {
    RESOLVED_MAX = 8,
    CALLBACKS_MAX = 256 // callbacks in flight; each resolves one name
};

struct resolved_addresses {
    size_t count; // 0: the name could not be resolved
    uint8_t addresses[RESOLVED_MAX][16];
};

typedef void resolved_fn (void *owner, const struct resolved_addresses *resolved);

// Start the threads. False: they cannot be started.
bool resolver_start (struct reactor *reactor);

// Look up a host for a source (the target of the run). True: the cached answer is in `ret`. False:
// `call` is called once, in a later turn of the reactor. At most two names of a source are looked
// up at a time, and concurrent requests of a source for one name share a lookup.
bool resolver_find (const char *host, const char *source, struct resolved_addresses *ret,
                    resolved_fn *call, void *owner);

// Stop the resolver: no `call` is made any more. The threads are not ended.
void resolver_stop (void);
