#include "forward.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "answer_text.h"
#include "clock.h"
#include "codes.h"
#include "context.h"
#include "dialect.h"
#include "endpoints.h"
#include "forward_life.h"
#include "log.h"
#include "memory.h"
#include "permit.h"
#include "reply.h"
#include "turn.h"

enum {
    FORWARD_US = 10000000, // how long answers are forwarded
    TICK_MS = 100,
    LINGER_MS = 1000,
    DRAIN_MAX = 1000,     // unread messages taken from the request socket
    DRAIN_QUIET_MS = 200, // wait for messages that are in transit, as after a suspension
    DRAIN_US_MAX = 1000000,
    KEPT_BYTES_MAX = 64 << 20 // held by answers that wait
};

// A connection to a target, taken over from a former owner.
struct former_connection {
    struct forward *forward;
    void *socket;
    struct watch watch;
    enum dialect dialect;
};

// An answer waiting to be sent.
struct kept_answer {
    struct kept_answer *next;
    size_t bytes;
    struct frames *frames;
};

struct forward {
    struct station *station; // the attached one; NULL = none
    enum dialect dialect;    // numbers of the request socket
    void *context;           // context of the sockets; NULL = nothing to forward
    int64_t end_us;          // when forwarding ends, monotonic
    int64_t context_us;      // when the context may end; 0 = still forwarding
    struct former_connection *connections;
    size_t count; // connections
    struct kept_answer *first, **last;
    size_t kept_bytes;
    void *link; // to the request socket of the new owner; NULL = owner unknown
    char endpoint[ENDPOINT_SIZE];
    char server_key[CURVE_KEY_SIZE];
    bool asking; // the store was asked for the owner and has not answered
    struct timer timer;
    uint64_t passed, dropped;
};

// -- waiting answers

static void drop_first_answer (struct forward *self)
{
    struct kept_answer *kept = self->first;
    self->first = kept->next;
    if (!self->first)
        self->last = &self->first;
    self->kept_bytes -= kept->bytes;
    free (kept->frames);
    free (kept);
}

static void keep_answer (struct forward *self, const struct span *frames, size_t count)
{
    size_t bytes = sizeof (struct kept_answer) + sizeof (struct frames);
    for (size_t i = 0; i < count; i++)
        bytes += sizeof (struct span) + frames[i].size;
    if (bytes > KEPT_BYTES_MAX - self->kept_bytes) {
        self->dropped++;
        return;
    }
    struct kept_answer *kept = memory_new (sizeof *kept);
    *kept = (struct kept_answer){.bytes = bytes, .frames = frames_copy (frames, count)};
    *self->last = kept;
    self->last = &kept->next;
    self->kept_bytes += bytes;
}

// Send the waiting answers. True: none is left, and the next answer can be sent.
static bool send_kept (struct forward *self)
{
    while (self->link && self->first &&
           packet_send (self->link, self->first->frames->at, self->first->frames->count)) {
        self->passed++;
        drop_first_answer (self);
    }
    return self->link && !self->first;
}

// Send an answer, or keep it until the new owner is connected. `message` has its status in the
// station's own numbers.
static void send_answer (struct forward *self, const char *mailbox, struct message *message)
{
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[MESSAGE_FRAMES_MAX];
    message->envelope = ENVELOPE_MAILBOX;
    message->sender = span_text (mailbox);
    message->desc.code = dialect_status_out (self->dialect, message->desc.code);
    size_t count = message_layout (message, desc, frames);
    if (send_kept (self) && packet_send (self->link, frames, count))
        self->passed++;
    else
        keep_answer (self, frames, count);
}

// -- the targets

// Forward an answer of a target. One that names no plan is dropped: only the former owner could
// have matched it to a run.
static void forward_packet (struct former_connection *former, const struct packet *packet)
{
    struct forward *self = former->forward;
    struct message message;
    struct reason reason;
    uint8_t desc[DESC_SIZE_MAX];
    char mailbox[MAILBOX_SIZE];
    uint64_t plan_id;
    if (packet->fault || message_read (packet->frames, packet->count, &message, &reason) ||
        message.envelope == ENVELOPE_CALLER || !answer_plan (&message, &plan_id)) {
        self->dropped++;
        return;
    }
    message_drop (&message, ZERO_FRAME_SERVICE_KEY, desc); // the key is not passed on
    message.desc.code = dialect_status_in (former->dialect, message.desc.code);
    send_answer (self, mailbox_text (plan_id, mailbox), &message);
}

// Answers that cannot be forwarded yet stay in the socket.
static bool on_answer (void *owner)
{
    struct former_connection *former = owner;
    struct forward *self = former->forward;
    struct packet packet;
    int count = 0;
    while (count < TURN_MESSAGES && send_kept (self) &&
           packet_recv (&packet, former->socket, &packet_of_dispatches)) {
        forward_packet (former, &packet);
        packet_clear (&packet);
        count++;
    }
    bool can_send = send_kept (self);
    if (!can_send)
        watch_end (&former->watch); // until resume_reading
    return can_send && count == TURN_MESSAGES;
}

// Read the answers of the targets again, if they can be forwarded now.
static void resume_reading (struct forward *self)
{
    bool reads = self->station && !self->context_us && send_kept (self);
    for (size_t i = 0; i < self->count && reads; i++)
        watch_start (&self->connections[i].watch, self->station->reactor,
                     self->connections[i].socket, on_answer, &self->connections[i]);
}

// -- the new owner

static void close_owner_link (struct forward *self)
{
    if (!self->link)
        return;
    wire_set (self->link, ZMQ_LINGER, LINGER_MS);
    zmq_close (self->link);
    self->link = NULL;
}

static void connect_to_owner (struct forward *self, const char *endpoint, const char *server_key)
{
    const struct curve_keys *own = &self->station->curve_keys;
    close_owner_link (self);
    snprintf (self->endpoint, sizeof self->endpoint, "%s", endpoint);
    snprintf (self->server_key, sizeof self->server_key, "%s", server_key);
    if (*server_key && !own->secret_key[0])
        return; // the owner requires a key, and this station has none
    self->link = wire_socket_in (self->context, ZMQ_DEALER);
    if (!self->link)
        return;
    wire_limit (self->link, self->station->limits.bytes);
    if (*server_key)
        curve_make_client (self->link, own, server_key);
    if (zmq_connect (self->link, endpoint)) {
        close_owner_link (self);
        return;
    }
    log_event (LEVEL_INFO, "forward.begin", "endpoint=%s targets=%zu kept_bytes=%zu", endpoint,
               self->count, self->kept_bytes);
    resume_reading (self);
}

static void on_owner (void *owner, const struct store_owner *answer)
{
    struct forward *self = owner;
    char endpoint[ENDPOINT_SIZE], server_key[CURVE_KEY_SIZE], host[HOST_NAME_MAX + 1] = "";
    self->asking = false;
    if (!self->station || !self->context || self->context_us || answer->result != STORE_DONE ||
        !answer->owned)
        return;
    snprintf (server_key, sizeof server_key, "%.*s", (int)answer->key.size,
              (const char *)answer->key.data);
    gethostname (host, sizeof host - 1);
    bool same = strcmp (server_key, self->server_key) == 0;
    if (!endpoint_reach (answer->name, answer->request, host, endpoint) ||
        (same && strcmp (endpoint, self->endpoint) == 0) ||
        (*server_key && !curve_key_valid (server_key)))
        return;
    connect_to_owner (self, endpoint, server_key);
}

// -- timing

static void stop_reading_answers (struct forward *self)
{
    for (size_t i = 0; i < self->count; i++)
        watch_end (&self->connections[i].watch);
}

static void close_forward_sockets (struct forward *self)
{
    stop_reading_answers (self);
    for (size_t i = 0; i < self->count; i++)
        zmq_close (self->connections[i].socket);
    free (self->connections);
    self->connections = NULL;
    self->count = 0;
    close_owner_link (self);
    while (self->first) {
        self->dropped++;
        drop_first_answer (self);
    }
}

// Close everything and forget the state, so that a forwarding can begin.
static void forward_reset (struct forward *self)
{
    close_forward_sockets (self);
    wire_context_destroy (&self->context);
    self->end_us = self->context_us = 0;
    self->endpoint[0] = self->server_key[0] = '\0';
    self->passed = self->dropped = 0;
}

static void on_tick (void *owner)
{
    struct forward *self = owner;
    int64_t now_us = clock_mono_us ();
    if (self->context_us && now_us >= self->context_us) {
        forward_reset (self);
        return;
    }
    if (!self->context_us && now_us >= self->end_us) {
        close_forward_sockets (self);
        // The last messages may still be sent before the context ends; nothing blocks on that.
        self->context_us = now_us + 2 * LINGER_MS * 1000;
        log_event (LEVEL_INFO, "forward.end", "passed=%llu dropped=%llu",
                   (unsigned long long)self->passed, (unsigned long long)self->dropped);
    }
    if (!self->context_us) {
        enum store_state state = store_state (self->station->store);
        if (!self->asking && (state == STORE_STANDBY || state == STORE_SERVING)) {
            self->asking = true;
            store_owner (self->station->store, on_owner, self);
        }
        resume_reading (self);
    }
    timer_set (&self->timer, self->station->reactor, TICK_MS);
}

struct forward *forward_new (void)
{
    struct forward *self = memory_new (sizeof *self);
    self->last = &self->first;
    self->timer = (struct timer){.call = on_tick, .owner = self};
    return self;
}

void forward_destroy (struct forward **self)
{
    if (!*self)
        return;
    forward_reset (*self);
    free (*self);
    *self = NULL;
}

// -- calls of a station

void forward_begin (struct station *station)
{
    struct forward *self = station->forward;
    forward_reset (self);
    self->dialect = station->dialect;
    self->end_us = clock_mono_us () + FORWARD_US;
}

void forward_add_answer (struct station *station, uint64_t plan_id, const struct message *message)
{
    char mailbox[MAILBOX_SIZE];
    struct message copy = *message;
    if (station->phase == PHASE_FENCED)
        send_answer (station->forward, mailbox_text (plan_id, mailbox), &copy);
}

void forward_take_targets (struct station *station)
{
    struct forward *self = station->forward;
    if (station->phase != PHASE_FENCED)
        return;
    self->connections = memory_new ((station->target_count + 1) * sizeof *self->connections);
    for (size_t i = 0; i < station->target_count; i++) {
        void *socket = target_release (station->targets[i]);
        if (socket)
            self->connections[self->count++] = (struct former_connection){
                .forward = self,
                .socket = socket,
                .dialect = target_settings (station->targets[i])->dialect};
    }
    if (!self->count && !self->first)
        return;
    self->context = station->target_context ? station->target_context : wire_context_new ();
    station->target_context = NULL;
}

// Refuse an unread request: nothing was done, and the requester can ask the new owner.
static void refuse_unread_request (struct station *station, struct span identity,
                                   const struct message *message)
{
    struct peer peer = {.identity = identity, .envelope = message->envelope};
    peer.request_id = message_frame (message, ZERO_FRAME_REQUEST_ID, &peer.has_request_id);
    if (message->desc.code < ZERO_STATUS_ERROR_FLAG)
        reply_refuse (station, &peer, ZPLAN_ENET, STATION_STANDS_BY);
}

void forward_take_requests (struct station *station)
{
    struct packet packet;
    bool forwards = station->phase == PHASE_FENCED && station->request_socket;
    int64_t until_us = clock_mono_us () + DRAIN_US_MAX;
    for (int i = 0;
         forwards && i < DRAIN_MAX && clock_mono_us () < until_us &&
         zmq_poll (&(zmq_pollitem_t){.socket = station->request_socket, .events = ZMQ_POLLIN}, 1,
                   DRAIN_QUIET_MS) > 0 &&
         packet_recv_with_user (&packet, station->request_socket, &station->limits);
         i++) {
        struct message message;
        struct reason reason;
        uint64_t plan_id;
        bool whole = packet.count > 1 && !packet.fault &&
                     message_read (packet.frames + 1, packet.count - 1, &message, &reason) == 0;
        // Only results of keys that may answer for every target are forwarded. Those of a key bound
        // to some targets are not: the new owner would check this station's key instead.
        if (whole && message.envelope == ENVELOPE_MAILBOX && answer_plan (&message, &plan_id) &&
            permits_roles (station, packet.user, CURVE_ROLE_RESULT) &&
            permits_all_stations (station, packet.user)) {
            message.desc.code = dialect_status_in (station->dialect, message.desc.code);
            forward_add_answer (station, plan_id, &message);
        } else if (whole && message.envelope != ENVELOPE_MAILBOX) {
            refuse_unread_request (station, packet.frames[0], &message);
        }
        packet_clear (&packet);
    }
}

void forward_attach (struct station *station)
{
    struct forward *self = station->forward;
    self->station = station;
    self->asking = false;
    if (self->context)
        timer_set (&self->timer, station->reactor, 0);
}

void forward_detach (struct station *station)
{
    struct forward *self = station->forward;
    if (!self)
        return;
    timer_end (&self->timer);
    stop_reading_answers (self);
    self->station = NULL;
}
