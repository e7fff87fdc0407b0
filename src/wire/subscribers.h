// Limits the subscriptions at a publishing socket.
//
// libzmq 4.3.4 keeps a node for each byte of a topic, and when a subscriber leaves it walks all the
// nodes of all subscribers, in the thread of the socket's owner: without a limit some subscribers
// can block a program for a minute, and fill its memory. libzmq can neither reject a subscription
// nor close a single connection. So subscriptions are counted per connection, and a connection
// above a limit is shut down by its descriptor. A well-behaved peer reconnects on its own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUBSCRIBER_MESSAGES_MAX = 1000,  // messages per connection, unsubscriptions included
    SUBSCRIBER_BYTES_MAX = 32 << 10, // bytes of topics per connection
    // Bytes of topics per socket; above it the largest subscriber is disconnected.
    SUBSCRIBERS_BYTES_MAX = 128 << 10,
    // Bytes of one topic; above it libzmq closes the connection.
    SUBSCRIBER_TOPIC_BYTES_MAX = 16 << 10
};

struct subscribers;

// Count the subscriptions at an XPUB that is bound to this endpoint. subscribers_destroy sets the
// pointer to NULL, and accepts NULL.
struct subscribers *subscribers_new (const char *endpoint);
void subscribers_destroy (struct subscribers **self);

// Set the socket options that counting needs. Call before the socket is bound.
void subscribers_prepare (void *socket);

// Read messages of subscribers, and disconnect those above a limit. True: there may be more.
bool subscribers_read (struct subscribers *self, void *socket);

// Whether anyone has subscribed since subscribers_new.
bool subscribers_any (const struct subscribers *self);
