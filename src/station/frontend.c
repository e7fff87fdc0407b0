#include "frontend.h"

#include <inttypes.h>

#include "access.h"
#include "clock.h"
#include "codes.h"
#include "dialect.h"
#include "manage.h"
#include "permit.h"
#include "results.h"
#include "submit.h"
#include "turn.h"

enum {
    KEPT_BYTES_MAX = 64 << 20, // held by requests that wait for Redis
    DRAIN_MAX = 100000         // messages discarded at the end
};

// -- requests

static int reply_ok (struct station *self, struct request *request)
{
    reply_send (self, &request->peer, &(struct reply){.status = ZERO_STATUS_OK_ID});
    return 0;
}

static int reply_new_id (struct station *self, struct request *request)
{
    reply_send (self, &request->peer,
                &(struct reply){.status = ZERO_STATUS_OK_ID, .plan_id = station_new_id (self)});
    return 0;
}

static const struct request_kind {
    uint8_t code;
    unsigned roles; // one of these roles is required
    // 0 if it has replied or will; else the error for the reply, with request->reason.
    int (*run) (struct station *self, struct request *request);
} commands[] = {
    {ZERO_BYTE_COMMAND_PLAN, CURVE_ROLE_SUBMIT, submit_request},
    {ZERO_BYTE_COMMAND_NONE, ROLES_ANY, manage_request}, // each admin command has its own roles
    {ZERO_BYTE_COMMAND_GLOBAL_ID, CURVE_ROLE_SUBMIT, reply_new_id},
    {ZERO_BYTE_COMMAND_PING, ROLES_ANY, reply_ok},
};

static int run_command (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    int rc;
    uint8_t code = request->message.desc.code;
    const struct request_kind *kind = commands, *end = kind + sizeof commands / sizeof *commands;
    while (kind < end && kind->code != code)
        kind++;
    if (code == 0)
        return reason_error (reason, ZPLAN_EFRAME, "description: the command is 0");
    if (self->phase == PHASE_STOPPING || self->phase == PHASE_STANDBY)
        return reason_error (reason, ZPLAN_ENET, "%s",
                             self->phase == PHASE_STOPPING ? STATION_IS_STOPPING
                                                           : STATION_STANDS_BY);
    if (code == ZERO_BYTE_COMMAND_PLAN && (rc = reply_too_much (self, request)))
        return rc;
    if (kind == end)
        return reason_error (reason, ZPLAN_ENOTKNOWN,
                             "command %02x: is not a command of this station", code);
    rc = permit_roles (self, request->peer.user, kind->roles, reason);
    return rc ? rc : kind->run (self, request);
}

// Check and run a request: 0 if the reply was sent or follows; else its error. `rc`: how it was
// read, -1 with the reason if it is invalid.
static int handle_request (struct station *self, const struct packet *packet, int rc,
                           struct request *request)
{
    struct reason *reason = &request->reason;
    int64_t frames_max = self->settings->limits.frames;
    int error = permit_roles (self, request->peer.user, ROLES_ANY, reason);
    if (error || (error = permit_check_named_user (self, &request->peer, reason)))
        return error;
    if (packet->fault == PACKET_TOO_LARGE)
        return reason_error (reason, ZPLAN_EBUSY,
                             "message: at most %zu bytes a frame and %zu in all",
                             self->limits.frame_bytes, self->limits.bytes);
    if (packet->fault == PACKET_TOO_MANY ||
        (!rc && (int64_t)request->message.desc.count > frames_max))
        return reason_error (reason, ZPLAN_EFRAME, "message: at most %" PRId64 " frames",
                             frames_max);
    return rc ? ZPLAN_EFRAME : run_command (self, request);
}

static void handle_packet (struct station *self, const struct packet *packet)
{
    struct request request = {.peer = {.identity = packet->frames[0]}};
    struct peer *peer = &request.peer;
    memcpy (peer->user, packet->user, sizeof peer->user);
    int rc =
        message_read (packet->frames + 1, packet->count - 1, &request.message, &request.reason);
    if (packet->fault)
        message_read_cut (packet->frames + 1, packet->count - 1, &request.message);
    peer->envelope = request.message.envelope;
    if (peer->envelope == ENVELOPE_MAILBOX) {
        // Never answer statuses, or two stations could answer each other forever.
        request.message.desc.code = dialect_status_in (self->dialect, request.message.desc.code);
        if (rc || packet->fault)
            self->counters.dropped_mailboxes++;
        else if (permits_roles (self, peer->user, CURVE_ROLE_RESULT))
            results_handle (self, NULL, peer->user, &request.message);
        else
            self->counters.denied_results++;
        return;
    }
    if (request.message.desc.code >= ZERO_STATUS_ERROR_FLAG) {
        self->counters.dropped_statuses++;
        return;
    }
    peer->requester = message_frame (&request.message, ZERO_FRAME_REQUESTER, &peer->has_requester);
    peer->request_id =
        message_frame (&request.message, ZERO_FRAME_REQUEST_ID, &peer->has_request_id);
    rc = handle_request (self, packet, rc, &request);
    if (rc)
        reply_refuse (self, peer, (enum wire_error)rc, request.reason.text);
}

// Receive and handle one message. False: there is none.
static bool receive_request (struct station *self)
{
    struct packet packet;
    if (!packet_recv_with_user (&packet, self->request_socket, &self->limits))
        return false;
    self->counters.requests++;
    // A ROUTER puts the identity first; a packet without further frames is taken only to report its
    // fault.
    if (packet.count > 1 || (packet.count == 1 && packet.fault))
        handle_packet (self, &packet);
    packet_clear (&packet);
    return true;
}

void frontend_close_socket (struct station *self)
{
    watch_end (&self->request_watch);
    if (!self->request_socket)
        return;
    // Answer the messages that came before the loss of ownership was known.
    for (int i = 0; i < TURN_MESSAGES && receive_request (self); i++)
        ;
    frontend_drain (self);
    zmq_close (self->request_socket);
    self->request_socket = NULL;
}

static bool on_request (void *owner)
{
    struct station *self = owner;
    int64_t until_us = clock_mono_us () + TURN_US;
    bool more = true;
    int count = 0;
    for (; count < TURN_MESSAGES && clock_mono_us () < until_us; count++) {
        if (store_busy (self->store) || self->kept_bytes >= KEPT_BYTES_MAX) {
            watch_end (&self->request_watch); // until station_resume
            more = false;
            break;
        }
        more = receive_request (self);
        if (!more)
            break;
    }
    if (count)
        link_flush (store_link (self->store));
    return more;
}

// -- the socket in the reactor

void frontend_open (struct station *self)
{
    watch_start (&self->request_watch, self->reactor, self->request_socket, on_request, self);
}

void station_resume (struct station *self)
{
    if (!self->store || !store_idle (self->store) || self->kept_bytes > KEPT_BYTES_MAX / 2)
        return;
    bool answers = self->phase == PHASE_SERVING || self->phase == PHASE_STOPPING;
    // A standby that stops has no socket.
    if (answers && self->request_socket && !watch_is_on (&self->request_watch))
        frontend_open (self);
    for (size_t i = 0; i < self->target_count && self->targets_paused; i++)
        target_resume (self->targets[i]);
    self->targets_paused = false;
}

void frontend_drain (struct station *self)
{
    struct packet packet;
    for (int i = 0; i < DRAIN_MAX && packet_recv (&packet, self->request_socket, &self->limits);
         i++)
        packet_clear (&packet);
}
