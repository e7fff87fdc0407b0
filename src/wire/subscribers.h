// The subscriptions at a publishing socket, and their bound.
//
// libzmq 4.3.4 keeps a node for each byte of a topic, and when a subscriber leaves it walks all the
// nodes of all subscribers, in the thread of the socket's owner: without a bound some subscribers
// can block a program for a minute, and fill its memory. libzmq can neither refuse a subscription
// nor cut a single connection. So what subscribers send is counted by connection, and a connection
// above a bound is shut down by its descriptor. A good peer reconnects on its own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUBSCRIBER_MESSAGES_MAX = 1000,       // of one connection, unsubscriptions included
    SUBSCRIBER_BYTES_MAX = 32 << 10,      // of one connection
    SUBSCRIBERS_BYTES_MAX = 128 << 10,    // of a socket; above it the one with the most is cut
    SUBSCRIBER_TOPIC_BYTES_MAX = 16 << 10 // of one topic; libzmq cuts the connection above it
};

struct subscribers;

// For an XPUB that is bound to this endpoint. The pointer becomes NULL, and NULL is fine.
struct subscribers *subscribers_new (const char *endpoint);
void subscribers_destroy (struct subscribers **self);

// Set the options that the count needs. Call before the socket is bound.
void subscribers_prepare (void *socket);

// Read what subscribers sent, and cut those above a bound. True: there may be more.
bool subscribers_read (struct subscribers *self, void *socket);

// Whether there was a subscription since subscribers_new.
bool subscribers_any (const struct subscribers *self);
