#include "dealers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "packet.h"
#include "socket.h"

enum {
    // A standby has no socket bound: retry often enough to find it soon after it takes over.
    RECONNECT_MS = 100,
    RECONNECT_MAX_MS = 400,
    CONNECT_TIMEOUT_MS = 2000 // for an unreachable host; then its name is resolved again
};

// Close the sockets of an address. Stop the monitor first: if an event occurs between the closing
// of the two sockets, threads of libzmq wait forever for its reader.
static void close_dealer (struct dealer *row)
{
    int error = errno;
    if (row->socket && row->monitor)
        zmq_socket_monitor (row->socket, NULL, 0);
    if (row->monitor)
        zmq_close (row->monitor);
    if (row->socket)
        zmq_close (row->socket);
    row->socket = row->monitor = NULL;
    row->up = false;
    errno = error;
}

// Open the monitor of an address. Create the reading socket first, with an unlimited queue, as
// libzmq blocks when it is full. Subscribe only to rare events, as the owner may not read them for
// a long time.
static int open_monitor (struct dealers *self, struct dealer *row)
{
    char endpoint[64];
    snprintf (endpoint, sizeof endpoint, "inproc://dealer-%p-%" PRIu64, (void *)self,
              ++self->monitors);
    row->monitor = zmq_socket (self->context, ZMQ_PAIR);
    if (!row->monitor)
        return -1;
    wire_set (row->monitor, ZMQ_LINGER, 0);
    wire_set (row->monitor, ZMQ_RCVHWM, 0);
    return zmq_connect (row->monitor, endpoint) ||
                   zmq_socket_monitor (row->socket, endpoint,
                                       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) < 0
               ? -1
               : 0;
}

static int open_dealer (struct dealers *self, size_t index)
{
    struct dealer *row = &self->rows[index];
    bool single = self->endpoints->count == 1 && !self->watch_single;
    *row = (struct dealer){.socket = wire_socket_in (self->context, ZMQ_DEALER)};
    if (!row->socket)
        return -1;
    self->prepare (self->owner, row->socket, index);
    if (!single) {
        wire_set (row->socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
        wire_set (row->socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
        wire_set (row->socket, ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS);
    }
    row->up = single;
    if ((single || open_monitor (self, row) == 0) &&
        zmq_connect (row->socket, self->endpoints->rows[index]) == 0)
        return 0;
    close_dealer (row);
    return -1;
}

int dealers_open (struct dealers *self, void *context, const struct endpoints *endpoints,
                  dealer_prepare_fn *prepare, void *owner)
{
    self->context = context;
    self->endpoints = endpoints;
    self->prepare = prepare;
    self->owner = owner;
    for (size_t i = 0; i < endpoints->count; i++)
        if (open_dealer (self, i))
            return -1;
    return 0;
}

void dealers_close (struct dealers *self)
{
    for (size_t i = 0; i < ENDPOINTS_MAX; i++)
        close_dealer (&self->rows[i]);
}

static void read_monitor (struct dealers *self, struct dealer *row)
{
    struct packet packet;
    while (row->monitor && packet_recv (&packet, row->monitor, &packet_of_peers)) {
        uint16_t event = 0;
        if (packet.count && packet.frames[0].size >= sizeof event)
            memcpy (&event, packet.frames[0].data, sizeof event);
        packet_clear (&packet);
        if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            row->turn = ++self->turns;
        else if (row->up)
            row->lost = true;
        row->up = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    }
}

void dealers_read_events (struct dealers *self)
{
    for (size_t i = 0; i < self->endpoints->count; i++)
        read_monitor (self, &self->rows[i]);
}

int dealers_current (const struct dealers *self)
{
    int newest = -1;
    for (size_t i = 0; i < self->endpoints->count; i++) {
        const struct dealer *row = &self->rows[i];
        if (row->up && !row->lost && (newest < 0 || row->turn > self->rows[newest].turn))
            newest = (int)i;
    }
    return newest;
}

int dealers_renew (struct dealers *self, size_t index)
{
    close_dealer (&self->rows[index]);
    return open_dealer (self, index);
}
