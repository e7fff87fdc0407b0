// The process's one ZeroMQ context, and sockets made from it with the options every socket of zplan
// has.
#pragma once

#include "reason.h"

// The context; the first call makes it: czmq's signal handlers off, and the generator of automatic
// identities seeded from getrandom (czmq seeds it from the time, and a peer that guesses the next
// identity of a ROUTER can abort the process).
void *wire_context (void);

// End the context once every socket is closed: waits until LINGER lets the last messages go.
void wire_context_end (void);

// A socket of this type with bounded queues, TCP keep-alive and LINGER 0. NULL when descriptors
// have run out.
void *wire_socket (int type);

// Give a peer up that is silent for three seconds, as one is that was stopped or whose host is
// gone. For a connection to a station one has chosen: what it sends is then queued without a bound,
// so it must be read. Call before connecting.
void wire_heartbeat (void *socket);

// Bind, after checking the endpoint's form and port ourselves: libzmq takes "tcp://*:99999" for
// port 34463. 0, or -1 with a reason that starts with the endpoint.
int wire_bind (void *socket, const char *endpoint, struct reason *reason);

// The same for an endpoint that a closed socket of this process was bound to: the lock of its path
// is held still. -1 also while the old socket has not let go of its port; try again.
int wire_bind_again (void *socket, const char *endpoint, struct reason *reason);

// Whether this is an endpoint a ZeroMQ socket can connect to: tcp://host:port or ipc://path.
int endpoint_check (const char *endpoint, struct reason *reason);

// Whether only this machine can reach an endpoint that is bound: ipc, or the tcp of 127.0.0.0/8,
// [::1], localhost and lo.
bool endpoint_is_local (const char *endpoint);

void wire_set (void *socket, int option, int value);

// Cut the connection of a peer that sends a frame larger than this. Without the call it is what
// packet_of_stations takes.
void wire_limit (void *socket, size_t frame_bytes);
