// Results as the station publishes them: [title][description][plan id][plan JSON][frames...]. What
// does not have this form is passed over: the socket may carry other broadcasts.
#include "zplan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "clock.h"
#include "socket.h"
#include "keys.h"
#include "memory.h"
#include "packet.h"

enum { OWN_FRAMES = 2 }; // the plan's id and JSON stand before what the target sent

struct zplan_subscriber {
    void *context; // of this subscriber alone
    void *socket;
    struct packet packet; // the last result
};

static struct zplan_subscriber *subscriber_new (const char *endpoint, const char *title_prefix,
                                                const struct keys *keys)
{
    struct reason reason;
    if (!endpoint || endpoint_check (endpoint, &reason)) {
        errno = EINVAL;
        return NULL;
    }
    struct zplan_subscriber *self = memory_new (sizeof *self);
    self->context = wire_context_new ();
    self->socket = self->context ? wire_socket_in (self->context, ZMQ_SUB) : NULL;
    if (self->socket)
        keys_put (keys, self->socket);
    if (self->socket &&
        zmq_setsockopt (self->socket, ZMQ_SUBSCRIBE, title_prefix, strlen (title_prefix)) == 0 &&
        zmq_connect (self->socket, endpoint) == 0)
        return self;
    int error = errno;
    zplan_subscriber_destroy (&self);
    errno = error;
    return NULL;
}

struct zplan_subscriber *zplan_subscriber_new (const char *endpoint, const char *title_prefix)
{
    return subscriber_new (endpoint, title_prefix, &(struct keys){0});
}

struct zplan_subscriber *zplan_subscriber_new_curve (const char *endpoint, const char *title_prefix,
                                                     const struct zplan_curve *curve)
{
    struct keys keys = {0};
    return keys_take (&keys, curve) ? NULL : subscriber_new (endpoint, title_prefix, &keys);
}

void zplan_subscriber_destroy (struct zplan_subscriber **subscriber)
{
    struct zplan_subscriber *self = *subscriber;
    if (!self)
        return;
    packet_clear (&self->packet);
    if (self->socket)
        zmq_close (self->socket);
    wire_context_destroy (&self->context);
    free (self);
    *subscriber = NULL;
}

static bool read_result (const struct packet *packet, struct zplan_result *ret)
{
    struct desc desc;
    struct reason reason;
    const struct span *frames = packet->frames;
    if (packet->fault || packet->count < 2 + OWN_FRAMES ||
        desc_parse (frames[1], packet->count - 2, &desc, &reason) ||
        desc.types[0] != ZERO_FRAME_SUBTITLE || desc.types[1] != ZERO_FRAME_CONTENT)
        return false;
    *ret = (struct zplan_result){.title = frames[0].data,
                                 .title_size = frames[0].size,
                                 .status = desc.code,
                                 .id = frames[2].data,
                                 .id_size = frames[2].size,
                                 .plan = frames[3].data,
                                 .plan_size = frames[3].size,
                                 .count = (size_t)desc.count - OWN_FRAMES};
    for (size_t i = 0; i < ret->count; i++) {
        const struct span *frame = &frames[2 + OWN_FRAMES + i];
        ret->frames[i] = (struct zplan_frame){desc.types[OWN_FRAMES + i], frame->data, frame->size};
    }
    return true;
}

// Milliseconds to wait until the deadline, as zmq_poll takes them; -1 = for ever.
static long wait_ms (int64_t timeout_ms, int64_t start_us)
{
    if (timeout_ms < 0)
        return -1;
    int64_t left_ms = timeout_ms - (clock_mono_us () - start_us) / 1000;
    return left_ms < 0 ? 0 : left_ms < INT_MAX ? (long)left_ms : INT_MAX;
}

int zplan_subscriber_recv (struct zplan_subscriber *subscriber, int64_t timeout_ms,
                           struct zplan_result *ret)
{
    int64_t start_us = clock_mono_us ();
    for (;;) {
        long left_ms = wait_ms (timeout_ms, start_us);
        zmq_pollitem_t item = {.socket = subscriber->socket, .events = ZMQ_POLLIN};
        if (zmq_poll (&item, 1, left_ms) <= 0)
            return ZPLAN_ERROR_NO_ANSWER;
        packet_clear (&subscriber->packet);
        if (packet_recv (&subscriber->packet, subscriber->socket, &packet_of_stations) &&
            read_result (&subscriber->packet, ret))
            return ZPLAN_OK;
        // A publisher of nothing but other broadcasts must not hold the caller past its time.
        if (left_ms == 0)
            return ZPLAN_ERROR_NO_ANSWER;
    }
}

void *zplan_subscriber_socket (struct zplan_subscriber *subscriber)
{
    return subscriber->socket;
}
