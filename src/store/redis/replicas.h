// Waiting until the replicas of Redis have what was written, on a connection of its own: WAIT holds
// up whatever else its connection is asked. Replication is one stream, so a write made here is with
// a replica only when all that was answered before, on any connection, is.
#pragma once

#include "link.h"

struct replicas;

// `config` is borrowed; its `replicas` is not 0.
struct replicas *replicas_new (const struct link_config *config, struct reactor *reactor);
void replicas_destroy (struct replicas **self);

// The link is up: this is the master. The address is copied.
void replicas_open (struct replicas *self, const struct address *address);

// The link is down: all who wait are answered that it is not known.
void replicas_close (struct replicas *self);

// Wait. One WAIT serves all who have come while the one before was in flight.
void replicas_wait (struct replicas *self, link_replicated_fn *reply, void *owner);

// Each turn, and each tick, of the link.
void replicas_flush (struct replicas *self);
