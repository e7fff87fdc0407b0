// The one ZeroMQ context of a program, sockets made from it, and binding them.
#pragma once

#include "socket.h"

// The context; the first call makes it: czmq's signal handlers off, and the generator of automatic
// identities seeded from getrandom (czmq seeds it from the time, and a peer that guesses the next
// identity of a ROUTER can abort the process).
void *wire_context (void);

// End the context once every socket is closed: waits until LINGER lets the last messages go.
void wire_context_end (void);

// wire_socket_in this context.
void *wire_socket (int type);

// Bind, after checking the endpoint's form and port ourselves: libzmq takes "tcp://*:99999" for
// port 34463. 0, or -1 with a reason that starts with the endpoint.
int wire_bind (void *socket, const char *endpoint, struct reason *reason);

// The same for an endpoint that a closed socket of this process was bound to: the lock of its path
// is held still. -1 also while the old socket has not let go of its port; try again.
int wire_bind_again (void *socket, const char *endpoint, struct reason *reason);
