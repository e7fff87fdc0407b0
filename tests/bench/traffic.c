#include "traffic.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "process.h"

static void *context;

void fail (const char *format, ...)
{
    va_list args;
    va_start (args, format);
    fputs ("zplan-bench: ", stderr);
    vfprintf (stderr, format, args);
    fputc ('\n', stderr);
    va_end (args);
    exit (1);
}

void *traffic_socket (int type)
{
    int none = 0;
    if (!context) {
        // libzmq draws the identities of a ROUTER from it.
        srandom ((unsigned)process_random ());
        context = zmq_ctx_new ();
    }
    void *socket = zmq_socket (context, type);
    if (!socket)
        fail ("no socket: %s", zmq_strerror (errno));
    zmq_setsockopt (socket, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_LINGER, &none, sizeof none);
    return socket;
}

void *traffic_connect (int type, const char *endpoint)
{
    void *socket = traffic_socket (type);
    if (zmq_connect (socket, endpoint))
        fail ("cannot connect to '%s': %s", endpoint, zmq_strerror (errno));
    return socket;
}

void *traffic_bind (int type, const char *endpoint)
{
    void *socket = traffic_socket (type);
    if (zmq_bind (socket, endpoint))
        fail ("cannot bind '%s': %s", endpoint, zmq_strerror (errno));
    return socket;
}

bool traffic_recv (void *socket, zmq_msg_t *part)
{
    int rc;
    do
        rc = zmq_msg_recv (part, socket, ZMQ_DONTWAIT);
    while (rc < 0 && errno == EINTR);
    return rc >= 0;
}

void traffic_skip (void *socket, zmq_msg_t *part)
{
    while (zmq_msg_more (part) && traffic_recv (socket, part))
        ;
}

static void sent (int rc)
{
    if (rc < 0)
        fail ("cannot send: %s", zmq_strerror (errno));
}

// Nothing waits: the queues have no bounds.
void traffic_send (void *socket, const void *bytes, size_t size, int flags)
{
    sent (zmq_send (socket, bytes, size, ZMQ_DONTWAIT | flags));
}

void traffic_send_const (void *socket, const void *bytes, size_t size, int flags)
{
    sent (zmq_send_const (socket, bytes, size, ZMQ_DONTWAIT | flags));
}

struct span traffic_span (zmq_msg_t *part)
{
    return span_of (zmq_msg_data (part), zmq_msg_size (part));
}

long traffic_wait_ms (int64_t until_us, int64_t now_us)
{
    enum { LONGEST_MS = 1000 };
    int64_t left_ms = until_us > now_us ? (until_us - now_us + 999) / 1000 : 0;
    return left_ms < LONGEST_MS ? (long)left_ms : LONGEST_MS;
}

void traffic_end (void)
{
    if (context)
        zmq_ctx_term (context);
    context = NULL;
}
