// Sockets with the options every socket of zplan has, and contexts of one's own for them: what the
// library needs, which shares nothing with the program around it.
#pragma once

#include "reason.h"

// A ZeroMQ context of one's own, with an I/O thread of its own. NULL and errno: EMFILE when
// descriptors run out, ENOMEM.
void *wire_context_new (void);

// End it when all its sockets are closed: waits until LINGER lets the last messages go. The pointer
// becomes NULL, and NULL is fine; errno stays.
void wire_context_destroy (void **context);

// A socket of this type with bounded queues, TCP keep-alive and LINGER 0. NULL when descriptors
// have run out.
void *wire_socket_in (void *context, int type);

void wire_set (void *socket, int option, int value);

// Cut the connection of a peer that sends a frame larger than this. Without the call it is what
// packet_of_stations takes.
void wire_limit (void *socket, size_t frame_bytes);

// Close a connection whose peer is unresponsive for three seconds, as one is that was stopped or
// whose host is gone. For a connection to a station one has chosen: what it sends is then queued
// without a bound, so it must be read. Call before connecting.
void wire_heartbeat (void *socket);

// Whether this is an endpoint a ZeroMQ socket can connect to: tcp://host:port or ipc://path.
int endpoint_check (const char *endpoint, struct reason *reason);

// Whether only this machine can reach an endpoint that is bound: ipc, or the tcp of 127.0.0.0/8,
// [::1], localhost and lo.
bool endpoint_is_local (const char *endpoint);
