#include "producers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "zplan_codes.h"

enum { MARK_SIZE = 16, BUSY_US = 10000, READ_AT_ONCE = 256 };

static const uint8_t plan_description[] = {4,
                                           ZERO_BYTE_COMMAND_PLAN,
                                           ZERO_FRAME_PLAN,
                                           ZERO_FRAME_STATION_ID,
                                           ZERO_FRAME_COMMAND,
                                           ZERO_FRAME_ARG,
                                           ZERO_FRAME_END};
static const uint8_t ping_description[] = {0, ZERO_BYTE_COMMAND_PING, ZERO_FRAME_END};
static const char command[] = "bench";

// -- making

// Not to count the handshake, nor a station that is still starting.
static void await_station (void *socket, int64_t patience_s)
{
    int wait_ms = (int)(patience_s * 1000), forever = -1;
    uint8_t answer[8] = {0};
    zmq_setsockopt (socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    traffic_send (socket, ping_description, sizeof ping_description, 0);
    int size = zmq_recv (socket, answer, sizeof answer, 0);
    if (size < 2 || answer[1] != ZERO_STATUS_OK_ID)
        fail ("the station does not answer PING");
    zmq_setsockopt (socket, ZMQ_RCVTIMEO, &forever, sizeof forever);
}

void producers_open (struct producers *self, const struct options *options)
{
    *self = (struct producers){.count = (size_t)options->clients,
                               .window = options->window,
                               .station = options->station,
                               .argument_size = (size_t)options->argument};
    self->argument = memory_new (self->argument_size);
    memset (self->argument, 'x', self->argument_size);
    zmq_msg_init (&self->part);
    for (size_t i = 0; i < self->count; i++) {
        struct producer *producer = &self->at[i];
        producer->socket = traffic_connect (ZMQ_DEALER, options->connect);
        producer->sent_us = memory_new ((size_t)self->window * sizeof *producer->sent_us);
        await_station (producer->socket, options->patience_s);
    }
}

void producers_close (struct producers *self)
{
    for (size_t i = 0; i < self->count; i++) {
        zmq_close (self->at[i].socket);
        free (self->at[i].sent_us);
    }
    self->count = 0;
    zmq_msg_close (&self->part);
    samples_free (&self->acknowledgement);
}

void producers_plan_time (struct producers *self, int64_t due_s)
{
    snprintf (self->plan, sizeof self->plan,
              "{\"description\":\"bench\",\"plan_type\":1,\"plan_time\":%" PRId64
              ",\"no_keep\":true}",
              due_s);
}

void producers_plan_none (struct producers *self)
{
    snprintf (self->plan, sizeof self->plan, "{\"description\":\"bench\",\"plan_type\":0}");
}

void producers_want (struct producers *self, int64_t plans)
{
    self->wanted += plans;
    for (size_t i = 0; i < self->count; i++) {
        int64_t share = plans / (int64_t)(self->count - i);
        self->at[i].left += share;
        plans -= share;
    }
}

// -- sending

// The frames but the argument; the plan's is copied, as it may be another one later.
static void send_head (struct producers *self, void *socket)
{
    traffic_send (socket, plan_description, sizeof plan_description, ZMQ_SNDMORE);
    traffic_send (socket, self->plan, strlen (self->plan), ZMQ_SNDMORE);
    traffic_send (socket, self->station, strlen (self->station), ZMQ_SNDMORE);
    traffic_send (socket, command, sizeof command - 1, ZMQ_SNDMORE);
}

static void note_sent (struct producers *self, struct producer *producer, int64_t now)
{
    size_t newest = (producer->oldest + (size_t)producer->out) % (size_t)self->window;
    producer->sent_us[newest] = now;
    producer->out++;
    if (!self->sent++)
        self->first_us = now;
}

static void send_some (struct producers *self, struct producer *producer)
{
    int64_t room = self->window - producer->out;
    if (room > producer->left)
        room = producer->left;
    if (room <= 0)
        return;
    int64_t now = clock_mono_us ();
    if (now < producer->paused_until_us)
        return;
    for (; room > 0; room--) {
        send_head (self, producer->socket);
        traffic_send_const (producer->socket, self->argument, self->argument_size, 0);
        note_sent (self, producer, now);
        producer->left--;
    }
}

void producers_send_marked (struct producers *self, uint64_t mark)
{
    char text[MARK_SIZE + 1];
    struct producer *producer = &self->at[0];
    if (producer->out == self->window)
        fail ("more than %" PRId64 " plans wait for their acknowledgement", self->window);
    snprintf (text, sizeof text, "%016" PRIx64, mark);
    memcpy (self->argument, text, MARK_SIZE);
    self->wanted++;
    note_sent (self, producer, clock_mono_us ());
    send_head (self, producer->socket);
    traffic_send (producer->socket, self->argument, self->argument_size, 0);
}

bool argument_mark (struct span argument, uint64_t *ret)
{
    char text[MARK_SIZE + 1] = {0};
    char *end;
    if (argument.size < MARK_SIZE)
        return false;
    memcpy (text, argument.data, MARK_SIZE);
    *ret = strtoull (text, &end, 16);
    return *end == '\0';
}

// -- answers

// The time to wait that the words of a BUSY tell: a number and `ms` or `s`; else 10 ms.
static int64_t told_wait_us (const char *words)
{
    for (const char *at = words; *at; at++) {
        if (*at < '0' || *at > '9')
            continue;
        char *end;
        long long number = strtoll (at, &end, 10);
        const char *unit = *end == ' ' ? end + 1 : end;
        if (number > 0 && number <= 60000 && strncmp (unit, "ms", 2) == 0)
            return number * 1000;
        if (number > 0 && number <= 60 && *unit == 's' && (unit[1] < 'a' || unit[1] > 'z'))
            return number * 1000000;
        at = end - 1;
    }
    return BUSY_US;
}

// Acknowledgements come in the order of the plans.
static int64_t take_oldest (struct producers *self, struct producer *producer)
{
    if (producer->out == 0)
        fail ("an answer to nothing that was sent");
    int64_t sent_us = producer->sent_us[producer->oldest];
    producer->oldest = (producer->oldest + 1) % (size_t)self->window;
    producer->out--;
    return sent_us;
}

// A refusal overtakes what is written, and is for one of the plans that were sent last.
static void drop_newest (struct producer *producer)
{
    if (producer->out == 0)
        fail ("an answer to nothing that was sent");
    producer->out--;
}

static void note_refused (struct producers *self, struct producer *producer, uint8_t status,
                          struct span words, int64_t now)
{
    size_t size = words.size < REASON_MAX - 1 ? words.size : REASON_MAX - 1;
    if (size)
        memcpy (self->refusal, words.data, size);
    self->refusal[size] = '\0';
    drop_newest (producer);
    if (status != ZERO_STATUS_BUSY_ID) {
        self->refused[status]++;
        self->answered++;
        return;
    }
    self->busy_count++;
    producer->left++;
    producer->paused_until_us = now + told_wait_us (self->refusal);
}

static void note_accepted (struct producers *self, struct producer *producer, struct span id,
                           int64_t now)
{
    samples_add (&self->acknowledgement, now - take_oldest (self, producer));
    self->accepted_count++;
    self->answered++;
    if (self->accepted)
        self->accepted (self->owner, id);
}

// One answer: [description][frame]: GLOBAL_ID, or STATUS with the words of a refusal.
static void take_answer (struct producers *self, struct producer *producer, int64_t now)
{
    struct span description = traffic_span (&self->part);
    uint8_t status = description.size > 1 ? description.data[1] : 0;
    if (!zmq_msg_more (&self->part) || !traffic_recv (producer->socket, &self->part))
        fail ("an answer without frames, status %d", status);
    struct span frame = traffic_span (&self->part);
    if (status == ZERO_STATUS_PLAN_ID)
        note_accepted (self, producer, frame, now);
    else
        note_refused (self, producer, status, frame, now);
    self->last_us = now;
    traffic_skip (producer->socket, &self->part);
}

size_t producers_items (const struct producers *self, zmq_pollitem_t *items)
{
    for (size_t i = 0; i < self->count; i++)
        items[i] = (zmq_pollitem_t){.socket = self->at[i].socket, .events = ZMQ_POLLIN};
    return self->count;
}

int64_t producers_work (struct producers *self)
{
    int64_t again_us = INT64_MAX;
    for (size_t i = 0; i < self->count; i++) {
        struct producer *producer = &self->at[i];
        int reads = 0;
        while (reads < READ_AT_ONCE && traffic_recv (producer->socket, &self->part)) {
            take_answer (self, producer, clock_mono_us ());
            reads++;
        }
        send_some (self, producer);
        if (reads == READ_AT_ONCE)
            again_us = 0;
        else if (producer->left && producer->out < self->window &&
                 producer->paused_until_us < again_us)
            again_us = producer->paused_until_us;
    }
    return again_us;
}

bool producers_done (const struct producers *self)
{
    return self->answered == self->wanted;
}

void producers_result (struct producers *self)
{
    int64_t us = self->last_us - self->first_us;
    result_integer ("accepted", self->accepted_count);
    result_integer ("busy", self->busy_count);
    result_counts ("refused", self->refused, CODES);
    result_integer ("unanswered", self->wanted - self->answered);
    result_real ("plans_per_s", rate_of (self->accepted_count, us));
    result_real ("submit_s", (double)us / 1e6);
    result_samples ("acknowledged_ms", &self->acknowledgement);
    if (*self->refusal)
        fprintf (stderr, "zplan-bench: last refusal: %s\n", self->refusal);
}
