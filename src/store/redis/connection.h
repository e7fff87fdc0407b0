// One hiredis connection in the reactor. hiredis 0.14 frees its context from within its own calls,
// so all calls that may do so are made here, never from a callback of hiredis, and the context is
// looked up again after each.
#pragma once

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include "address.h"
#include "reactor.h"

struct connection;

// Called when the socket was read or written, or the connection was lost. The owner checks the
// state, and calls connection_update_events last.
typedef void connection_turn_fn (void *owner);

struct connection *connection_new (struct reactor *reactor, connection_turn_fn *turn, void *owner);
void connection_destroy (struct connection **self);

// Start to connect: to a host or a Unix socket. 0, or -1 with a reason.
int connection_open (struct connection *self, const struct address *address, struct reason *reason);

// Close the connection; commands without an answer are answered with NULL. Within a callback of
// hiredis it does nothing.
void connection_close (struct connection *self);

// The context for sending commands; NULL: there is none, or it does not accept commands.
redisAsyncContext *connection_context (const struct connection *self);

// Send a command; does nothing without a context that accepts it.
void connection_send (struct connection *self, redisCallbackFn *reply, void *owner, int argc,
                      const char **argv);

// Send the first commands of a new connection: AUTH, if there is a password, and SELECT.
void connection_log_in (struct connection *self, const char *user, const char *password, int64_t db,
                        redisCallbackFn *reply, void *owner);

// Whether there is a connection, connecting or connected.
bool connection_exists (const struct connection *self);

// Read the data that have arrived. Does nothing within a callback.
void connection_read (struct connection *self);

// Write buffered commands to the socket, as far as the kernel accepts them.
void connection_flush (struct connection *self);

// Watch the socket in the reactor for the events that hiredis waits for now.
void connection_update_events (struct connection *self);

// When hiredis last began to read, monotonic: within a reply callback, the time of the reply.
int64_t connection_read_us (const struct connection *self);

// When data arrived last, monotonic.
int64_t connection_received_us (const struct connection *self);

// Whether a call of hiredis is on the stack, so that this is one of its callbacks.
bool connection_inside (const struct connection *self);

// Why the last connection ended, or could not be made; "" when hiredis did not say.
const char *connection_trouble (const struct connection *self);
