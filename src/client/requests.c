// The requests of a client that have no answer yet.
#include "client_private.h"

#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "json.h"

enum {
    LATE_TURNS_MAX = ZPLAN_REQUESTS_MAX, // enough to read an answer to each request
    COPIED_MAX = 64 << 20                // bytes
};

// -- the list

struct client_request *request_new (const struct zplan_client *self, struct span id)
{
    struct client_request *request = calloc (1, sizeof *request + id.size);
    if (!request)
        return NULL;
    int64_t now_us = clock_mono_us ();
    request->deadline_us = self->timeout_ms < (READINESS_NEVER - now_us) / 1000
                               ? now_us + self->timeout_ms * 1000
                               : READINESS_NEVER;
    request->at = REQUEST_WAITS;
    request->id_size = id.size;
    if (id.size)
        memcpy (request->id, id.data, id.size);
    return request;
}

void request_append (struct zplan_client *self, struct client_request *request)
{
    request->number = ++self->requests;
    TAILQ_INSERT_TAIL (&self->in_flight, request, place);
    self->count++;
    self->waiting += request->at == REQUEST_WAITS;
    if (request->deadline_us < self->deadline_us)
        self->deadline_us = request->deadline_us;
}

void request_unlink (struct zplan_client *self, struct client_request *request)
{
    TAILQ_REMOVE (&self->in_flight, request, place);
    self->count--;
    self->waiting -= request->at == REQUEST_WAITS;
}

void request_finish (struct zplan_client *self, struct client_request *request, int error,
                     const struct zplan_reply *reply)
{
    bool calling = self->calling;
    self->calling = true;
    if (request->fn)
        request->fn (request->context, error, reply);
    self->calling = calling;
    self->copied -= request->copied;
    free (request->copy);
    free (request);
}

void request_finish_all (struct zplan_client *self, int error)
{
    TAILQ_HEAD (, client_request) ended = TAILQ_HEAD_INITIALIZER (ended);
    TAILQ_CONCAT (&ended, &self->in_flight, place);
    self->count = self->waiting = 0;
    for (struct client_request *request; (request = TAILQ_FIRST (&ended));) {
        TAILQ_REMOVE (&ended, request, place);
        request_finish (self, request, error, NULL);
    }
}

// -- copies

bool request_copy (struct zplan_client *self, struct client_request *request,
                   const struct message *message)
{
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[MESSAGE_FRAMES_MAX];
    size_t count = message_layout (message, desc, frames), size = 0;
    for (size_t i = 0; i < count; i++)
        size += frames[i].size;
    request->copy = size <= COPIED_MAX - self->copied ? frames_try_copy (frames, count) : NULL;
    if (!request->copy)
        return false;
    request->copied = size;
    self->copied += size;
    return true;
}

// -- requests that end without an answer

// The connection stays open if the request has arrived: the station then answered one that was sent
// later on it.
void request_abandon (struct zplan_client *self, struct client_request *request)
{
    bool several = client_has_several_endpoints (self);
    bool arrived =
        request->at != REQUEST_WAITS && request->number < self->last_answered[request->at];
    if (!several && !arrived) {
        client_drop_connection (self, request);
        request_finish_all (self, ZPLAN_ERROR_NO_ANSWER);
        return;
    }
    request_unlink (self, request);
    if (!arrived && request->at != REQUEST_WAITS)
        client_drop_connection (self, request);
    request_finish (self, request, ZPLAN_ERROR_NO_ANSWER, NULL);
}

static struct client_request *find_expired_request (struct zplan_client *self, int64_t now_us)
{
    struct client_request *request = TAILQ_FIRST (&self->in_flight);
    while (request && request->deadline_us >= now_us)
        request = TAILQ_NEXT (request, place);
    return request;
}

// End all requests that timed out. Callbacks may send new ones, which do not expire yet. While
// messages are unread, as after a long pause of the program, answers may be among them: nothing
// expires then, for at most LATE_TURNS_MAX turns.
void request_expire_all (struct zplan_client *self, bool all_read)
{
    int64_t now_us = clock_mono_us ();
    if (self->deadline_us < now_us && !all_read && ++self->late_turns <= LATE_TURNS_MAX)
        return;
    self->late_turns = 0;
    if (self->deadline_us >= now_us)
        return;
    struct client_request *request;
    while ((request = find_expired_request (self, now_us)))
        request_abandon (self, request);
    self->deadline_us = READINESS_NEVER;
    request = TAILQ_FIRST (&self->in_flight);
    for (; request; request = TAILQ_NEXT (request, place))
        if (request->deadline_us < self->deadline_us)
            self->deadline_us = request->deadline_us;
}

// -- requests that are safe to repeat

// The admin commands that only read: those that the role observe allows, and whoami. A row with an
// `argument` matches only that first argument. The Python client has the same list.
static const struct {
    const char *command, *argument;
} read_commands[] = {
    {"list", NULL},   {"message", NULL}, {"next", NULL},  {"history", NULL}, {"result", NULL},
    {"team", NULL},   {"why", NULL},     {"stats", NULL}, {"health", NULL},  {"load", NULL},
    {"whoami", NULL}, {"flow", "list"},  {"flow", "get"}, {"flow", "runs"},  {"flow", "show"},
    {"flow", "log"},  {"kind", "list"},  {"kind", "get"}, {"limit", "list"}, {"station", "list"},
};

static bool is_read_command (const struct message *message)
{
    struct span command = message_frame (message, ZERO_FRAME_COMMAND, NULL);
    struct span argument = message_frame (message, ZERO_FRAME_ARG, NULL);
    for (size_t i = 0; i < sizeof read_commands / sizeof *read_commands; i++)
        if (span_is (command, read_commands[i].command) &&
            (!read_commands[i].argument || span_is (argument, read_commands[i].argument)))
            return true;
    return false;
}

static bool has_key (struct span plan)
{
    struct reason reason;
    json_t *fields = json_read_object (plan, &reason);
    bool keyed = json_is_string (json_object_get (fields, "key"));
    json_decref (fields);
    return keyed;
}

bool request_is_safe (const struct message *message)
{
    bool has_id;
    switch (message->desc.code) {
    case ZERO_BYTE_COMMAND_PING:
        return true;
    case ZERO_BYTE_COMMAND_NONE:
        return is_read_command (message);
    case ZERO_BYTE_COMMAND_PLAN:
        message_frame (message, ZERO_FRAME_GLOBAL_ID, &has_id);
        return has_id || has_key (message_frame (message, ZERO_FRAME_PLAN, NULL));
    }
    return false;
}
