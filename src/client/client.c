// Requests over a DEALER, many at a time. An answer is known by the REQUEST_ID that its request
// carried.
//
// A request whose time is over must not reach the station later. It was there if the station has
// answered one that was sent after it, as a connection keeps their order. Otherwise it may still be
// in a queue of ours, and the connection is given up with all that is in hand: a DEALER would keep
// it for a station that is away and deliver it long after the caller gave it up.
#include "client_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "random.h"
#include "socket.h"

enum {
    TIMEOUT_MS = 5000,
    MESSAGES_A_TURN = 64,
    LATE_TURNS_MAX = ZPLAN_REQUESTS_MAX, // enough to read an answer to each
    QUEUE_MAX = 2 * ZPLAN_REQUESTS_MAX // libzmq counts up to half of what was read as not read yet
};

_Static_assert((int)ZPLAN_FRAMES_MAX == (int)DESC_FRAMES_MAX, "one limit under two names");

// -- errors

int client_fail (struct zplan_client *self, int error, const char *format, ...)
{
    char text[REASON_MAX];
    va_list args;
    va_start (args, format);
    vsnprintf (text, sizeof text, format, args);
    va_end (args);
    return client_fail_as (self, error, text);
}

int client_fail_as (struct zplan_client *self, int error, const char *words)
{
    reason_set (&self->reason, "%s", words);
    return error;
}

const char *zplan_client_error (const struct zplan_client *client)
{
    return client ? client->reason.text : zplan_error_text (ZPLAN_ERROR_ARGUMENT);
}

// -- the connection

static void drop_socket (struct zplan_client *self)
{
    int error = errno;
    readiness_watch (&self->ready, NULL);
    if (self->socket)
        zmq_close (self->socket);
    self->socket = NULL;
    errno = error;
}

static int connect_socket (struct zplan_client *self)
{
    self->socket = wire_socket_in (self->context, ZMQ_DEALER);
    if (!self->socket)
        return -1;
    keys_put (&self->keys, self->socket);
    wire_heartbeat (self->socket);
    wire_set (self->socket, ZMQ_SNDHWM, QUEUE_MAX);
    if (zmq_connect (self->socket, self->endpoint) == 0 &&
        readiness_watch (&self->ready, self->socket) == 0)
        return 0;
    drop_socket (self);
    return -1;
}

static int client_open (struct zplan_client *self, const char *endpoint)
{
    self->end = &self->first;
    self->timeout_ms = TIMEOUT_MS;
    self->deadline_us = READINESS_NEVER;
    self->interrupt_fd = -1;
    self->session = random_anew ();
    if (readiness_open (&self->ready))
        return -1;
    self->endpoint = strdup (endpoint);
    self->context = self->endpoint ? wire_context_new () : NULL;
    return self->context ? connect_socket (self) : -1;
}

static struct zplan_client *client_new (const char *endpoint, const struct keys *keys)
{
    struct reason reason;
    if (!endpoint || endpoint_check (endpoint, &reason)) {
        errno = EINVAL;
        return NULL;
    }
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
    return keys_take (&keys, curve) ? NULL : client_new (endpoint, &keys);
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

// -- requests in hand

static struct request *request_new (const struct zplan_client *self, struct span id)
{
    struct request *request = calloc (1, sizeof *request + id.size);
    if (!request)
        return NULL;
    int64_t now_us = clock_mono_us ();
    request->deadline_us = self->timeout_ms < (READINESS_NEVER - now_us) / 1000
                               ? now_us + self->timeout_ms * 1000
                               : READINESS_NEVER;
    request->id_size = id.size;
    if (id.size)
        memcpy (request->id, id.data, id.size);
    return request;
}

static void append (struct zplan_client *self, struct request *request)
{
    request->number = ++self->requests;
    *self->end = request;
    self->end = &request->next;
    self->count++;
    if (request->deadline_us < self->deadline_us)
        self->deadline_us = request->deadline_us;
}

// Take out what `at` points to.
static struct request *take_out (struct zplan_client *self, struct request **at)
{
    struct request *request = *at;
    *at = request->next;
    if (self->end == &request->next)
        self->end = at;
    self->count--;
    return request;
}

// Tell how a request ended; it is not in the list any more.
static void finish (struct zplan_client *self, struct request *request, int error,
                    const struct zplan_reply *reply)
{
    bool calling = self->calling;
    self->calling = true;
    if (request->fn)
        request->fn (request->context, error, reply);
    self->calling = calling;
    free (request);
}

// All that are in hand now, but none that is sent meanwhile.
static void finish_all (struct zplan_client *self, int error)
{
    struct request *request = self->first;
    self->first = NULL;
    self->end = &self->first;
    self->count = 0;
    while (request) {
        struct request *next = request->next;
        finish (self, request, error, NULL);
        request = next;
    }
}

// End a request without its answer.
static void give_up (struct zplan_client *self, struct request **at)
{
    if ((*at)->number < self->heard) {
        finish (self, take_out (self, at), ZPLAN_ERROR_NO_ANSWER, NULL);
        return;
    }
    drop_socket (self);
    finish_all (self, ZPLAN_ERROR_NO_ANSWER);
}

static struct request **find_late (struct zplan_client *self, int64_t now_us)
{
    for (struct request **at = &self->first; *at; at = &(*at)->next)
        if ((*at)->deadline_us < now_us)
            return at;
    return NULL;
}

// End those whose time is over. A callback may send new ones; their time is not over at `now_us`.
// Where messages are left to be read, the answers may be among them, as when the program was busy
// for long; a station that floods is read on for so many turns.
static void expire (struct zplan_client *self, bool all_read)
{
    int64_t now_us = clock_mono_us ();
    if (self->deadline_us < now_us && !all_read && ++self->late_turns <= LATE_TURNS_MAX)
        return;
    self->late_turns = 0;
    if (self->deadline_us >= now_us)
        return;
    for (struct request **at = find_late (self, now_us); at; at = find_late (self, now_us))
        give_up (self, at);
    self->deadline_us = READINESS_NEVER;
    for (const struct request *request = self->first; request; request = request->next)
        if (request->deadline_us < self->deadline_us)
            self->deadline_us = request->deadline_us;
}

// -- answers

// The request that this answers, or NULL. An answer without a REQUEST_ID can only be the station's
// refusal of a message that it could not read: if one is in hand, it is about that one.
static struct request **find_answered (struct zplan_client *self)
{
    bool found;
    struct span id = message_frame (&self->answer, ZERO_FRAME_REQUEST_ID, &found);
    if (!found)
        return self->count == 1 && self->answer.desc.code >= ZERO_STATUS_ERROR_FLAG ? &self->first
                                                                                    : NULL;
    for (struct request **at = &self->first; *at; at = &(*at)->next)
        if (span_equal (span_of ((*at)->id, (*at)->id_size), id))
            return at;
    return NULL;
}

static void fill_reply (const struct message *message, struct zplan_reply *ret)
{
    ret->status = message->desc.code;
    ret->count = message->desc.count;
    for (size_t i = 0; i < message->desc.count; i++)
        ret->frames[i] = (struct zplan_frame){message->desc.types[i], message->frames[i].data,
                                              message->frames[i].size};
}

// Take one message. False: there is none.
static bool take_message (struct zplan_client *self)
{
    packet_clear (&self->packet);
    if (!self->socket || !packet_recv (&self->packet, self->socket, &packet_of_stations))
        return false;
    struct reason reason;
    if (self->packet.fault ||
        message_read (self->packet.frames, self->packet.count, &self->answer, &reason))
        return true;
    struct request **at = find_answered (self);
    if (!at)
        return true;
    struct request *request = take_out (self, at);
    if (request->number > self->heard)
        self->heard = request->number;
    struct zplan_reply reply;
    fill_reply (&self->answer, &reply);
    finish (self, request, ZPLAN_OK, &reply);
    return true;
}

static void update_readiness (struct zplan_client *self)
{
    if (self->count == 0)
        self->deadline_us = READINESS_NEVER;
    // A request is late when its deadline has passed.
    readiness_update (
        &self->ready,
        self->deadline_us == READINESS_NEVER ? READINESS_NEVER : self->deadline_us + 1, true);
}

int zplan_client_process (struct zplan_client *client)
{
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (client->calling)
        return client_fail_as (client, ZPLAN_ERROR_NESTED, "process: not from a callback");
    int count = 0;
    while (count < MESSAGES_A_TURN && take_message (client))
        count++;
    packet_clear (&client->packet);
    expire (client, count < MESSAGES_A_TURN);
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

// Lay out a request from what the caller gave, with `id_out` as its REQUEST_ID unless it has one.
static int lay_out (struct zplan_client *self, uint8_t command, const struct zplan_frame *frames,
                    size_t count, char id_out[REQUEST_ID_SIZE], struct message *ret)
{
    size_t bytes = DESC_SIZE_MAX;
    bool has_id = false;
    if (count && !frames)
        return client_fail (self, ZPLAN_ERROR_ARGUMENT, "frames: are missing");
    for (size_t i = 0; i < count; i++)
        has_id = has_id || frames[i].type == ZERO_FRAME_REQUEST_ID;
    if (count > ZPLAN_FRAMES_MAX || count + !has_id > ZPLAN_FRAMES_MAX)
        return client_fail (self, ZPLAN_ERROR_ARGUMENT,
                            "frames: at most %d with the REQUEST_ID, got %zu", ZPLAN_FRAMES_MAX,
                            count);
    message_start (ret, command);
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size && !frames[i].data)
            return client_fail (self, ZPLAN_ERROR_ARGUMENT, "frames: one has no data");
        bytes += frames[i].size;
        if (frames[i].size > packet_of_peers.frame_bytes || bytes > packet_of_peers.bytes)
            return client_fail (self, ZPLAN_ERROR_ARGUMENT,
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

// libzmq lets go of a connection whose key was refused, and has no queue for it then: it is made
// anew, and whoever waits hears that there is no answer.
static bool put (struct zplan_client *self, const struct message *message)
{
    if (packet_send_message (self->socket, (struct span){0}, message))
        return true;
    if (self->count)
        return false;
    drop_socket (self);
    return connect_socket (self) == 0 &&
           packet_send_message (self->socket, (struct span){0}, message);
}

// Send it, and keep that it was.
static int send_request (struct zplan_client *self, const struct message *message,
                         zplan_reply_fn *fn, void *context)
{
    if (self->closing)
        return client_fail_as (self, ZPLAN_ERROR_CLOSED, "the client is being destroyed");
    if (self->count >= ZPLAN_REQUESTS_MAX)
        return client_fail (self, ZPLAN_ERROR_AGAIN, "%d requests are in progress",
                            ZPLAN_REQUESTS_MAX);
    struct request *request =
        request_new (self, message_frame (message, ZERO_FRAME_REQUEST_ID, NULL));
    if (!request)
        return client_fail_as (self, ZPLAN_ERROR_MEMORY, zplan_error_text (ZPLAN_ERROR_MEMORY));
    request->fn = fn;
    request->context = context;
    int error = ZPLAN_OK;
    if (!self->socket && connect_socket (self))
        error = client_fail (self, ZPLAN_ERROR_SOCKET, "no socket can be made: %s",
                             zmq_strerror (errno));
    else if (!put (self, message))
        error = client_fail (self, ZPLAN_ERROR_AGAIN, "the queue of the connection is full");
    if (error)
        free (request);
    else
        append (self, request);
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
    int error = lay_out (client, command, frames, count, id, &message);
    return error ? error : send_request (client, &message, fn, context);
}

// -- waiting for the answer

struct waiting {
    bool done;
    int error;
    struct zplan_reply *ret;
};

static void wait_is_over (void *context, int error, const struct zplan_reply *reply)
{
    struct waiting *waiting = context;
    waiting->done = true;
    waiting->error = error;
    if (reply)
        *waiting->ret = *reply;
}

static void interrupt (struct zplan_client *self, const struct waiting *waiting)
{
    struct request **at = &self->first;
    while (*at && (*at)->context != waiting)
        at = &(*at)->next;
    if (*at)
        give_up (self, at);
}

// The deadline bounds it, also against a station that floods: it is looked at after each message.
static void await (struct zplan_client *self, struct waiting *waiting)
{
    while (!waiting->done) {
        bool taken = take_message (self);
        if (!waiting->done)
            expire (self, !taken);
        if (waiting->done || taken)
            continue;
        update_readiness (self);
        if (readiness_wait (&self->ready, self->interrupt_fd, READINESS_NEVER) ==
            READINESS_INTERRUPT)
            interrupt (self, waiting);
    }
    update_readiness (self);
}

int zplan_client_call (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, struct zplan_reply *ret)
{
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (!ret)
        return client_fail_as (client, ZPLAN_ERROR_ARGUMENT, "ret: is missing");
    if (client->calling)
        return client_fail_as (client, ZPLAN_ERROR_NESTED, "a callback may send, but not wait");
    struct waiting waiting = {.ret = ret};
    int error = zplan_client_send (client, command, frames, count, wait_is_over, &waiting);
    if (error)
        return error;
    await (client, &waiting);
    if (waiting.error)
        client_fail (client, waiting.error, "no answer from %s within %" PRId64 " ms",
                     client->endpoint, client->timeout_ms);
    return waiting.error;
}

// -- the end

void zplan_client_destroy (struct zplan_client **client)
{
    if (!client || !*client || (*client)->calling)
        return;
    struct zplan_client *self = *client;
    int error = errno;
    self->closing = true;
    finish_all (self, ZPLAN_ERROR_CLOSED);
    packet_clear (&self->packet);
    drop_socket (self);
    readiness_close (&self->ready);
    wire_context_destroy (&self->context);
    explicit_bzero (&self->keys, sizeof self->keys);
    free (self->endpoint);
    free (self);
    *client = NULL;
    errno = error;
}
