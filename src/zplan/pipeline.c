#include "pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "context.h"
#include "keyfile.h"
#include "keys.h"
#include "memory.h"
#include "options.h"
#include "packet.h"
#include "print.h"
#include "random.h"

enum {
    ID_SIZE = 48,
    BUSY_MS_MAX = 60000, // a station that says a longer time is asked again after this
    BUSY_TRIES = 10000
};

struct request {
    bool used;
    uint8_t command;
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // into `bytes`
    uint8_t *bytes;
    struct span id; // its REQUEST_ID, one of the frames
    void *item;
    int64_t again_us; // when it is sent again; 0 = it waits for its answer
    int busy;         // how often it was
};

struct pipeline {
    const struct cli *cli;
    void *socket;
    pipeline_fn *answered;
    void *owner;
    uint64_t session, made; // request ids that nobody else uses
    int64_t heard_us;       // when the station last said something, or was first asked after that
    size_t in_flight;
    struct request requests[PIPELINE_ROOM];
};

// -- the connection

struct pipeline *pipeline_open (const struct cli *cli, pipeline_fn *answered, void *owner,
                                int *ret_exit)
{
    struct keyfile file;
    struct keys keys = {0};
    struct reason reason;
    if (keyfile_read (&file, cli, ret_exit))
        return NULL;
    if (endpoint_check (cli->connect, &reason) || (file.given && keys_take (&keys, &file.curve))) {
        reason_set (&reason, "--connect: want tcp://HOST:PORT or ipc://PATH, got %s",
                    quoted (span_text (cli->connect)));
        *ret_exit = usage_error (cli->argv[0], &reason);
        return NULL;
    }
    struct pipeline *self = memory_new (sizeof *self);
    *self = (struct pipeline){
        .cli = cli, .answered = answered, .owner = owner, .session = random_anew ()};
    self->socket = wire_socket (ZMQ_DEALER);
    if (self->socket) {
        keys_put (&keys, self->socket);
        wire_heartbeat (self->socket);
        if (zmq_connect (self->socket, cli->connect) == 0)
            return self;
    }
    complain (cli->connect, span_text (strerror (errno)));
    *ret_exit = EXIT_REFUSED;
    pipeline_destroy (&self);
    return NULL;
}

static void forget (struct pipeline *self, struct request *request)
{
    free (request->bytes);
    *request = (struct request){0};
    self->in_flight--;
}

void pipeline_destroy (struct pipeline **pipeline)
{
    struct pipeline *self = *pipeline;
    if (!self)
        return;
    for (size_t i = 0; i < PIPELINE_ROOM; i++)
        if (self->requests[i].used)
            forget (self, &self->requests[i]);
    if (self->socket)
        zmq_close (self->socket);
    free (self);
    *pipeline = NULL;
}

// -- answers

static void put (struct pipeline *self, struct request *request)
{
    struct message message;
    message_start (&message, request->command);
    for (size_t i = 0; i < request->count; i++)
        message_add (&message, request->frames[i].type,
                     span_of (request->frames[i].data, request->frames[i].size));
    // A queue that is full empties, or the station is silent: then the time-out tells.
    request->again_us = packet_send_message (self->socket, (struct span){0}, &message)
                            ? 0
                            : clock_mono_us () + 10000;
}

static void tell (struct pipeline *self, struct request *request, int outcome,
                  const struct zplan_reply *reply)
{
    void *item = request->item;
    forget (self, request);
    self->answered (self->owner, item, outcome, reply);
}

// How long a busy station wants to be left alone; 0: it does not say, so it will not pass.
static int64_t busy_ms (const struct zplan_reply *reply)
{
    char text[VERDICT_WORDS_MAX];
    struct span words = call_frame (reply, ZERO_FRAME_STATUS);
    int64_t wait_ms = 0;
    if (reply->status != ZERO_STATUS_BUSY_ID)
        return 0;
    snprintf (text, sizeof text, "%.*s", (int)(words.size < 500 ? words.size : 500),
              words.data ? (const char *)words.data : "");
    const char *again = strstr (text, "try again in ");
    if (again && sscanf (again, "try again in %" SCNd64 " ms", &wait_ms) != 1)
        wait_ms = 0;
    return wait_ms > BUSY_MS_MAX ? BUSY_MS_MAX : wait_ms;
}

static void take_answer (struct pipeline *self, const struct message *message)
{
    struct span id = message_frame (message, ZERO_FRAME_REQUEST_ID, NULL);
    struct zplan_reply reply = {.status = message->desc.code, .count = message->desc.count};
    for (size_t i = 0; i < reply.count; i++)
        reply.frames[i] = (struct zplan_frame){message->desc.types[i], message->frames[i].data,
                                               message->frames[i].size};
    for (size_t i = 0; i < PIPELINE_ROOM; i++) {
        struct request *request = &self->requests[i];
        if (!request->used || request->again_us || !span_equal (request->id, id))
            continue;
        int64_t wait_ms = busy_ms (&reply);
        if (wait_ms > 0 && ++request->busy < BUSY_TRIES)
            request->again_us = clock_mono_us () + wait_ms * 1000;
        else
            tell (self, request, ZPLAN_OK, &reply);
        return;
    }
}

static void receive (struct pipeline *self)
{
    struct packet packet = {0};
    struct message message;
    struct reason reason;
    while (packet_recv (&packet, self->socket, &packet_of_stations)) {
        self->heard_us = clock_mono_us ();
        if (!packet.fault && message_read (packet.frames, packet.count, &message, &reason) == 0)
            take_answer (self, &message);
        packet_clear (&packet);
    }
}

static void tell_silence (struct pipeline *self)
{
    for (size_t i = 0; i < PIPELINE_ROOM; i++)
        if (self->requests[i].used)
            tell (self, &self->requests[i], ZPLAN_ERROR_NO_ANSWER, NULL);
}

// Send again what is to be sent again. Returns when the next one is.
static int64_t put_again (struct pipeline *self)
{
    int64_t now_us = clock_mono_us (), until_us = INT64_MAX;
    for (size_t i = 0; i < PIPELINE_ROOM; i++) {
        struct request *request = &self->requests[i];
        if (request->used && request->again_us && request->again_us <= now_us) {
            self->heard_us = request->busy ? now_us : self->heard_us; // it asked to be left alone
            put (self, request);
        }
        if (request->used && request->again_us && request->again_us < until_us)
            until_us = request->again_us;
    }
    return until_us;
}

// Wait for something to happen, and deal with it. False: the station is silent.
static bool turn (struct pipeline *self)
{
    int64_t timeout_us =
        self->cli->timeout_ms < INT64_MAX / 4000 ? self->cli->timeout_ms * 1000 : INT64_MAX / 4;
    int64_t wake_us = put_again (self);
    if (self->heard_us + timeout_us < wake_us)
        wake_us = self->heard_us + timeout_us;
    int64_t left_ms = (wake_us - clock_mono_us ()) / 1000 + 1;
    zmq_pollitem_t items[] = {{.socket = self->socket, .events = ZMQ_POLLIN}};
    left_ms = left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : left_ms;
    if (zmq_poll (items, 1, (long)left_ms) < 0 && errno != EINTR)
        return false;
    receive (self);
    if (clock_mono_us () < self->heard_us + timeout_us)
        return true;
    for (size_t i = 0; i < PIPELINE_ROOM; i++)
        if (self->requests[i].used && self->requests[i].busy && self->requests[i].again_us)
            return true; // it said so itself
    tell_silence (self);
    return false;
}

// -- requests

static bool is_in_flight (const struct pipeline *self, struct span id)
{
    for (size_t i = 0; i < PIPELINE_ROOM && id.size; i++)
        if (self->requests[i].used && span_equal (self->requests[i].id, id))
            return true;
    return false;
}

// A copy of the frames, and a REQUEST_ID if there is none.
static void fill (struct pipeline *self, struct request *request, const struct zplan_frame *frames,
                  size_t count)
{
    char own[ID_SIZE];
    size_t size = sizeof own, used = 0;
    for (size_t i = 0; i < count; i++)
        size += frames[i].size;
    request->bytes = memory_new (size);
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size)
            memcpy (request->bytes + used, frames[i].data, frames[i].size);
        request->frames[request->count++] =
            (struct zplan_frame){frames[i].type, request->bytes + used, frames[i].size};
        if (frames[i].type == ZERO_FRAME_REQUEST_ID)
            request->id = span_of (request->bytes + used, frames[i].size);
        used += frames[i].size;
    }
    if (request->id.data)
        return;
    snprintf (own, sizeof own, "%016" PRIx64 "-%" PRIu64, self->session, ++self->made);
    memcpy (request->bytes + used, own, strlen (own));
    request->id = span_of (request->bytes + used, strlen (own));
    request->frames[request->count++] =
        (struct zplan_frame){ZERO_FRAME_REQUEST_ID, request->id.data, request->id.size};
}

bool pipeline_send (struct pipeline *self, uint8_t command, const struct zplan_frame *frames,
                    size_t count, void *item)
{
    struct span id = {0};
    for (size_t i = 0; i < count; i++)
        if (frames[i].type == ZERO_FRAME_REQUEST_ID)
            id = span_of (frames[i].data, frames[i].size);
    while (self->in_flight == PIPELINE_ROOM || is_in_flight (self, id))
        if (!turn (self))
            return false;
    size_t at = 0;
    while (self->requests[at].used)
        at++;
    struct request *request = &self->requests[at];
    if (self->in_flight++ == 0)
        self->heard_us = clock_mono_us ();
    *request = (struct request){.used = true, .command = command, .item = item};
    fill (self, request, frames, count);
    put (self, request);
    return true;
}

bool pipeline_manage (struct pipeline *self, const char *word, const char *const *args,
                      size_t count, void *item)
{
    struct zplan_frame frames[1 + ZPLAN_MANAGE_ARGS_MAX] = {
        {ZERO_FRAME_COMMAND, word, strlen (word)}};
    for (size_t i = 0; i < count; i++)
        frames[1 + i] = (struct zplan_frame){ZERO_FRAME_ARG, args[i], strlen (args[i])};
    return pipeline_send (self, ZERO_BYTE_COMMAND_NONE, frames, 1 + count, item);
}

bool pipeline_drain (struct pipeline *self)
{
    while (self->in_flight > 0)
        if (!turn (self))
            return false;
    return true;
}
