// One hiredis connection in the reactor. hiredis 0.14 frees its context from within its own calls,
// so all calls that may do so are made here, never from a callback of hiredis, and the context is
// looked up again after each.
#pragma once

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include "address.h"
#include "reactor.h"

// Called when the socket was read or written, or the connection was lost. The owner checks the
// state, and calls connection_update_events last.
typedef void connection_turn_fn (void *owner);

struct connection {
    struct reactor *reactor;
    connection_turn_fn *turn;
    void *owner;
    redisAsyncContext *context; // NULL while closed: else connecting or connected
    struct source source;
    uint32_t wanted;       // EPOLLIN | EPOLLOUT: the events that hiredis waits for
    uint32_t polled;       // those that are registered in the reactor
    int64_t received_us;   // when data arrived last, monotonic
    int64_t read_us;       // when hiredis last began to read: in a reply callback, when it arrived
    bool inside;           // a call of hiredis is on the stack, so this is one of its callbacks
    struct reason trouble; // why the last connection ended or was not made; "" = unknown
};

struct connection *connection_new (struct reactor *reactor, connection_turn_fn *turn, void *owner);
void connection_destroy (struct connection **self);

// Start to connect: to a host or a Unix socket. 0, or -1 with a reason.
int connection_open (struct connection *self, const struct address *address, struct reason *reason);

// Close the connection; commands without an answer are answered with NULL. Within a callback of
// hiredis it does nothing.
void connection_close (struct connection *self);

// The context for sending commands; NULL: there is none, or it does not accept commands.
redisAsyncContext *connection_context (const struct connection *self);

// Send a command, formatted as by redisAsyncCommand; does nothing without a context that accepts
// it.
void connection_send (struct connection *self, redisCallbackFn *reply, void *owner,
                      const char *format, ...);

// Send the first commands of a new connection: AUTH, if there is a password, and SELECT.
void connection_log_in (struct connection *self, const char *user, const char *password, int64_t db,
                        redisCallbackFn *reply, void *owner);

// Read the data that have arrived. Does nothing within a callback.
void connection_read (struct connection *self);

// Write buffered commands to the socket, as far as the kernel accepts them.
void connection_flush (struct connection *self);

// Watch the socket in the reactor for the events that hiredis waits for now.
void connection_update_events (struct connection *self);
