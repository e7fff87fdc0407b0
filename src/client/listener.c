#include "listener.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "socket.h"

// Standbys bind their sockets but publish nothing, so a subscriber connected to all stations misses
// nothing when one takes over.
static int connect_endpoints (struct listener *self, const struct endpoints *endpoints,
                              const char *prefix)
{
    self->context = wire_context_new ();
    self->socket = self->context ? wire_socket_in (self->context, ZMQ_SUB) : NULL;
    if (!self->socket || zmq_setsockopt (self->socket, ZMQ_SUBSCRIBE, prefix, strlen (prefix)))
        return -1;
    for (; self->count < endpoints->count; self->count++) {
        keys_set_socket (&self->keys, self->socket, self->count);
        if (zmq_connect (self->socket, endpoints->rows[self->count]))
            return -1;
    }
    return readiness_watch (&self->ready, 0, self->socket);
}

int listener_open (struct listener *self, const char *text, const char *prefix,
                   const struct keys *keys)
{
    struct endpoints endpoints;
    self->keys = *keys;
    if (readiness_open (&self->ready) || keys_read_endpoints (keys, text, &endpoints))
        return -1;
    int rc = connect_endpoints (self, &endpoints, prefix);
    int error = errno;
    endpoints_clear (&endpoints);
    errno = error;
    return rc;
}

void listener_close (struct listener *self)
{
    packet_clear (&self->packet);
    readiness_watch (&self->ready, 0, NULL);
    if (self->socket)
        zmq_close (self->socket);
    readiness_close (&self->ready);
    wire_context_destroy (&self->context);
    explicit_bzero (&self->keys, sizeof self->keys);
}

bool listener_wait (const struct listener *self, int64_t start_us, int64_t timeout_ms)
{
    int64_t left_ms =
        timeout_ms < 0 ? READINESS_NEVER : timeout_ms - (clock_mono_us () - start_us) / 1000;
    return left_ms > 0 && readiness_wait (&self->ready, -1, left_ms) != READINESS_SIGNAL;
}
