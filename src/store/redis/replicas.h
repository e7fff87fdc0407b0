// Waits until the replicas of Redis have what was written. It uses its own connection, as WAIT
// blocks its connection. Replication is one stream: when a write made here has reached a replica,
// so have all earlier writes of all connections.
#pragma once

#include "link.h"

struct replicas;

// `config` is borrowed; its `replicas` is not 0.
struct replicas *replicas_new (const struct link_config *config, struct reactor *reactor);
void replicas_destroy (struct replicas **self);

// The link is up: this is the master. The address is copied.
void replicas_open (struct replicas *self, const struct address *address);

// The link is down: all callers are answered with false.
void replicas_close (struct replicas *self);

// Wait for the replicas. One WAIT serves all callers that came while the previous WAIT was in
// flight.
void replicas_wait (struct replicas *self, link_replicated_fn *reply, void *owner);

// Call this in each turn, and at each tick, of the link.
void replicas_flush (struct replicas *self);
