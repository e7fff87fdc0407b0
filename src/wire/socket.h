// Sockets with the options that every socket of zplan has, and separate contexts for them: the
// client library needs its own context, as it shares nothing with the program around it.
#pragma once

#include "reason.h"

// Create a separate ZeroMQ context, with its own I/O thread. NULL and errno: EMFILE when
// descriptors run out, ENOMEM.
void *wire_context_new (void);

// Destroy a context when all its sockets are closed. Waits until the last messages were sent or
// LINGER has passed. Sets the pointer to NULL; NULL is accepted; errno is preserved.
void wire_context_destroy (void **context);

// A socket of this type with bounded queues, TCP keep-alive and LINGER 0. NULL when descriptors
// have run out.
void *wire_socket_in (void *context, int type);

void wire_set (void *socket, int option, int value);

// Disconnect a peer that sends a frame larger than this. The default is the limit of
// packet_of_stations.
void wire_limit (void *socket, size_t frame_bytes);

// Close a connection whose peer is unresponsive for three seconds, e.g. stopped, or its host gone.
// Only for connections to trusted stations: received messages are then queued without a limit, so
// the caller must read them. Call before connecting.
void wire_heartbeat (void *socket);

// Check that a ZeroMQ socket can connect to this endpoint: tcp://host:port or ipc://path. 0, or -1
// with a reason.
int endpoint_check (const char *endpoint, struct reason *reason);

// Whether only this machine can reach a bound endpoint: ipc, or tcp on 127.0.0.0/8, [::1],
// localhost or lo.
bool endpoint_is_local (const char *endpoint);
