// libzplan sends the requests and matches their answers. This adds a limit on requests in flight,
// and keeps copies of them, because a request that was answered with BUSY is resent.
//
// A request that is queued after hundreds of others may take long although the station responds. So
// the timeout counts from the last answer, and not, as in libzplan, from the sending of a request.
#include "pipeline.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "memory.h"

enum {
    BUSY_MS_MAX = 60000, // maximum delay before resending to a busy station
    BUSY_TRIES = 10000,
    AWAY_MS = 500,        // delay before resending while Redis is away
    AWAY_TRIES = 6,       // number of tries while Redis is away
    QUEUE_FULL_US = 10000 // delay before resending if the connection's queue is full
};

struct pipeline_request {
    struct pipeline *pipeline; // NULL: this is free
    bool in_flight;            // the client has it; otherwise it must be sent
    int64_t due_us;            // do not send it before this time
    uint64_t number;           // increasing, in the order of pipeline_send
    uint8_t command;
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // into `bytes`
    uint8_t *bytes;
    struct span id; // the REQUEST_ID, one of the frames; empty: the client makes one
    void *item;
    int busy; // how often the station answered that it is busy
    int away; // how often the station answered that Redis is away
};

struct pipeline {
    struct zplan_client *client; // NULL: the station was unresponsive
    pipeline_fn *answered;
    void *owner;
    int64_t timeout_us;
    int64_t answered_us; // time of the last answer; later if a busy station asked for a delay
    uint64_t send_count; // number of requests so far
    size_t in_flight;
    struct pipeline_request requests[PIPELINE_ROOM];
};

struct pipeline *pipeline_open (const struct cli *cli, pipeline_fn *answered, void *owner,
                                int *ret_exit)
{
    struct zplan_client *client = call_open (cli, ret_exit);
    if (!client)
        return NULL;
    struct pipeline *self = memory_new (sizeof *self);
    *self = (struct pipeline){.client = client, .answered = answered, .owner = owner};
    self->timeout_us = cli->timeout_ms < INT64_MAX / 4000 ? cli->timeout_ms * 1000 : INT64_MAX / 4;
    zplan_client_set_timeout (client, INT64_MAX);
    return self;
}

static void free_request (struct pipeline_request *request)
{
    request->pipeline->in_flight--;
    free (request->bytes);
    *request = (struct pipeline_request){0};
}

void pipeline_destroy (struct pipeline **pipeline)
{
    struct pipeline *self = *pipeline;
    if (!self)
        return;
    zplan_client_destroy (&self->client);
    for (size_t i = 0; i < PIPELINE_ROOM; i++)
        if (self->requests[i].pipeline)
            free_request (&self->requests[i]);
    free (self);
    *pipeline = NULL;
}

// -- answers

static void finish_request (struct pipeline_request *request, int outcome,
                            const struct zplan_reply *reply)
{
    struct pipeline *self = request->pipeline;
    void *item = request->item;
    free_request (request);
    self->answered (self->owner, item, outcome, reply);
}

static void note_answer (struct pipeline *self, int64_t at_us)
{
    if (self->answered_us < at_us)
        self->answered_us = at_us;
}

// The delay that a busy station asks for; 0: it gives none, so the condition is permanent.
static int64_t busy_delay_ms (const struct zplan_reply *reply)
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

// Whether the request may be resent although it may already have been executed. A plan without an
// id, or outcomes, might then be stored twice.
static bool may_resend (const struct pipeline_request *request)
{
    const struct zplan_frame *frames = request->frames;
    if (request->command == ZERO_BYTE_COMMAND_NONE)
        return request->count < 2 ||
               !span_is (span_of (frames[0].data, frames[0].size), "restore") ||
               !span_is (span_of (frames[1].data, frames[1].size), "history");
    bool repeatable = request->command != ZERO_BYTE_COMMAND_PLAN;
    for (size_t i = 0; i < request->count; i++)
        repeatable = repeatable || request->frames[i].type == ZERO_FRAME_GLOBAL_ID;
    return repeatable;
}

// Count this reply, and return the delay before the request is resent; 0: the reply is final.
static int64_t next_resend_delay_ms (struct pipeline_request *request,
                                     const struct zplan_reply *reply)
{
    int64_t wait_ms = busy_delay_ms (reply);
    if (wait_ms > 0)
        return ++request->busy < BUSY_TRIES ? wait_ms : 0;
    bool is_away = reply->status == ZERO_STATUS_NET_ERROR_ID && may_resend (request);
    return is_away && ++request->away < AWAY_TRIES ? AWAY_MS : 0;
}

static void on_reply (void *context, int error, const struct zplan_reply *reply)
{
    struct pipeline_request *request = context;
    int64_t now_us = clock_mono_us ();
    if (error == ZPLAN_ERROR_CLOSED)
        return; // pipeline_destroy or end_all_requests handles all requests
    note_answer (request->pipeline, now_us);
    int64_t wait_ms = error ? 0 : next_resend_delay_ms (request, reply);
    if (wait_ms <= 0) {
        finish_request (request, error, reply);
        return;
    }
    request->in_flight = false;
    request->due_us = now_us + wait_ms * 1000;
    note_answer (request->pipeline, request->due_us);
}

static void end_all_requests (struct pipeline *self)
{
    zplan_client_destroy (&self->client);
    for (size_t i = 0; i < PIPELINE_ROOM; i++)
        if (self->requests[i].pipeline)
            finish_request (&self->requests[i], ZPLAN_ERROR_NO_ANSWER, NULL);
}

// -- pending requests

// Whether an earlier request with the same REQUEST_ID is not answered yet: this one must wait, as
// the answers could not be distinguished.
static bool must_wait_for_same_id (const struct pipeline *self,
                                   const struct pipeline_request *request)
{
    for (size_t i = 0; i < PIPELINE_ROOM && request->id.size; i++)
        if (self->requests[i].pipeline && self->requests[i].number < request->number &&
            span_equal (self->requests[i].id, request->id))
            return true;
    return false;
}

static bool any_in_flight (const struct pipeline *self)
{
    for (size_t i = 0; i < PIPELINE_ROOM; i++)
        if (self->requests[i].in_flight)
            return true;
    return false;
}

static void request_send (struct pipeline *self, struct pipeline_request *request)
{
    int error = zplan_client_send (self->client, request->command, request->frames, request->count,
                                   on_reply, request);
    // With several endpoints the client keeps copies of requests in flight, up to a limit.
    bool full = error == ZPLAN_ERROR_MEMORY && any_in_flight (self);
    if (error == ZPLAN_ERROR_AGAIN || full)
        request->due_us = clock_mono_us () + QUEUE_FULL_US;
    else if (error)
        finish_request (request, error, NULL);
    else
        request->in_flight = true;
}

static void send_due_requests (struct pipeline *self)
{
    int64_t now_us = clock_mono_us ();
    for (size_t i = 0; i < PIPELINE_ROOM; i++) {
        struct pipeline_request *request = &self->requests[i];
        if (request->pipeline && !request->in_flight && request->due_us <= now_us &&
            !must_wait_for_same_id (self, request))
            request_send (self, request);
    }
}

static int64_t next_due_us (const struct pipeline *self)
{
    int64_t next_us = INT64_MAX;
    for (size_t i = 0; i < PIPELINE_ROOM; i++) {
        const struct pipeline_request *request = &self->requests[i];
        if (request->pipeline && !request->in_flight && request->due_us < next_us &&
            !must_wait_for_same_id (self, request))
            next_us = request->due_us;
    }
    return next_us;
}

// Wait for an event, and process it. False: the station is unresponsive.
static bool pipeline_process_event (struct pipeline *self)
{
    send_due_requests (self);
    int64_t deadline_us = self->answered_us + self->timeout_us, wake_us = next_due_us (self);
    int64_t left_ms =
        ((wake_us < deadline_us ? wake_us : deadline_us) - clock_mono_us ()) / 1000 + 1;
    struct pollfd item = {.fd = zplan_client_fd (self->client), .events = POLLIN};
    if (poll (&item, 1, left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms) > 0)
        zplan_client_process (self->client);
    else if (clock_mono_us () >= deadline_us)
        end_all_requests (self);
    return self->client;
}

// -- requests

static void copy_frames (struct pipeline_request *self, const struct zplan_frame *frames,
                         size_t count)
{
    size_t size = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        size += frames[i].size;
    self->bytes = memory_new (size);
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size)
            memcpy (self->bytes + used, frames[i].data, frames[i].size);
        self->frames[self->count++] =
            (struct zplan_frame){frames[i].type, self->bytes + used, frames[i].size};
        if (frames[i].type == ZERO_FRAME_REQUEST_ID)
            self->id = span_of (self->bytes + used, frames[i].size);
        used += frames[i].size;
    }
}

bool pipeline_send (struct pipeline *self, uint8_t command, const struct zplan_frame *frames,
                    size_t count, void *item)
{
    while (self->client && self->in_flight == PIPELINE_ROOM)
        pipeline_process_event (self);
    if (!self->client)
        return false;
    struct pipeline_request *request = self->requests;
    while (request->pipeline)
        request++;
    if (self->in_flight++ == 0)
        note_answer (self, clock_mono_us ());
    *request = (struct pipeline_request){
        .pipeline = self, .number = ++self->send_count, .command = command, .item = item};
    copy_frames (request, frames, count);
    if (!must_wait_for_same_id (self, request))
        request_send (self, request);
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
    while (self->client && self->in_flight > 0)
        pipeline_process_event (self);
    return self->client;
}
