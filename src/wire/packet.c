#include "packet.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory.h"

// After the retries at EINTR any error means that there is no part.
bool packet_recv_part (zmq_msg_t *part, void *socket)
{
    zmq_msg_init (part);
    if (TEMP_FAILURE_RETRY (zmq_msg_recv (part, socket, ZMQ_DONTWAIT)) >= 0)
        return true;
    zmq_msg_close (part);
    return false;
}

const struct packet_limits packet_of_peers = {FRAME_BYTES_MAX, 4 << 20};
const struct packet_limits packet_of_dispatches = {FRAME_BYTES_MAX, 5 << 20};
const struct packet_limits packet_of_stations = {32 << 20, 32 << 20};

static bool receive_packet (struct packet *self, void *socket, const struct packet_limits *limits,
                            bool with_user)
{
    self->count = 0;
    self->fault = PACKET_WHOLE;
    self->user[0] = '\0';
    size_t bytes = 0, parts = 0;
    zmq_msg_t *part = self->parts;
    if (!packet_recv_part (part, socket))
        return false;
    for (;;) {
        bool more = zmq_msg_more (part);
        size_t size = zmq_msg_size (part);
        bytes += size;
        // libzmq 4.3.4 may return the identity frame of a ROUTER without the peer's properties; the
        // frames after it always have them.
        const char *user = parts++ == 1 && with_user ? zmq_msg_gets (part, "User-Id") : NULL;
        if (user && strlen (user) < sizeof self->user)
            memcpy (self->user, user, strlen (user) + 1);
        // After one discarded frame, discard the rest: a later frame must not take its place.
        if (self->fault == PACKET_WHOLE && (size > limits->frame_bytes || bytes > limits->bytes))
            self->fault = PACKET_TOO_LARGE;
        else if (self->fault == PACKET_WHOLE && self->count == PACKET_FRAMES_MAX)
            self->fault = PACKET_TOO_MANY;
        if (self->fault)
            zmq_msg_close (part);
        else
            self->frames[self->count++] = span_of (zmq_msg_data (part), size);
        part = &self->parts[self->count];
        if (!more || !packet_recv_part (part, socket))
            return true;
    }
}

bool packet_recv (struct packet *self, void *socket, const struct packet_limits *limits)
{
    return receive_packet (self, socket, limits, false);
}

bool packet_recv_with_user (struct packet *self, void *socket, const struct packet_limits *limits)
{
    return receive_packet (self, socket, limits, true);
}

void packet_clear (struct packet *self)
{
    for (size_t i = 0; i < self->count; i++)
        zmq_msg_close (&self->parts[i]);
    self->count = 0;
}

bool packet_send (void *socket, const struct span *frames, size_t count)
{
    assert (count > 0);
    for (size_t i = 0; i < count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        // If the first frame was accepted, so are the others: when the peer leaves in between, they
        // are dropped without an error. Later errors occur only while the socket is being closed.
        if (TEMP_FAILURE_RETRY (zmq_send (socket, frames[i].data, frames[i].size, flags)) < 0)
            return false;
    }
    return true;
}

// -- messages counted until libzmq releases them

struct counted_part {
    struct packet_debt *debt;
    size_t size; // bytes counted in the debt: those of the whole message
    uint8_t bytes[];
};

// Called on a libzmq thread. The debt may be freed once its bytes are 0.
static void on_part_released (void *data, void *hint)
{
    struct counted_part *counted = hint;
    (void)data;
    if (counted->debt->all)
        atomic_fetch_sub (&counted->debt->all->bytes, counted->size);
    atomic_fetch_sub (&counted->debt->bytes, counted->size);
    free (counted);
}

static void init_counted_part (zmq_msg_t *part, struct span frame, struct packet_debt *debt,
                               size_t size)
{
    struct counted_part *counted = memory_new (sizeof *counted + frame.size);
    *counted = (struct counted_part){.debt = debt, .size = size};
    if (frame.size)
        memcpy (counted->bytes, frame.data, frame.size);
    atomic_fetch_add (&debt->bytes, size);
    if (debt->all)
        atomic_fetch_add (&debt->all->bytes, size);
    if (zmq_msg_init_data (part, counted->bytes, frame.size, on_part_released, counted))
        abort (); // memory
}

bool packet_send_counted (void *socket, struct span identity, const struct message *message,
                          struct packet_debt *debt)
{
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[PACKET_FRAMES_MAX];
    size_t count = message_layout (message, desc, frames), largest = 0, size = 0;
    // If the peer is gone or its queue is full, sending the first frame fails.
    assert (identity.size && count);
    if (TEMP_FAILURE_RETRY (
            zmq_send (socket, identity.data, identity.size, ZMQ_DONTWAIT | ZMQ_SNDMORE)) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        size += frames[i].size + sizeof (zmq_msg_t);
        largest = frames[i].size > frames[largest].size ? i : largest;
    }
    for (size_t i = 0; i < count; i++) {
        zmq_msg_t part;
        if (i == largest) {
            init_counted_part (&part, frames[i], debt, size);
        } else {
            if (zmq_msg_init_size (&part, frames[i].size))
                abort (); // memory
            if (frames[i].size)
                memcpy (zmq_msg_data (&part), frames[i].data, frames[i].size);
        }
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        // This fails only while the socket is being closed.
        if (TEMP_FAILURE_RETRY (zmq_msg_send (&part, socket, flags)) < 0) {
            zmq_msg_close (&part);
            return false;
        }
    }
    return true;
}

bool packet_send_message (void *socket, struct span identity, const struct message *message)
{
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[PACKET_FRAMES_MAX];
    size_t count = 0;
    if (identity.size)
        frames[count++] = identity;
    count += message_layout (message, desc, frames + count);
    return packet_send (socket, frames, count);
}
