// Redis Sentinel: finds the current master. All sentinels are asked at once, and the answer with
// the greatest configuration epoch counts: a partitioned sentinel may still name the old master.
#pragma once

#include "address.h"
#include "reactor.h"

struct sentinel;

// Called with the master, or with NULL and the reason why it is not known.
typedef void sentinel_found_fn (void *owner, const struct address *master, const char *reason);

// The address is of kind ADDRESS_SENTINEL, and borrowed.
struct sentinel *sentinel_new (const struct address *address, struct reactor *reactor,
                               sentinel_found_fn *found, void *owner);
void sentinel_destroy (struct sentinel **self);

// Ask for the master, unless a request is in flight. `found` is called from the reactor, within
// half a second.
void sentinel_ask (struct sentinel *self);
