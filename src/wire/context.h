// The single ZeroMQ context of a program; creates and binds sockets.
#pragma once

#include "socket.h"

// The context, created by the first call: czmq's signal handlers off, and the generator of
// automatic identities seeded from getrandom (czmq seeds it from the time, and a peer that guesses
// the next identity of a ROUTER can abort the process).
void *wire_context (void);

// Destroy the context once every socket is closed. Waits until the last messages were sent or
// LINGER has passed.
void wire_context_end (void);

// Create a socket in this context: see wire_socket_in.
void *wire_socket (int type);

// Bind, after checking the endpoint's form and port ourselves: libzmq takes "tcp://*:99999" for
// port 34463. 0, or -1 with a reason that starts with the endpoint.
int wire_bind (void *socket, const char *endpoint, struct reason *reason);

// Bind to an endpoint to which a closed socket of this process was bound, without checking it: this
// process still holds the lock of its path. -1 also while the old socket still occupies its port;
// then retry.
int wire_rebind (void *socket, const char *endpoint, struct reason *reason);
