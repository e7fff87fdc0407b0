#include "plan_link.h"

#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "frames.h"
#include "memory.h"
#include "packet.h"
#include "backend.h"

enum {
    WAITING_MAX = 1000,           // waiting answers
    WAITING_BYTES_MAX = 16 << 20, // total bytes of waiting answers
    MESSAGES_A_WAKE = 64
};

// An answer that waits.
struct unsent_answer {
    STAILQ_ENTRY (unsent_answer) place;
    size_t size;
    struct frames *frames; // owned
};

// -- opening

static void prepare_socket (void *owner, void *socket, size_t index)
{
    struct plan_link *self = owner;
    char server_key[CURVE_KEY_SIZE];
    wire_limit (socket, packet_of_dispatches.bytes);
    wire_heartbeat (socket); // to detect a lost host soon
    if (!*self->server_keys)
        return;
    server_key_of (self->server_keys, index, server_key);
    curve_make_client (socket, self->own, server_key);
}

int plan_link_open (struct plan_link *self, const char *endpoints, const char *server_keys,
                    const struct curve_keys *own, struct reason *reason)
{
    self->own = own;
    self->server_keys = server_keys;
    STAILQ_INIT (&self->waiting);
    // For an address that is not watched libzmq would queue heartbeats during an outage, and leave
    // no space for results.
    self->dealers.watch_single = true;
    if (endpoints_read (&self->endpoints, endpoints, reason))
        return -1;
    if (dealers_open (&self->dealers, wire_context (), &self->endpoints, prepare_socket, self) == 0)
        return 0;
    return reason_set (reason, "%s: %s", endpoints, zmq_strerror (errno));
}

static void drop_first_waiting (struct plan_link *self)
{
    struct unsent_answer *answer = STAILQ_FIRST (&self->waiting);
    STAILQ_REMOVE_HEAD (&self->waiting, place);
    self->count--;
    self->bytes -= answer->size;
    free (answer->frames);
    free (answer);
}

// Send waiting answers, as many as the socket takes.
static void send_all_waiting (struct plan_link *self, void *socket)
{
    for (struct unsent_answer *first; (first = STAILQ_FIRST (&self->waiting));) {
        if (!packet_send (socket, first->frames->at, first->frames->count))
            return;
        drop_first_waiting (self);
    }
}

void plan_link_close (struct plan_link *self, int linger_ms)
{
    // A single station may return within the linger time; of several it is not known which one
    // will.
    void *single = self->endpoints.count == 1 ? self->dealers.rows[0].socket : NULL;
    if (single)
        send_all_waiting (self, single);
    while (!STAILQ_EMPTY (&self->waiting))
        drop_first_waiting (self);
    for (size_t i = 0; i < self->endpoints.count; i++)
        if (self->dealers.rows[i].socket)
            wire_set (self->dealers.rows[i].socket, ZMQ_LINGER, linger_ms);
    dealers_close (&self->dealers);
    endpoints_clear (&self->endpoints);
}

// -- sending

static bool keep_answer (struct plan_link *self, const struct span *frames, size_t count)
{
    size_t size = sizeof (struct unsent_answer);
    for (size_t i = 0; i < count; i++)
        size += sizeof *frames + frames[i].size;
    if (self->count == WAITING_MAX || size > WAITING_BYTES_MAX - self->bytes)
        return false;
    struct unsent_answer *answer = memory_new (sizeof *answer);
    *answer = (struct unsent_answer){.size = size, .frames = frames_copy (frames, count)};
    STAILQ_INSERT_TAIL (&self->waiting, answer, place);
    self->count++;
    self->bytes += size;
    return true;
}

// The socket of the connected station, or NULL. A lost connection may be used again once it is
// restored, since results may be repeated.
static void *current_socket (struct plan_link *self)
{
    dealers_read_events (&self->dealers);
    for (size_t i = 0; i < self->endpoints.count; i++)
        self->dealers.rows[i].lost = false;
    int index = dealers_current (&self->dealers);
    return index < 0 ? NULL : self->dealers.rows[index].socket;
}

// Send the waiting answers. Returns the socket, or NULL: none is connected, or answers still wait.
static void *send_waiting_answers (struct plan_link *self)
{
    void *socket = current_socket (self);
    if (socket)
        send_all_waiting (self, socket);
    return STAILQ_EMPTY (&self->waiting) ? socket : NULL;
}

bool plan_link_send (struct plan_link *self, const struct message *answer)
{
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[MESSAGE_FRAMES_MAX];
    size_t count = message_layout (answer, desc, frames);
    void *socket = send_waiting_answers (self);
    if (socket && packet_send (socket, frames, count))
        return true;
    // Heartbeats are not kept: those of a few seconds would displace results.
    return is_heartbeat (answer->desc.code) || keep_answer (self, frames, count);
}

size_t plan_link_process (struct plan_link *self)
{
    struct packet packet;
    size_t count = 0;
    send_waiting_answers (self);
    for (size_t i = 0; i < self->endpoints.count; i++) {
        void *socket = self->dealers.rows[i].socket;
        for (int n = 0; n < MESSAGES_A_WAKE && packet_recv (&packet, socket, &packet_of_dispatches);
             n++) {
            packet_clear (&packet);
            count++;
        }
    }
    return count;
}
