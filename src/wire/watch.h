// A ZeroMQ socket in the reactor.
//
// Its descriptor says that something may have happened to it, once for all that did, and sending
// takes that in as receiving does (ZMQ_FD in zmq_getsockopt(3)). So who watches reads until nothing
// is there, or says that it did not; and what is sent goes through here, that the socket is looked
// at once more. In return nothing is asked of a socket to which nothing happened.
#pragma once

#include "packet.h"
#include "reactor.h"

// Read what is there. True: there may be more, as it stopped before nothing was; it is called again
// after the others had their turn. It may end the watch and close the socket, and is then to return
// false.
typedef bool watch_fn (void *owner);

struct watch {
    struct source source;
    struct task task;
    watch_fn *read;
    void *owner;
};

// Nothing happens when it is watched already.
void watch_start (struct watch *self, struct reactor *reactor, void *socket, watch_fn *read,
                  void *owner);

// packet_send_message on the socket, watched or not. In no other way is something sent on a socket
// that is watched, unless by what reads it, before it reads on.
bool watch_send (struct watch *self, void *socket, struct span identity,
                 const struct message *message);

// packet_send_counted, in the same way.
bool watch_send_counted (struct watch *self, void *socket, struct span identity,
                         const struct message *message, struct packet_debt *debt);

// Before the socket is closed. Nothing happens when it is not watched.
void watch_end (struct watch *self);

bool watch_is_on (const struct watch *self);
