// Redis Sentinel: which Redis is the master now. All sentinels are asked at once, and the newest
// answer (its configuration epoch) counts: one that was cut off may still name the old master.
#pragma once

#include "address.h"
#include "reactor.h"

struct sentinel;

// The master, or NULL with the reason why it is not known.
typedef void sentinel_found_fn (void *owner, const struct address *master, const char *reason);

// The address is one of the kind ADDRESS_SENTINEL, borrowed.
struct sentinel *sentinel_new (const struct address *address, struct reactor *reactor,
                               sentinel_found_fn *found, void *owner);
void sentinel_destroy (struct sentinel **self);

// Ask, unless a request is in flight. Answered from the reactor, within half a second.
void sentinel_ask (struct sentinel *self);
