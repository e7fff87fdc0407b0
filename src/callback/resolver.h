// Names to addresses, in threads of its own: a name server that does not answer stops nothing else.
// Answers are kept for 30 s. One a process, for its whole life: a thread that waits for a name
// server cannot be ended.
#pragma once

#include <stdbool.h>

#include "callback_url.h"
#include "reactor.h"

enum {
    RESOLVED_MAX = 8,
    CALLBACKS_MAX = 256 // in flight at a time: each asks for one name
};

struct resolved {
    size_t count; // 0: the name is not known
    uint8_t addresses[RESOLVED_MAX][16];
};

typedef void resolved_fn (void *owner, const struct resolved *resolved);

// Start the threads. False: they cannot be.
bool resolver_start (struct reactor *reactor);

// True: the answer was kept, and is in `ret`. False: call back once, in a turn to come. At most two
// names of a source are looked up at a time, and one name of a source once for all who want it.
bool resolver_find (const char *host, const char *source, struct resolved *ret, resolved_fn *call,
                    void *owner);

// No call comes any more.
void resolver_stop (void);
