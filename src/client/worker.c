// A worker's conversation with its station: JOIN until it is answered, then READY for each job that
// is asked for, PITPAT each second all the while.
//
// The connection is made anew when the station has left PITPAT or JOIN unanswered for three beats:
// what is still queued would otherwise reach a restarted station late. A station that was restarted
// does not know the worker, says so (NOT_FIND), and the worker joins again.
#include "zplan_worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "ident.h"
#include "json.h"
#include "keys.h"
#include "memory.h"
#include "packet.h"
#include "settings.h"
#include "socket.h"

enum {
    BEAT_US = 1000000,
    SILENCE_US = 3 * BEAT_US,
    LAST_WORDS_MS = 1000,
    NAME_SIZE_MAX = 64,
    PLAN_FRAME_MAX = 64 << 10, // a larger PLAN frame is not looked into
    MESSAGES_A_TURN = 64
};

_Static_assert((int)ZPLAN_FRAMES_MAX == (int)DESC_FRAMES_MAX, "one limit under two names");

struct zplan_worker {
    char *endpoint;
    struct keys keys;
    char name[NAME_SIZE_MAX + 1];
    void *context;            // of this worker alone
    void *socket;             // NULL when none could be made anew
    bool joined;              // the station said OK to JOIN
    bool credit;              // READY was said and no job came for it yet
    bool working;             // `job` is in hand
    int64_t beat_us;          // monotonic; when the next JOIN or PITPAT is due
    int64_t asked_us;         // when the oldest unanswered one was sent; 0 = none
    struct packet packets[2]; // one holds the job in hand, the other is for what comes
    struct packet *held;
    struct packet *spare;
    struct message message; // the job's, read; borrows from `held`
    json_t *plan;           // the job's PLAN frame; the title borrows from it
    struct zplan_job job;
    char refusal[REASON_MAX];
};

// -- the connection

static bool name_valid (const char *name)
{
    size_t size = strlen (name);
    return size >= 1 && size <= NAME_SIZE_MAX &&
           strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
               size;
}

static int connect_socket (struct zplan_worker *self)
{
    self->joined = false;
    self->credit = false;
    self->asked_us = 0;
    self->beat_us = clock_mono_us ();
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

static struct zplan_worker *worker_new (const char *endpoint, const char *name,
                                        const struct keys *keys)
{
    struct reason reason;
    if (!endpoint || !name || !name_valid (name) || endpoint_check (endpoint, &reason)) {
        errno = EINVAL;
        return NULL;
    }
    struct zplan_worker *self = memory_new (sizeof *self);
    self->endpoint = memory_text (endpoint);
    self->keys = *keys;
    memcpy (self->name, name, strlen (name) + 1);
    self->held = &self->packets[0];
    self->spare = &self->packets[1];
    self->context = wire_context_new ();
    if (!self->context || connect_socket (self)) {
        int error = errno;
        zplan_worker_destroy (&self);
        errno = error;
    }
    return self;
}

struct zplan_worker *zplan_worker_new (const char *endpoint, const char *name)
{
    return worker_new (endpoint, name, &(struct keys){0});
}

struct zplan_worker *zplan_worker_new_curve (const char *endpoint, const char *name,
                                             const struct zplan_curve *curve)
{
    struct keys keys = {0};
    return keys_take (&keys, curve) ? NULL : worker_new (endpoint, name, &keys);
}

static bool send_message (struct zplan_worker *self, const struct message *message)
{
    return self->socket && packet_send_message (self->socket, (struct span){0}, message);
}

static bool say (struct zplan_worker *self, uint8_t command)
{
    struct message message;
    message_start (&message, command);
    message_add (&message, ZERO_FRAME_ARG, span_text (self->name));
    return send_message (self, &message);
}

// The sign of life of this second, if it is due.
static void beat (struct zplan_worker *self)
{
    int64_t now_us = clock_mono_us ();
    if (now_us < self->beat_us)
        return;
    if (!self->socket || (self->asked_us && now_us - self->asked_us >= SILENCE_US)) {
        if (self->socket)
            zmq_close (self->socket);
        connect_socket (self);
    }
    say (self, self->joined ? ZERO_BYTE_COMMAND_HEART_PITPAT : ZERO_BYTE_COMMAND_HEART_JOIN);
    self->beat_us = now_us + BEAT_US;
    if (!self->asked_us)
        self->asked_us = now_us;
}

static bool wants_job (const struct zplan_worker *self)
{
    return self->joined && !self->credit && !self->working;
}

// Ask for a job, unless one was asked for or is in hand.
static void ask (struct zplan_worker *self)
{
    if (wants_job (self))
        self->credit = say (self, ZERO_BYTE_COMMAND_HEART_READY);
}

// -- the job

static void job_free (struct zplan_worker *self)
{
    if (!self->working)
        return;
    json_decref (self->plan);
    self->plan = NULL;
    packet_clear (self->held);
    self->working = false;
}

static const struct zplan_frame *find (const struct zplan_job *job, uint8_t type)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->frames[i].type == type)
            return &job->frames[i];
    return NULL;
}

// Decimal Unix seconds, or -1.
static int64_t read_seconds (struct span text)
{
    char digits[24];
    int64_t seconds;
    if (text.size == 0 || text.size >= sizeof digits)
        return -1;
    memcpy (digits, text.data, text.size);
    digits[text.size] = '\0';
    return strlen (digits) == text.size && number_parse (digits, &seconds) ? seconds : -1;
}

static void read_plan (struct zplan_worker *self)
{
    struct reason reason;
    struct span plan = message_frame (&self->message, ZERO_FRAME_PLAN, NULL);
    if (plan.size && plan.size <= PLAN_FRAME_MAX)
        self->plan = json_read_object (plan, &reason);
    const char *title = json_string_value (json_object_get (self->plan, "description"));
    self->job.title = title ? title : "";
    json_get_integer (self->plan, "deadline", 1, INT64_MAX, &self->job.deadline_s);
}

// Fill `job` from `message`. The plan proxy station appends its frames: the last one is its own.
static void read_job (struct zplan_worker *self)
{
    const struct message *message = &self->message;
    struct zplan_job *job = &self->job;
    *job = (struct zplan_job){.count = message->desc.count};
    for (size_t i = 0; i < job->count; i++)
        job->frames[i] = (struct zplan_frame){message->desc.types[i], message->frames[i].data,
                                              message->frames[i].size};
    mailbox_parse (message->sender, &job->plan_id);
    ident_parse (message_last_frame (message, ZERO_FRAME_LOCAL_ID, NULL), &job->exec_id);
    job->plan_time_s = read_seconds (message_last_frame (message, ZERO_FRAME_PLAN_TIME, NULL));
    job->command = find (job, ZERO_FRAME_COMMAND);
    job->context = find (job, ZERO_FRAME_CONTEXT);
    job->argument = find (job, ZERO_FRAME_ARG);
    if (!job->argument)
        job->argument = find (job, ZERO_FRAME_CONTENT);
    read_plan (self);
}

// -- what the station says

static void take_status (struct zplan_worker *self, const struct message *message)
{
    uint8_t status = message->desc.code;
    if (status == ZERO_STATUS_NOT_FIND_ID && self->joined) {
        self->joined = false;
        self->credit = false;
        self->beat_us = clock_mono_us (); // join at once
    } else if (status == ZERO_STATUS_OK_ID && !self->joined) {
        self->joined = true;
        self->refusal[0] = '\0';
    } else if (status >= ZERO_STATUS_ERROR_FLAG && !self->joined) {
        struct span text = message_frame (message, ZERO_FRAME_STATUS, NULL);
        snprintf (self->refusal, sizeof self->refusal, "%s", quoted (text));
    }
}

// Take one message; true if it was a job, which is now in hand.
static bool take_message (struct zplan_worker *self)
{
    struct message message;
    struct reason reason;
    struct packet *packet = self->spare;
    self->asked_us = 0;
    int rc = message_read (packet->frames, packet->count, &message, &reason);
    bool boxed = message.envelope == ENVELOPE_MAILBOX || message.envelope == ENVELOPE_CALLER;
    if (rc == 0 && !packet->fault && boxed && self->credit && !self->working) {
        self->spare = self->held;
        self->held = packet;
        self->message = message;
        self->working = true;
        self->credit = false;
        read_job (self);
        return true;
    }
    if (rc == 0 && !boxed)
        take_status (self, &message);
    packet_clear (packet);
    return false;
}

// Take what is there, up to a job.
static bool take_messages (struct zplan_worker *self)
{
    for (int i = 0; i < MESSAGES_A_TURN; i++) {
        if (!self->socket || !packet_recv (self->spare, self->socket, &packet_of_dispatches))
            return false;
        if (take_message (self))
            return true;
    }
    return false;
}

const struct zplan_job *zplan_worker_recv (struct zplan_worker *self, int64_t timeout_ms)
{
    int64_t start_us = clock_mono_us ();
    for (;;) {
        if (take_messages (self))
            return &self->job;
        beat (self);
        ask (self);
        int64_t wait_ms = zplan_worker_wait_ms (self);
        if (timeout_ms >= 0) {
            int64_t left_ms = timeout_ms - (clock_mono_us () - start_us) / 1000;
            errno = 0;
            if (left_ms <= 0)
                return NULL;
            wait_ms = left_ms < wait_ms ? left_ms : wait_ms;
        }
        zmq_pollitem_t item = {self->socket, 0, ZMQ_POLLIN, 0};
        if (zmq_poll (&item, self->socket ? 1 : 0, (long)wait_ms) < 0 && errno == EINTR)
            return NULL;
    }
}

// -- answers

// Send it from the job's mailbox, with the run's id.
static int send_from_job (struct zplan_worker *self, struct message *message)
{
    bool given;
    struct span exec_id = message_last_frame (&self->message, ZERO_FRAME_LOCAL_ID, &given);
    if (given)
        message_add (message, ZERO_FRAME_LOCAL_ID, exec_id);
    message->envelope = self->message.envelope;
    message->sender = self->message.sender;
    return send_message (self, message) ? 0 : -1;
}

int zplan_worker_waiting (struct zplan_worker *self)
{
    if (!self->working)
        return -1;
    struct message message;
    message_start (&message, ZERO_STATUS_WAITING_ID);
    return send_from_job (self, &message);
}

int zplan_worker_answer (struct zplan_worker *self, const struct zplan_answer *answer)
{
    if (!self->working)
        return -1;
    char text[REASON_MAX + 32];
    struct message message;
    message_start (&message, answer->status);
    if (answer->reason) {
        struct reason reason;
        reason_set (&reason, "%s", answer->reason); // cut at a character boundary
        snprintf (text, sizeof text, "%s: %s", status_word (answer->status), reason.text);
        message_add (&message, ZERO_FRAME_STATUS, span_text (text));
    }
    if (answer->content_type)
        message_add (&message, answer->content_type,
                     span_of (answer->content, answer->content_size));
    int rc = answer->content_size <= FRAME_BYTES_MAX ? send_from_job (self, &message) : -1;
    job_free (self);
    return rc;
}

// -- the rest

void zplan_worker_destroy (struct zplan_worker **worker)
{
    struct zplan_worker *self = *worker;
    if (!self)
        return;
    if (self->socket) {
        // Unless it joined nobody waits for a last word.
        if (self->joined && say (self, ZERO_BYTE_COMMAND_HEART_LEFT))
            wire_set (self->socket, ZMQ_LINGER, LAST_WORDS_MS);
        zmq_close (self->socket);
    }
    wire_context_destroy (&self->context); // waits for the last words
    job_free (self);
    free (self->endpoint);
    free (self);
    *worker = NULL;
}

bool zplan_worker_joined (const struct zplan_worker *self)
{
    return self->joined;
}

const char *zplan_worker_refusal (const struct zplan_worker *self)
{
    return self->refusal;
}

void *zplan_worker_socket (const struct zplan_worker *self)
{
    return self->socket;
}

int64_t zplan_worker_wait_ms (const struct zplan_worker *self)
{
    int64_t left_us = wants_job (self) ? 0 : self->beat_us - clock_mono_us ();
    return left_us > 0 ? (left_us + 999) / 1000 : 0;
}
