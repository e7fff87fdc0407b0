#include "front.h"

#include <inttypes.h>
#include <stdlib.h>

#include "access.h"
#include "codes.h"
#include "decimal.h"
#include "dialect.h"
#include "log.h"
#include "manage.h"
#include "memory.h"
#include "peers.h"
#include "permit.h"
#include "reads.h"
#include "results.h"
#include "submit.h"

enum {
    TURN_MESSAGES = 64,
    KEPT_BYTES_MAX = 64 << 20, // of requests that wait for Redis
    REQUEST_BYTES = 512,       // of one of them, besides its message
    DRAIN_MAX = 100000         // messages thrown away at the end
};

// -- replies

struct peer *peer_keep (struct station *self, const struct request *request)
{
    const struct peer *peer = &request->peer;
    struct peer *copy = memory_new (sizeof *copy);
    const struct span bytes[] = {peer->identity, peer->requester, peer->request_id};
    *copy = *peer;
    copy->copy = copy;
    copy->kept = frames_copy (bytes, 3);
    copy->identity = copy->kept->at[0];
    copy->requester = copy->kept->at[1];
    copy->request_id = copy->kept->at[2];
    copy->load = peers_enter (self, copy->identity);
    // Parts of the message are kept beside: an argument, the plan.
    copy->weight = REQUEST_BYTES + copy->identity.size + message_size (&request->message);
    self->kept_bytes += copy->weight;
    return copy;
}

void peer_weigh (struct station *self, struct peer *peer, size_t bytes)
{
    peer->weight += bytes;
    self->kept_bytes += bytes;
}

static void peer_release (struct station *self, struct peer *peer)
{
    struct peer *copy = peer->copy;
    if (!copy)
        return;
    struct load *load = copy->load;
    int cost = copy->read_cost;
    self->kept_bytes -= copy->weight;
    free (copy->kept);
    free (copy);
    load->count--;
    if (cost)
        reads_end (self, load, cost);
    else
        load_settle (self, load);
}

bool front_reply (struct station *self, struct peer *peer, const struct reply *reply)
{
    char text[REASON_MAX + 32], id[IDENT_SIZE], time[DECIMAL_SIZE];
    struct message message;
    message_start (&message, dialect_status_out (self->dialect, reply->status));
    // A REQ client wants its empty frame back; everybody else gets the description first.
    if (peer->envelope == ENVELOPE_REQ)
        message.envelope = ENVELOPE_REQ;
    if (peer->has_requester)
        message_add (&message, ZERO_FRAME_REQUESTER, peer->requester);
    if (reply->text) {
        message_add (&message, ZERO_FRAME_STATUS, span_text (reply->text));
    } else if (reply->reason) {
        const char *colon = *reply->reason ? ": " : "";
        snprintf (text, sizeof text, "%s%s%s", status_word (reply->status), colon, reply->reason);
        message_add (&message, ZERO_FRAME_STATUS, span_text (text));
    }
    if (peer->has_request_id)
        message_add (&message, ZERO_FRAME_REQUEST_ID, peer->request_id);
    if (reply->plan_id)
        message_add (&message, ZERO_FRAME_GLOBAL_ID, span_text (ident_text (reply->plan_id, id)));
    if (reply->plan_time) {
        size_t size = decimal_text (reply->plan_time, time);
        message_add (&message, ZERO_FRAME_PLAN_TIME, span_of (time, size));
    }
    if (reply->json)
        message_add (&message, ZERO_FRAME_JSON, span_text (reply->json));
    enum reply_kind kind = peer->read_cost || peer->has_read ? REPLY_READ : REPLY_MADE;
    bool sent = peers_send (self, peer->identity, &message, kind);
    if (!sent)
        self->counters.dropped_replies++;
    peer_release (self, peer);
    return sent;
}

void front_refuse (struct station *self, struct peer *peer, enum wire_error error,
                   const char *reason)
{
    uint8_t status = status_of_error (error);
    self->counters.refused++;
    self->counters.denied += error == ZPLAN_EDENY;
    log_event (LEVEL_DEBUG, "request.refused", "status=%s reason=\"%s\"", status_name (status),
               reason);
    front_reply (self, peer, &(struct reply){.status = status, .reason = reason});
}

void front_refuse_store (struct station *self, struct peer *peer, enum store_result result,
                         const char *error)
{
    struct reason reason;
    if (result == STORE_FULL) {
        front_refuse (self, peer, ZPLAN_EBUSY, error);
        return;
    }
    if (result == STORE_ERROR)
        reason_set (&reason, "Redis: %s", error);
    else if (result == STORE_UNSURE)
        reason_set (&reason, "it is done, but fewer than %" PRId64 " replicas have it",
                    self->settings->replicas);
    else if (!station_store_up (self) && station_store_trouble (self)[0])
        reason_set (&reason, "%s", station_store_trouble (self));
    else
        reason_set (&reason, "Redis was lost before it answered; the outcome is unknown");
    front_refuse (self, peer, ZPLAN_ENET, reason.text);
}

// -- requests

static void reply_ok (struct station *self, struct request *request)
{
    front_reply (self, &request->peer, &(struct reply){.status = ZERO_STATUS_OK_ID});
}

static void reply_new_id (struct station *self, struct request *request)
{
    front_reply (self, &request->peer,
                 &(struct reply){.status = ZERO_STATUS_OK_ID, .plan_id = submit_new_id (self)});
}

static const struct command {
    uint8_t code;
    unsigned roles; // any of them lets it in
    void (*run) (struct station *self, struct request *request);
} commands[] = {
    {ZERO_BYTE_COMMAND_PLAN, CURVE_ROLE_SUBMIT, submit_request},
    {ZERO_BYTE_COMMAND_NONE, ROLES_ANY, manage_request}, // each word has its own
    {ZERO_BYTE_COMMAND_GLOBAL_ID, CURVE_ROLE_SUBMIT, reply_new_id},
    {ZERO_BYTE_COMMAND_PING, ROLES_ANY, reply_ok},
};

bool front_too_much (struct station *self, struct request *request)
{
    struct reason reason;
    if (peers_full (self, request->peer.identity))
        reason_set (&reason,
                    "max_requests_peer: %" PRId64
                    " requests of this peer wait for their answers; try again in 100 ms",
                    self->settings->limits.requests_peer);
    else if (peers_wait_full (self, request->peer.identity))
        reason_set (&reason, "too many bytes of requests of this peer wait; read the replies, "
                             "and try again in 100 ms");
    else if (self->memory_full)
        reason_set (&reason,
                    "max_memory: the station uses more than %" PRId64 " MiB; try again in 100 ms",
                    self->settings->limits.memory_mib);
    else
        return false;
    front_refuse (self, &request->peer, ZPLAN_EBUSY, reason.text);
    return true;
}

static void run_command (struct station *self, struct request *request)
{
    uint8_t code = request->message.desc.code;
    if (code == 0) {
        front_refuse (self, &request->peer, ZPLAN_EFRAME, "description: the command is 0");
        return;
    }
    if (self->phase == PHASE_STOPPING) {
        front_refuse (self, &request->peer, ZPLAN_ENET, "the station is stopping");
        return;
    }
    if (code == ZERO_BYTE_COMMAND_PLAN && front_too_much (self, request))
        return;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (commands[i].code == code) {
            if (permit_roles (self, &request->peer, commands[i].roles))
                commands[i].run (self, request);
            return;
        }
    }
    struct reason reason;
    reason_set (&reason, "command %02x: is not a command of this station", code);
    front_refuse (self, &request->peer, ZPLAN_ENOTKNOWN, reason.text);
}

static void take_result (struct station *self, const struct request *request)
{
    if (permits_roles (self, request->peer.user, CURVE_ROLE_RESULT))
        results_take (self, NULL, request->peer.user, &request->message);
    else
        self->counters.denied_results++;
}

static void take_request (struct station *self, const struct packet *packet)
{
    struct request request = {.peer = {.identity = packet->frames[0]}};
    struct reason reason;
    struct peer *peer = &request.peer;
    memcpy (peer->user, packet->user, sizeof peer->user);
    int rc = message_read (packet->frames + 1, packet->count - 1, &request.message, &reason);
    if (packet->fault)
        message_read_cut (packet->frames + 1, packet->count - 1, &request.message);
    peer->envelope = request.message.envelope;
    if (peer->envelope == ENVELOPE_MAILBOX) {
        // Never answered, or two stations could answer each other for ever.
        request.message.desc.code = dialect_status_in (self->dialect, request.message.desc.code);
        if (rc || packet->fault)
            self->counters.dropped_mailboxes++;
        else
            take_result (self, &request);
        return;
    }
    if (request.message.desc.code >= ZERO_STATUS_ERROR_FLAG) {
        self->counters.dropped_statuses++;
        return;
    }
    peer->requester = message_frame (&request.message, ZERO_FRAME_REQUESTER, &peer->has_requester);
    peer->request_id =
        message_frame (&request.message, ZERO_FRAME_REQUEST_ID, &peer->has_request_id);
    if (!permit_roles (self, peer, ROLES_ANY))
        return;
    if (packet->fault == PACKET_TOO_LARGE) {
        reason_set (&reason, "message: at most %zu bytes a frame and %zu in all",
                    self->limits.frame_bytes, self->limits.bytes);
        front_refuse (self, peer, ZPLAN_EBUSY, reason.text);
        return;
    }
    int64_t frames_max = self->settings->limits.frames;
    if (packet->fault == PACKET_TOO_MANY ||
        (!rc && (int64_t)request.message.desc.count > frames_max)) {
        reason_set (&reason, "message: at most %" PRId64 " frames", frames_max);
        front_refuse (self, peer, ZPLAN_EFRAME, reason.text);
        return;
    }
    if (rc) {
        front_refuse (self, peer, ZPLAN_EFRAME, reason.text);
        return;
    }
    run_command (self, &request);
}

// Leave the socket alone until front_resume.
static void front_close (struct station *self)
{
    watch_end (&self->request_watch);
}

static bool is_busy (const struct station *self)
{
    return store_busy (self->store) || self->kept_bytes >= KEPT_BYTES_MAX;
}

static bool next_request (struct station *self)
{
    struct packet packet;
    if (is_busy (self)) {
        front_close (self);
        return false;
    }
    if (!packet_recv_of_user (&packet, self->request_socket, &self->limits))
        return false;
    self->counters.requests++;
    // A ROUTER puts the identity first; without more than that there is only a fault to tell.
    if (packet.count > 1 || (packet.count == 1 && packet.fault))
        take_request (self, &packet);
    packet_clear (&packet);
    return true;
}

static bool on_request (void *owner)
{
    struct station *self = owner;
    int count = 0;
    while (count < TURN_MESSAGES && next_request (self))
        count++;
    if (count)
        link_flush (store_link (self->store));
    return count == TURN_MESSAGES;
}

// -- the socket in the reactor

void front_open (struct station *self)
{
    watch_start (&self->request_watch, self->reactor, self->request_socket, on_request, self);
}

void front_resume (struct station *self)
{
    if (!store_idle (self->store) || self->kept_bytes > KEPT_BYTES_MAX / 2)
        return;
    if (self->phase == PHASE_SERVING || self->phase == PHASE_STOPPING)
        front_open (self);
    for (size_t i = 0; i < self->target_count && self->targets_paused; i++)
        target_resume (self->targets[i]);
    self->targets_paused = false;
}

void front_drain (struct station *self)
{
    struct packet packet;
    for (int i = 0; i < DRAIN_MAX && packet_recv (&packet, self->request_socket, &self->limits);
         i++)
        packet_clear (&packet);
}
