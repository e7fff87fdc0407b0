// Replies to the ZAP request that libzmq sends for each connection to a CURVE server, by the
// allow-list.
//
// A request has the frames version, request id, domain, address, identity, mechanism and, for
// CURVE, the key. The reply has version, request id, status, text, user id, metadata. Malformed
// requests are denied.
#include "zap.h"

#include <stdlib.h>

#include "access.h"
#include "context.h"
#include "failpoint.h"
#include "log.h"
#include "memory.h"

enum { TURN_REQUESTS = 64, KEY_BYTES = 32 };

// The frames of a request, in order; the identity of the requester and an empty frame come first.
enum { REQUESTER, EMPTY, VERSION, REQUEST_ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, FRAMES };

struct zap {
    void *socket; // ROUTER
    struct watch watch;
};

// Find the key on the list. NULL: it may not connect. `ret_text` is the key as text, or empty.
static const struct access_key *find_admitted_key (const struct station *self,
                                                   const struct packet *request,
                                                   char ret_text[CURVE_KEY_SIZE])
{
    const struct span *frames = request->frames;
    *ret_text = '\0';
    if (request->fault || request->count != FRAMES || !span_is (frames[VERSION], "1.0") ||
        !span_is (frames[MECHANISM], "CURVE") || frames[KEY].size != KEY_BYTES)
        return NULL;
    zmq_z85_encode (ret_text, frames[KEY].data, KEY_BYTES);
    const struct access_key *key = access_find (self->access, ret_text);
    return key && access_may_connect (key, frames[DOMAIN]) ? key : NULL;
}

static void log_refused_key (struct station *self, const struct packet *request, const char *text)
{
    const struct span none = {0};
    bool whole = request->count > ADDRESS;
    const struct access_key *key = access_find (self->access, text);
    self->counters.refused_keys++;
    log_event (LEVEL_WARN, "key.refused", "socket=%s address=%s key=%s name=%s",
               quoted (whole ? request->frames[DOMAIN] : none),
               quoted (whole ? request->frames[ADDRESS] : none), quoted (span_text (text)),
               quoted (key ? span_text (key->name) : none));
}

static void reply_to_request (struct station *self, const struct packet *request)
{
    char text[CURVE_KEY_SIZE];
    if (request->count <= REQUEST_ID)
        return; // not from libzmq: nobody waits for a reply
    const struct access_key *key = find_admitted_key (self, request, text);
    if (!key)
        log_refused_key (self, request, text);
    const struct span frames[] = {
        request->frames[REQUESTER],
        request->frames[EMPTY],
        span_text ("1.0"),
        request->frames[REQUEST_ID],
        // Not 400: after that the client never retries, even if its key is admitted later.
        span_text (key ? "200" : "300"),
        span_text (key ? "OK" : "refused"),
        span_text (key ? text : ""),
        span_text (""),
    };
    packet_send (self->zap->socket, frames, sizeof frames / sizeof *frames);
}

static bool on_request (void *owner)
{
    struct station *self = owner;
    struct packet request;
    for (int i = 0; i < TURN_REQUESTS; i++) {
        if (!packet_recv (&request, self->zap->socket, &packet_of_peers))
            return false;
        reply_to_request (self, &request);
        packet_clear (&request);
    }
    return true;
}

int zap_start (struct station *self, struct reason *reason)
{
    if (!self->access || FAILPOINT_IS ("no_zap"))
        return 0;
    self->zap = memory_new (sizeof *self->zap);
    self->zap->socket = wire_socket (ZMQ_ROUTER);
    if (self->zap->socket && zmq_bind (self->zap->socket, "inproc://zeromq.zap.01") == 0)
        return 0;
    return reason_set (reason, "curve: no ZAP handler: %s", zmq_strerror (zmq_errno ()));
}

void zap_watch (struct station *self)
{
    if (self->zap)
        watch_start (&self->zap->watch, self->reactor, self->zap->socket, on_request, self);
}

void zap_stop (struct station *self)
{
    if (!self->zap)
        return;
    watch_end (&self->zap->watch);
    if (self->zap->socket)
        zmq_close (self->zap->socket);
    free (self->zap);
    self->zap = NULL;
}
