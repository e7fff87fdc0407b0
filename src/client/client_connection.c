// The connections of a client.
//
// With one address a request is handed to libzmq at once, which queues it until there is a
// connection. With several addresses the request waits in the client for one. When a connection is
// lost, the requests in flight on it are resent on the next one if they may be repeated; otherwise
// they end, with an unknown outcome. The socket of a lost connection is closed: libzmq would
// deliver its queue much later.
#include "client_private.h"

#include <errno.h>

#include "clock.h"
#include "socket.h"

enum {
    QUEUE_MAX = 2 * ZPLAN_REQUESTS_MAX,      // libzmq may count half of the read messages as unread
    DRAIN_MESSAGES = 4 * ZPLAN_REQUESTS_MAX, // at most, read from a lost connection
    SENDS_MAX = 4,                           // times that one request is sent, at most
    FULL_US = 10000                          // until a send to a full connection is retried
};

static void prepare_socket (void *owner, void *socket, size_t index)
{
    struct zplan_client *self = owner;
    keys_set_socket (&self->keys, socket, index);
    wire_heartbeat (socket);
    wire_set (socket, ZMQ_SNDHWM, QUEUE_MAX);
}

_Static_assert(2 * ENDPOINTS_MAX <= (int)READINESS_SOCKETS_MAX, "a place for each socket");
_Static_assert((int)ZPLAN_ENDPOINTS_MAX == (int)ENDPOINTS_MAX, "one limit under two names");

// -- watching sockets

static void unwatch_socket (struct zplan_client *self, size_t index)
{
    readiness_watch (&self->ready, 2 * index, NULL);
    readiness_watch (&self->ready, 2 * index + 1, NULL);
}

static int watch_socket (struct zplan_client *self, size_t index)
{
    const struct dealer *row = &self->dealers.rows[index];
    return readiness_watch (&self->ready, 2 * index, row->socket) ||
                   readiness_watch (&self->ready, 2 * index + 1, row->monitor)
               ? -1
               : 0;
}

// -- opening and closing

int client_connect (struct zplan_client *self)
{
    if (dealers_open (&self->dealers, self->context, &self->endpoints, prepare_socket, self))
        return -1;
    for (size_t i = 0; i < self->endpoints.count; i++)
        if (watch_socket (self, i))
            return -1;
    return 0;
}

void client_disconnect (struct zplan_client *self)
{
    for (size_t i = 0; i < self->endpoints.count; i++)
        unwatch_socket (self, i);
    dealers_close (&self->dealers);
}

static int replace_socket (struct zplan_client *self, size_t index)
{
    int error = errno;
    self->leaving &= ~(1U << index);
    unwatch_socket (self, index);
    if (dealers_renew (&self->dealers, index) || watch_socket (self, index))
        return -1;
    errno = error;
    return 0;
}

bool client_has_several_endpoints (const struct zplan_client *self)
{
    return self->endpoints.count > 1;
}

int64_t client_due_us (const struct zplan_client *self)
{
    for (size_t i = 0; i < self->endpoints.count; i++)
        if (self->dealers.rows[i].lost)
            return 0;
    bool full = self->waiting && dealers_current (&self->dealers) >= 0;
    return full ? clock_mono_us () + FULL_US : READINESS_NEVER;
}

const char *zplan_client_endpoint (const struct zplan_client *client)
{
    int index = !client                                 ? -1
                : client_has_several_endpoints (client) ? dealers_current (&client->dealers)
                                                        : 0;
    return index < 0 ? "" : client->endpoints.rows[index];
}

// -- lost connections

// The first request in flight on this connection, or NULL.
static struct client_request *find_sent_request (struct zplan_client *self, size_t index)
{
    struct client_request *request = TAILQ_FIRST (&self->in_flight);
    while (request && request->at != (int)index)
        request = TAILQ_NEXT (request, place);
    return request;
}

// Replace a lost connection, and resend or end the requests in flight on it. Answers that arrived
// before the loss still count, so they are read first.
static void handle_lost_connection (struct zplan_client *self, size_t index)
{
    for (int i = 0; i < DRAIN_MESSAGES && client_receive_message (self, index); i++) {
    }
    packet_clear (&self->packet);
    replace_socket (self, index); // if that fails, client_update_connections retries
    bool losing = self->losing;
    self->losing = true;
    for (struct client_request *request; (request = find_sent_request (self, index));) {
        if (request->safe && request->sends < SENDS_MAX) {
            request->at = REQUEST_WAITS;
            self->waiting++;
        } else {
            request_unlink (self, request);
            request_finish (self, request, ZPLAN_ERROR_NO_ANSWER, NULL);
        }
    }
    self->losing = losing;
}

void client_drop_connection (struct zplan_client *self, const struct client_request *request)
{
    if (client_has_several_endpoints (self))
        handle_lost_connection (self, (size_t)request->at);
    else
        client_disconnect (self);
}

// -- sending

// Send the request's copy on the current connection. False: there is none, or its queue is full.
static bool send_copy (struct zplan_client *self, struct client_request *request)
{
    const struct frames *copy = request->copy;
    int index = dealers_current (&self->dealers);
    if (index < 0 || self->leaving >> index & 1 ||
        !packet_send (self->dealers.rows[index].socket, copy->at, copy->count))
        return false;
    request->at = index;
    request->sends++;
    return true;
}

bool client_requeue_request (struct zplan_client *self, struct client_request *request)
{
    if (!client_has_several_endpoints (self))
        return false;
    if (request->at == REQUEST_WAITS)
        return true;                    // the same answer was received twice
    self->leaving |= 1U << request->at; // its connection will be lost in a moment
    request->at = REQUEST_WAITS;
    request->sends--;
    self->waiting++;
    return true;
}

static void send_waiting_requests (struct zplan_client *self)
{
    struct client_request *request = self->waiting ? TAILQ_FIRST (&self->in_flight) : NULL;
    for (; request; request = TAILQ_NEXT (request, place)) {
        if (request->at != REQUEST_WAITS)
            continue;
        if (!send_copy (self, request))
            return;
        self->waiting--;
        request->number = ++self->requests;
    }
}

void client_update_connections (struct zplan_client *self)
{
    if (!client_has_several_endpoints (self))
        return;
    dealers_read_events (&self->dealers);
    for (size_t i = 0; i < self->endpoints.count; i++)
        if (self->dealers.rows[i].lost)
            handle_lost_connection (self, i);
        else if (!self->dealers.rows[i].socket)
            replace_socket (self, i);
    send_waiting_requests (self);
}

// After a key was rejected libzmq drops the connection and its queue, so sending fails: the socket
// is then replaced, unless requests are pending on it, which end without an answer.
static bool send_message (struct zplan_client *self, const struct message *message)
{
    void **socket = &self->dealers.rows[0].socket;
    if (packet_send_message (*socket, (struct span){0}, message))
        return true;
    return !self->count && replace_socket (self, 0) == 0 &&
           packet_send_message (*socket, (struct span){0}, message);
}

static int fail_without_socket (struct zplan_client *self)
{
    return reason_error (&self->reason, ZPLAN_ERROR_SOCKET, "no socket can be made: %s",
                         zmq_strerror (errno));
}

static int send_to_single_endpoint (struct zplan_client *self, struct client_request *request,
                                    const struct message *message)
{
    if (!self->dealers.rows[0].socket && replace_socket (self, 0))
        return fail_without_socket (self);
    if (!send_message (self, message))
        return reason_error (&self->reason, ZPLAN_ERROR_AGAIN,
                             "the queue of the connection is full");
    request->at = 0;
    request_append (self, request);
    return ZPLAN_OK;
}

int client_send_or_queue (struct zplan_client *self, struct client_request *request,
                          const struct message *message)
{
    if (!client_has_several_endpoints (self))
        return send_to_single_endpoint (self, request, message);
    for (size_t i = 0; i < self->endpoints.count; i++)
        if (!self->dealers.rows[i].socket && replace_socket (self, i))
            return fail_without_socket (self);
    // A loss is only recorded here: requests end in the calls that wait.
    dealers_read_events (&self->dealers);
    if (!request_copy (self, request, message))
        return reason_error (&self->reason, ZPLAN_ERROR_MEMORY, "%s",
                             zplan_error_text (ZPLAN_ERROR_MEMORY));
    request->safe = request_is_safe (message);
    send_waiting_requests (self); // requests that wait are sent before the new one
    if (!self->waiting)
        send_copy (self, request);
    request_append (self, request);
    return ZPLAN_OK;
}
