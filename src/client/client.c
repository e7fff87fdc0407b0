// One request at a time over a DEALER. An answer is known by the REQUEST_ID that the request
// carried. A request without an answer takes its connection with it: a DEALER would keep it for a
// station that is away and deliver it long after the caller gave it up.
#include "zplan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "socket.h"
#include "keys.h"
#include "memory.h"
#include "packet.h"
#include "random.h"

enum { REQUEST_ID_SIZE = 48, TIMEOUT_MS = 5000 };

_Static_assert((int)ZPLAN_FRAMES_MAX == (int)DESC_FRAMES_MAX, "one limit under two names");

struct zplan_client {
    char *endpoint;
    struct keys keys;
    void *context;         // of this client alone
    void *socket;          // NULL when none could be made anew
    int64_t timeout_ms;    // of each call
    int interrupt_fd;      // readable = a call waits no longer; -1 = none
    uint64_t session;      // random; with `requests` it makes request ids that nobody else uses
    uint64_t requests;     // request ids made so far
    struct packet packet;  // the last reply
    struct message answer; // the same, read; borrows from packet
};

// -- the connection

static int connect_socket (struct zplan_client *self)
{
    self->socket = wire_socket_in (self->context, ZMQ_DEALER);
    if (!self->socket)
        return -1;
    keys_put (&self->keys, self->socket);
    wire_heartbeat (self->socket);
    if (zmq_connect (self->socket, self->endpoint) == 0)
        return 0;
    int error = errno;
    zmq_close (self->socket);
    self->socket = NULL;
    errno = error;
    return -1;
}

static void drop_socket (struct zplan_client *self)
{
    if (self->socket)
        zmq_close (self->socket);
    self->socket = NULL;
}

static struct zplan_client *client_new (const char *endpoint, const struct keys *keys)
{
    struct reason reason;
    if (!endpoint || endpoint_check (endpoint, &reason)) {
        errno = EINVAL;
        return NULL;
    }
    struct zplan_client *self = memory_new (sizeof *self);
    self->endpoint = memory_text (endpoint);
    self->keys = *keys;
    self->timeout_ms = TIMEOUT_MS;
    self->interrupt_fd = -1;
    self->session = random_anew ();
    self->context = wire_context_new ();
    if (!self->context || connect_socket (self)) {
        int error = errno;
        zplan_client_destroy (&self);
        errno = error;
    }
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

void zplan_client_destroy (struct zplan_client **client)
{
    struct zplan_client *self = *client;
    if (!self)
        return;
    packet_clear (&self->packet);
    drop_socket (self);
    wire_context_destroy (&self->context);
    free (self->endpoint);
    free (self);
    *client = NULL;
}

void zplan_client_set_timeout (struct zplan_client *client, int64_t timeout_ms)
{
    client->timeout_ms = timeout_ms > 0 ? timeout_ms : 0;
}

void zplan_client_set_interrupt (struct zplan_client *client, int fd)
{
    client->interrupt_fd = fd < 0 ? -1 : fd;
}

// -- a request and its answer

// Whether this answer is for the request. One without a REQUEST_ID can only be the station's
// refusal of a message that it could not read: nothing else was sent on this connection.
static bool is_answer (const struct message *answer, struct span request_id)
{
    bool found;
    struct span echo = message_frame (answer, ZERO_FRAME_REQUEST_ID, &found);
    return found ? span_equal (echo, request_id) : answer->desc.code >= ZERO_STATUS_ERROR_FLAG;
}

// Wait for the socket until the deadline. False: it has passed, or the wait was interrupted.
static bool wait_until (const struct zplan_client *self, int64_t deadline_us)
{
    zmq_pollitem_t items[] = {{.socket = self->socket, .events = ZMQ_POLLIN},
                              {.fd = self->interrupt_fd, .events = ZMQ_POLLIN}};
    int count = self->interrupt_fd < 0 ? 1 : 2;
    for (;;) {
        int64_t left_us = deadline_us - clock_mono_us ();
        int64_t left_ms = left_us > 0 ? (left_us + 999) / 1000 : 0;
        int rc = zmq_poll (items, count, left_ms < INT_MAX ? (long)left_ms : INT_MAX);
        if (rc > 0)
            return items[0].revents != 0;
        if (left_ms == 0 || (rc < 0 && errno != EINTR))
            return false;
    }
}

// Receive until the answer is there. The deadline bounds it, also against a station that floods.
static bool await_answer (struct zplan_client *self, struct span request_id, int64_t deadline_us)
{
    while (wait_until (self, deadline_us)) {
        packet_clear (&self->packet);
        if (!packet_recv (&self->packet, self->socket, &packet_of_stations))
            continue;
        struct reason reason;
        if (!self->packet.fault &&
            message_read (self->packet.frames, self->packet.count, &self->answer, &reason) == 0 &&
            is_answer (&self->answer, request_id))
            return true;
        if (clock_mono_us () > deadline_us)
            return false;
    }
    return false;
}

static int64_t deadline_after (int64_t timeout_ms)
{
    int64_t now = clock_mono_us ();
    return timeout_ms < (INT64_MAX - now) / 1000 ? now + timeout_ms * 1000 : INT64_MAX;
}

static void fill_frames (const struct message *message, struct zplan_frame *ret)
{
    for (size_t i = 0; i < message->desc.count; i++)
        ret[i] = (struct zplan_frame){message->desc.types[i], message->frames[i].data,
                                      message->frames[i].size};
}

static int exchange (struct zplan_client *self, const struct message *request,
                     struct zplan_reply *ret)
{
    struct span request_id = message_frame (request, ZERO_FRAME_REQUEST_ID, NULL);
    int64_t deadline_us = deadline_after (self->timeout_ms);
    if (!self->socket && connect_socket (self))
        return ZPLAN_ERROR_ARGUMENT;
    bool answered = packet_send_message (self->socket, (struct span){0}, request) &&
                    await_answer (self, request_id, deadline_us);
    if (!answered) {
        drop_socket (self);
        return ZPLAN_ERROR_NO_ANSWER;
    }
    ret->status = self->answer.desc.code;
    ret->count = self->answer.desc.count;
    fill_frames (&self->answer, ret->frames);
    return ZPLAN_OK;
}

int zplan_client_call (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, struct zplan_reply *ret)
{
    struct message request;
    message_start (&request, command);
    bool has_id = false;
    for (size_t i = 0; i < count && i < ZPLAN_FRAMES_MAX; i++) {
        message_add (&request, frames[i].type, span_of (frames[i].data, frames[i].size));
        has_id = has_id || frames[i].type == ZERO_FRAME_REQUEST_ID;
    }
    if (count + (has_id ? 0 : 1) > ZPLAN_FRAMES_MAX)
        return ZPLAN_ERROR_ARGUMENT;

    char request_id[REQUEST_ID_SIZE];
    if (!has_id) {
        snprintf (request_id, sizeof request_id, "%016" PRIx64 "-%" PRIu64, client->session,
                  ++client->requests);
        message_add (&request, ZERO_FRAME_REQUEST_ID, span_text (request_id));
    }
    return exchange (client, &request, ret);
}

const void *zplan_reply_frame (const struct zplan_reply *reply, uint8_t type, size_t *ret_size)
{
    for (size_t i = 0; i < reply->count; i++) {
        if (reply->frames[i].type == type) {
            *ret_size = reply->frames[i].size;
            return reply->frames[i].data;
        }
    }
    return NULL;
}

// -- the typed calls

static struct zplan_frame text_frame (uint8_t type, const char *text)
{
    return (struct zplan_frame){type, text, strlen (text)};
}

int zplan_client_submit (struct zplan_client *client, const struct zplan_submission *submission,
                         struct zplan_reply *ret)
{
    enum { OWN_FRAMES = 4 }; // PLAN, STATION_ID, GLOBAL_ID, REQUEST_ID
    struct zplan_frame frames[ZPLAN_FRAMES_MAX];
    char request_id[REQUEST_ID_SIZE];
    size_t count = 0;
    if (!submission->station || !submission->plan ||
        submission->count > ZPLAN_FRAMES_MAX - OWN_FRAMES)
        return ZPLAN_ERROR_ARGUMENT;

    frames[count++] = text_frame (ZERO_FRAME_PLAN, submission->plan);
    frames[count++] = text_frame (ZERO_FRAME_STATION_ID, submission->station);
    if (submission->id)
        frames[count++] = text_frame (ZERO_FRAME_GLOBAL_ID, submission->id);
    bool has_request_id = false;
    for (size_t i = 0; i < submission->count; i++) {
        has_request_id = has_request_id || submission->frames[i].type == ZERO_FRAME_REQUEST_ID;
        frames[count++] = submission->frames[i];
    }
    if (submission->id && !has_request_id) {
        snprintf (request_id, sizeof request_id, "plan-%.32s", submission->id);
        frames[count++] = text_frame (ZERO_FRAME_REQUEST_ID, request_id);
    }
    return zplan_client_call (client, ZERO_BYTE_COMMAND_PLAN, frames, count, ret);
}

int zplan_client_manage (struct zplan_client *client, const char *word, const char *const *args,
                         size_t count, struct zplan_reply *ret)
{
    struct zplan_frame frames[1 + ZPLAN_MANAGE_ARGS_MAX];
    if (!word || count > ZPLAN_MANAGE_ARGS_MAX)
        return ZPLAN_ERROR_ARGUMENT;
    frames[0] = text_frame (ZERO_FRAME_COMMAND, word);
    for (size_t i = 0; i < count; i++) {
        if (!args[i])
            return ZPLAN_ERROR_ARGUMENT;
        frames[1 + i] = text_frame (ZERO_FRAME_ARG, args[i]);
    }
    return zplan_client_call (client, ZERO_BYTE_COMMAND_NONE, frames, 1 + count, ret);
}

int zplan_client_ping (struct zplan_client *client, struct zplan_reply *ret)
{
    return zplan_client_call (client, ZERO_BYTE_COMMAND_PING, NULL, 0, ret);
}
