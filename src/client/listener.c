#include "listener.h"

#include <string.h>

#include "clock.h"
#include "socket.h"

int listener_open (struct listener *self, const char *endpoint, const char *prefix,
                   const struct keys *keys)
{
    self->keys = *keys;
    if (readiness_open (&self->ready))
        return -1;
    self->context = wire_context_new ();
    self->socket = self->context ? wire_socket_in (self->context, ZMQ_SUB) : NULL;
    if (!self->socket)
        return -1;
    keys_put (&self->keys, self->socket);
    return zmq_setsockopt (self->socket, ZMQ_SUBSCRIBE, prefix, strlen (prefix)) ||
                   zmq_connect (self->socket, endpoint)
               ? -1
               : readiness_watch (&self->ready, self->socket);
}

void listener_close (struct listener *self)
{
    packet_clear (&self->packet);
    readiness_watch (&self->ready, NULL);
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
