// Requests over a DEALER, many at a time. An answer is matched to its request by the REQUEST_ID.
//
// A request that timed out must not reach the station later. It has arrived if the station answered
// a later one, since a connection preserves the order. Otherwise it may still be queued in this
// process, so its connection is closed, and its other requests end or are resent: a DEALER would
// keep the message for a station that is away and deliver it long after the caller's timeout.
#include "client_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "random.h"
#include "socket.h"

enum { TIMEOUT_MS = 5000, MESSAGES_A_TURN = 64 };

_Static_assert((int)ZPLAN_FRAMES_MAX == (int)DESC_FRAMES_MAX, "one limit under two names");

const char *zplan_client_error (const struct zplan_client *client)
{
    return client ? client->reason.text : zplan_error_text (ZPLAN_ERROR_ARGUMENT);
}

// -- creation

static int client_open (struct zplan_client *self, const char *endpoint)
{
    TAILQ_INIT (&self->in_flight);
    self->timeout_ms = TIMEOUT_MS;
    self->deadline_us = READINESS_NEVER;
    self->interrupt_fd = -1;
    self->session = random_from_kernel ();
    if (readiness_open (&self->ready) ||
        keys_read_endpoints (&self->keys, endpoint, &self->endpoints))
        return -1;
    self->endpoint = strdup (endpoint);
    self->context = self->endpoint ? wire_context_new () : NULL;
    return self->context ? client_connect (self) : -1;
}

struct zplan_client *client_new (const char *endpoint, const struct keys *keys)
{
    struct zplan_client *self = calloc (1, sizeof *self);
    if (!self)
        return NULL;
    self->keys = *keys;
    if (client_open (self, endpoint))
        zplan_client_destroy (&self);
    return self;
}

struct zplan_client *zplan_client_new (const char *endpoint)
{
    return client_new (endpoint, &(struct keys){0});
}

struct zplan_client *zplan_client_new_curve (const char *endpoint, const struct zplan_curve *curve)
{
    struct keys keys = {0};
    return keys_copy (&keys, curve) ? NULL : client_new (endpoint, &keys);
}

void zplan_client_set_timeout (struct zplan_client *client, int64_t timeout_ms)
{
    if (client)
        client->timeout_ms = timeout_ms > 0 ? timeout_ms : 0;
}

void zplan_client_set_interrupt (struct zplan_client *client, int fd)
{
    if (client)
        client->interrupt_fd = fd < 0 ? -1 : fd;
}

// -- answers

// The request that the received message answers, or NULL. An answer without a REQUEST_ID rejects a
// message that the station could not read: it belongs to the request in flight, if there is exactly
// one.
static struct client_request *find_answered_request (struct zplan_client *self)
{
    bool found;
    struct span id = message_frame (&self->answer, ZERO_FRAME_REQUEST_ID, &found);
    struct client_request *request = TAILQ_FIRST (&self->in_flight);
    if (!found)
        return self->count == 1 && self->answer.desc.code >= ZERO_STATUS_ERROR_FLAG ? request
                                                                                    : NULL;
    while (request && !span_equal (span_of (request->id, request->id_size), id))
        request = TAILQ_NEXT (request, place);
    return request;
}

static void fill_reply (const struct message *message, struct zplan_reply *ret)
{
    ret->status = message->desc.code;
    ret->count = message->desc.count;
    for (size_t i = 0; i < message->desc.count; i++)
        ret->frames[i] = (struct zplan_frame){message->desc.types[i], message->frames[i].data,
                                              message->frames[i].size};
}

// Whether the station rejects the request because it is stopping or a standby: then another station
// will accept it.
static bool is_handover_rejection (const struct message *answer)
{
    struct span words = message_frame (answer, ZERO_FRAME_STATUS, NULL);
    const char *const reasons[] = {STATION_IS_STOPPING, STATION_STANDS_BY};
    for (size_t i = 0; answer->desc.code == ZERO_STATUS_NET_ERROR_ID && i < 2; i++) {
        size_t size = strlen (reasons[i]);
        if (words.size >= size && memcmp (words.data + words.size - size, reasons[i], size) == 0)
            return true;
    }
    return false;
}

bool client_receive_message (struct zplan_client *self, size_t index)
{
    void *socket = self->dealers.rows[index].socket;
    packet_clear (&self->packet);
    if (!socket || !packet_recv (&self->packet, socket, &packet_of_stations))
        return false;
    struct reason reason;
    if (self->packet.fault ||
        message_read (self->packet.frames, self->packet.count, &self->answer, &reason))
        return true;
    struct client_request *request = find_answered_request (self);
    if (!request ||
        (is_handover_rejection (&self->answer) && client_requeue_request (self, request)))
        return true;
    request_unlink (self, request);
    if (request->at == (int)index && request->number > self->last_answered[index])
        self->last_answered[index] = request->number;
    struct zplan_reply reply;
    fill_reply (&self->answer, &reply);
    request_finish (self, request, ZPLAN_OK, &reply);
    return true;
}

// Receive one message from any endpoint. False: there is none.
static bool receive_any (struct zplan_client *self)
{
    for (size_t i = 0; i < self->endpoints.count; i++)
        if (client_receive_message (self, i))
            return true;
    return false;
}

static void update_readiness (struct zplan_client *self)
{
    if (self->count == 0)
        self->deadline_us = READINESS_NEVER;
    // A request expires after its deadline, not at it.
    int64_t due_us = self->deadline_us == READINESS_NEVER ? READINESS_NEVER : self->deadline_us + 1;
    int64_t check_due_us = client_due_us (self);
    readiness_update (&self->ready, check_due_us < due_us ? check_due_us : due_us, true);
}

int zplan_client_process (struct zplan_client *client)
{
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (client->calling)
        return reason_error (&client->reason, ZPLAN_ERROR_NESTED, "process: not from a callback");
    int count = 0;
    client_update_connections (client);
    while (count < MESSAGES_A_TURN && receive_any (client))
        count++;
    packet_clear (&client->packet);
    request_expire_all (client, count < MESSAGES_A_TURN);
    update_readiness (client);
    return ZPLAN_OK;
}

int zplan_client_fd (const struct zplan_client *client)
{
    return client ? client->ready.epoll_fd : -1;
}

size_t zplan_client_in_hand (const struct zplan_client *client)
{
    return client ? client->count : 0;
}

// -- sending

// Lay out a request from the caller's frames. Adds a REQUEST_ID, stored in `id_out`, unless the
// frames contain one.
static int lay_out_request (struct zplan_client *self, uint8_t command,
                            const struct zplan_frame *frames, size_t count,
                            char id_out[REQUEST_ID_SIZE], struct message *ret)
{
    size_t bytes = DESC_SIZE_MAX;
    bool has_id = false;
    if (count && !frames)
        return reason_error (&self->reason, ZPLAN_ERROR_ARGUMENT, "frames: are missing");
    for (size_t i = 0; i < count; i++)
        has_id = has_id || frames[i].type == ZERO_FRAME_REQUEST_ID;
    if (count > ZPLAN_FRAMES_MAX || count + !has_id > ZPLAN_FRAMES_MAX)
        return reason_error (&self->reason, ZPLAN_ERROR_ARGUMENT,
                             "frames: at most %d with the REQUEST_ID, got %zu", ZPLAN_FRAMES_MAX,
                             count);
    message_start (ret, command);
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size && !frames[i].data)
            return reason_error (&self->reason, ZPLAN_ERROR_ARGUMENT, "frames: one has no data");
        bytes += frames[i].size;
        if (frames[i].size > packet_of_peers.frame_bytes || bytes > packet_of_peers.bytes)
            return reason_error (&self->reason, ZPLAN_ERROR_ARGUMENT,
                                 "frames: at most %zu bytes each and %zu in all",
                                 packet_of_peers.frame_bytes, packet_of_peers.bytes);
        message_add (ret, frames[i].type, span_of (frames[i].data, frames[i].size));
    }
    if (has_id)
        return ZPLAN_OK;
    snprintf (id_out, REQUEST_ID_SIZE, "%016" PRIx64 "-%" PRIu64, self->session,
              self->requests + 1);
    message_add (ret, ZERO_FRAME_REQUEST_ID, span_text (id_out));
    return ZPLAN_OK;
}

// Send the request, and add it to the requests in flight.
static int send_request (struct zplan_client *self, const struct message *message,
                         zplan_reply_fn *fn, void *context)
{
    if (self->closing)
        return reason_error (&self->reason, ZPLAN_ERROR_CLOSED, "the client is being destroyed");
    if (self->count >= ZPLAN_REQUESTS_MAX)
        return reason_error (&self->reason, ZPLAN_ERROR_AGAIN, "%d requests are in progress",
                             ZPLAN_REQUESTS_MAX);
    struct client_request *request =
        request_new (self, message_frame (message, ZERO_FRAME_REQUEST_ID, NULL));
    if (!request)
        return reason_error (&self->reason, ZPLAN_ERROR_MEMORY, "%s",
                             zplan_error_text (ZPLAN_ERROR_MEMORY));
    request->fn = fn;
    request->context = context;
    int error = client_send_or_queue (self, request, message);
    if (error)
        free (request);
    update_readiness (self);
    return error;
}

int zplan_client_send (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, zplan_reply_fn *fn,
                       void *context)
{
    char id[REQUEST_ID_SIZE];
    struct message message;
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    int error = lay_out_request (client, command, frames, count, id, &message);
    return error ? error : send_request (client, &message, fn, context);
}

// -- waiting for the answer

struct awaited_reply {
    struct zplan_client *client;
    bool done;
    bool lost; // the connection to one of several endpoints was lost
    bool interrupted;
    int error;
    struct zplan_reply *ret;
};

// Copy the frames into memory of the client: a lost connection is read to its end after the answer,
// which overwrites the packet that holds the frames. False: there is no memory.
static bool keep_reply (struct zplan_client *self, const struct zplan_reply *reply,
                        struct zplan_reply *ret)
{
    struct frames *kept = frames_try_copy (self->answer.frames, reply->count);
    if (!kept)
        return false;
    free (self->kept);
    self->kept = kept;
    *ret = *reply;
    for (size_t i = 0; i < reply->count; i++)
        ret->frames[i].data = kept->at[i].data;
    return true;
}

static void end_wait (void *context, int error, const struct zplan_reply *reply)
{
    struct awaited_reply *waiting = context;
    waiting->done = true;
    waiting->error = error;
    waiting->lost = waiting->client->losing;
    if (reply && !keep_reply (waiting->client, reply, waiting->ret))
        waiting->error = ZPLAN_ERROR_MEMORY;
}

static void interrupt_wait (struct zplan_client *self, struct awaited_reply *waiting)
{
    waiting->interrupted = true;
    struct client_request *request = TAILQ_FIRST (&self->in_flight);
    while (request && request->context != waiting)
        request = TAILQ_NEXT (request, place);
    if (request)
        request_abandon (self, request);
}

// The deadline is checked after each message, so a station that floods the client cannot prolong
// the wait.
static void await_answer (struct zplan_client *self, struct awaited_reply *waiting)
{
    while (!waiting->done) {
        client_update_connections (self);
        bool received = !waiting->done && receive_any (self);
        if (!waiting->done)
            request_expire_all (self, !received);
        if (waiting->done || received)
            continue;
        update_readiness (self);
        if (readiness_wait (&self->ready, self->interrupt_fd, READINESS_NEVER) ==
            READINESS_INTERRUPT)
            interrupt_wait (self, waiting);
    }
    update_readiness (self);
}

int zplan_client_call (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, struct zplan_reply *ret)
{
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (!ret)
        return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "ret: is missing");
    if (client->calling)
        return reason_error (&client->reason, ZPLAN_ERROR_NESTED,
                             "a callback may send, but not wait");
    struct awaited_reply waiting = {.client = client, .ret = ret};
    int error = zplan_client_send (client, command, frames, count, end_wait, &waiting);
    if (error)
        return error;
    await_answer (client, &waiting);
    if (waiting.lost)
        reason_error (&client->reason, waiting.error,
                      "the connection to %s was lost before the answer", client->endpoint);
    else if (waiting.error == ZPLAN_ERROR_MEMORY)
        reason_error (&client->reason, waiting.error, "%s", zplan_error_text (waiting.error));
    else if (waiting.error && waiting.interrupted)
        reason_error (&client->reason, waiting.error, "interrupted before the answer of %s",
                      client->endpoint);
    else if (waiting.error)
        reason_error (&client->reason, waiting.error, "no answer from %s within %" PRId64 " ms",
                      client->endpoint, client->timeout_ms);
    return waiting.error;
}

// -- destruction

void zplan_client_destroy (struct zplan_client **client)
{
    if (!client || !*client || (*client)->calling)
        return;
    struct zplan_client *self = *client;
    int error = errno;
    self->closing = true;
    request_finish_all (self, ZPLAN_ERROR_CLOSED);
    packet_clear (&self->packet);
    client_disconnect (self);
    readiness_close (&self->ready);
    wire_context_destroy (&self->context);
    explicit_bzero (&self->keys, sizeof self->keys);
    endpoints_clear (&self->endpoints);
    free (self->endpoint);
    free (self->kept);
    free (self);
    *client = NULL;
    errno = error;
}
