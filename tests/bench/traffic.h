// Sockets of the load generator: their own queues have no bounds, so that what is measured are the
// station's. One thread, one thread of libzmq's.
#pragma once

#include <stdbool.h>
#include <zmq.h>

#include "span.h"

// A socket; the same connected, or bound, to the endpoint. Ends the program with a message if it
// cannot be.
void *traffic_socket (int type);
void *traffic_connect (int type, const char *endpoint);
void *traffic_bind (int type, const char *endpoint);

// Receive the next part, if there is one, into an initialized message.
bool traffic_recv (void *socket, zmq_msg_t *part);

// Take the parts that are left of a message.
void traffic_skip (void *socket, zmq_msg_t *part);

void traffic_send (void *socket, const void *bytes, size_t size, int flags);

// The same with bytes that stay as they are until the program ends: they are not copied.
void traffic_send_const (void *socket, const void *bytes, size_t size, int flags);

struct span traffic_span (zmq_msg_t *part);

// How long to poll until then, in whole milliseconds; 0 = it is past.
long traffic_wait_ms (int64_t until_us, int64_t now_us);

void traffic_end (void);

// Say why, and end with 1.
void fail (const char *format, ...) __attribute__ ((format (printf, 1, 2), noreturn));
