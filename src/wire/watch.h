// A ZeroMQ socket in the reactor.
//
// The descriptor of a socket is edge-triggered: it signals only once that something happened, and a
// send can consume that signal as well as a receive (ZMQ_FD in zmq_getsockopt(3)). So the reader
// must read until nothing is left, or report that it stopped early, and messages must be sent
// through this file, which then schedules another read. In return, an idle socket costs no calls.
#pragma once

#include "packet.h"
#include "reactor.h"

// Read the pending messages. True: the reader stopped early and there may be more, so it is called
// again after the other sources. The reader may end the watch and close the socket, and must then
// return false.
typedef bool watch_fn (void *owner);

struct watch {
    struct source source;
    struct task task;
    watch_fn *read;
    void *owner;
};

// Start watching. Does nothing if it is watched already.
void watch_start (struct watch *self, struct reactor *reactor, void *socket, watch_fn *read,
                  void *owner);

// packet_send_message on the socket, watched or not. On a watched socket every send must go through
// here, except one by its reader before that reads on.
bool watch_send (struct watch *self, void *socket, struct span identity,
                 const struct message *message);

// packet_send_counted on the socket, by the same rule as watch_send.
bool watch_send_counted (struct watch *self, void *socket, struct span identity,
                         const struct message *message, struct packet_debt *debt);

// Stop watching; call before the socket is closed. Does nothing if it is not watched.
void watch_end (struct watch *self);

bool watch_is_on (const struct watch *self);
