#include "reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "codes.h"
#include "decimal.h"
#include "dialect.h"
#include "log.h"
#include "memory.h"
#include "peers.h"
#include "reads.h"

enum { REQUEST_BYTES = 512 }; // held by a waiting request in addition to its message

struct peer *peer_keep (struct station *self, const struct request *request)
{
    const struct peer *peer = &request->peer;
    struct peer *copy = memory_new (sizeof *copy);
    const struct span bytes[] = {peer->identity, peer->requester, peer->request_id};
    *copy = *peer;
    copy->kept = frames_copy (bytes, 3);
    copy->identity = copy->kept->at[0];
    copy->requester = copy->kept->at[1];
    copy->request_id = copy->kept->at[2];
    copy->load = peers_count_request (self, copy->identity);
    // Copies of parts of the message are kept, too: an argument, the plan.
    copy->weight = REQUEST_BYTES + copy->identity.size + message_size (&request->message);
    self->kept_bytes += copy->weight;
    return copy;
}

void peer_add_weight (struct station *self, struct peer *peer, size_t bytes)
{
    peer->weight += bytes;
    self->kept_bytes += bytes;
}

static void peer_release (struct station *self, struct peer *peer)
{
    if (!peer->kept)
        return;
    struct peer_load *load = peer->load;
    int cost = peer->read_cost;
    self->kept_bytes -= peer->weight;
    free (peer->kept);
    free (peer);
    load->requests--;
    if (cost)
        reads_end (self, load, cost);
    else
        peers_free_if_idle (self, load);
    station_resume (self);
}

bool reply_send (struct station *self, struct peer *peer, const struct reply *reply)
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

void reply_refuse (struct station *self, struct peer *peer, enum wire_error error,
                   const char *reason)
{
    uint8_t status = status_of_error (error);
    self->counters.refused++;
    self->counters.denied += error == ZPLAN_EDENY;
    self->counters.busy += error == ZPLAN_EBUSY;
    log_event (LEVEL_DEBUG, "request.refused", "status=%s reason=\"%s\"", status_name (status),
               reason);
    reply_send (self, peer, &(struct reply){.status = status, .reason = reason});
}

void reply_refuse_arguments (struct station *self, struct peer *peer, enum wire_error error,
                             const char *format, va_list args)
{
    struct reason reason;
    reason_format (&reason, format, args);
    reply_refuse (self, peer, error, reason.text);
}

void reply_refuse_format (struct station *self, struct peer *peer, enum wire_error error,
                          const char *format, ...)
{
    va_list args;
    va_start (args, format);
    reply_refuse_arguments (self, peer, error, format, args);
    va_end (args);
}

int reply_store_error (const struct station *self, enum store_result result, const char *error,
                       struct reason *reason)
{
    if (result == STORE_FULL)
        return reason_error (reason, ZPLAN_EBUSY, "%s", error);
    if (result == STORE_ERROR)
        return reason_error (reason, ZPLAN_ENET, "Redis: %s", error);
    if (result == STORE_UNSURE)
        return reason_error (reason, ZPLAN_ENET,
                             "it is done, but fewer than %" PRId64 " replicas have it",
                             self->settings->replicas);
    if (result == STORE_LOST && !station_store_up (self) && station_store_trouble (self)[0])
        return reason_error (reason, ZPLAN_ENET, "%s", station_store_trouble (self));
    return reason_error (reason, ZPLAN_ENET,
                         "Redis was lost before it answered; the outcome is unknown");
}

void reply_refuse_store (struct station *self, struct peer *peer, enum store_result result,
                         const char *error)
{
    struct reason reason;
    int rc = reply_store_error (self, result, error, &reason);
    reply_refuse (self, peer, (enum wire_error)rc, reason.text);
}

int reply_too_much (const struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    const struct peer_load *load = peers_find (self, request->peer.identity); // NULL: no load
    if (load && load->requests >= self->settings->limits.requests_peer)
        return reason_error (reason, ZPLAN_EBUSY,
                             "max_requests_peer: %" PRId64
                             " requests of this peer wait for their answers; try again in 100 ms",
                             self->settings->limits.requests_peer);
    if (load && peers_wait_full (self, load))
        return reason_error (reason, ZPLAN_EBUSY,
                             "too many bytes of requests of this peer wait; read the replies, "
                             "and try again in 100 ms");
    if (self->memory_full)
        return reason_error (reason, ZPLAN_EBUSY,
                             "max_memory: the station uses more than %" PRId64
                             " MiB; try again in 100 ms",
                             self->settings->limits.memory_mib);
    return 0;
}
