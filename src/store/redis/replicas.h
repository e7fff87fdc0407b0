// Waits until the replicas of Redis have what was written. It uses its own connection, as WAIT
// blocks its connection. Replication is one stream: when a write made here has reached a replica,
// so have all earlier writes of all connections.
#pragma once

#include "link.h"

struct replicas;

// `config` is borrowed, and its `replicas` must not be 0.
struct replicas *replicas_new (const struct link_config *config, struct reactor *reactor);
void replicas_destroy (struct replicas **self);

// Call when the link is up, with the master's address, which is copied. It connects when needed.
void replicas_open (struct replicas *self, const struct address *address);

// Call when the link is down: closes the connection, and answers all callers with false.
void replicas_reset (struct replicas *self);

// Call `reply` when the replicas have all writes made so far, or time out. One WAIT serves all
// callers that came while the previous WAIT was in flight.
void replicas_wait (struct replicas *self, link_replicated_fn *reply, void *owner);

// Call this in each turn, and at each tick, of the link.
void replicas_flush (struct replicas *self);
