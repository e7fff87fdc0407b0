#include "target.h"

#include "clock.h"
#include "ident.h"
#include "zplan_codes.h"

static const uint8_t runing[] = {0, ZERO_STATUS_RUNING_ID, ZERO_FRAME_END};
static const uint8_t ok[] = {2, ZERO_STATUS_OK_ID, ZERO_FRAME_CONTENT, ZERO_FRAME_LOCAL_ID,
                             ZERO_FRAME_END};
static const char result_text[] = "done";

void target_open (struct target *self, const char *endpoint, struct book *book)
{
    *self = (struct target){.socket = traffic_bind (ZMQ_ROUTER, endpoint), .book = book};
    zmq_msg_init (&self->identity);
    zmq_msg_init (&self->part);
    zmq_msg_init (&self->argument);
}

void target_close (struct target *self)
{
    if (!self->socket)
        return;
    zmq_msg_close (&self->identity);
    zmq_msg_close (&self->part);
    zmq_msg_close (&self->argument);
    zmq_close (self->socket);
    self->socket = NULL;
}

// -- taking

static size_t keep (char *to, size_t room, struct span from)
{
    if (from.size > room)
        fail ("a dispatch with a name of %zu bytes", from.size);
    if (from.size)
        memcpy (to, from.data, from.size);
    return from.size;
}

static bool next_part (struct target *self, zmq_msg_t *part)
{
    return zmq_msg_more (&self->part) && traffic_recv (self->socket, part);
}

// The frames behind the description. The last LOCAL_ID is the station's.
static void take_frames (struct target *self, const uint8_t *types, size_t count)
{
    for (size_t i = 0; i < count && next_part (self, &self->part); i++) {
        if (types[i] == ZERO_FRAME_LOCAL_ID)
            self->local_id_size =
                keep (self->local_id, sizeof self->local_id, traffic_span (&self->part));
        else if (types[i] == ZERO_FRAME_ARG)
            // The copy shares the bytes of a long frame.
            zmq_msg_copy (&self->argument, &self->part);
    }
}

static void note_connection (struct target *self)
{
    struct span identity = traffic_span (&self->identity);
    for (size_t i = 0; i < self->connection_count; i++)
        if (span_equal (identity,
                        span_of (self->connections[i].identity, self->connections[i].size)))
            return;
    if (self->connection_count == CONNECTIONS_MAX ||
        identity.size > sizeof self->connections[0].identity)
        return;
    size_t at = self->connection_count++;
    memcpy (self->connections[at].identity, identity.data, identity.size);
    self->connections[at].size = identity.size;
    self->connection_wall_us[at] = clock_wall_us ();
}

static void note_run (struct target *self, struct run *run)
{
    struct book_entry *entry = book_entry (self->book, run->plan_id);
    if (!entry->runs++)
        self->plans++;
    else if (entry->exec_id == run->exec_id)
        self->repeated++;
    else
        self->doubled++;
    entry->exec_id = run->exec_id;
    run->entry = entry;
    if (!self->runs++) {
        self->first_us = run->at_us;
        self->first_wall_us = clock_wall_us ();
    }
    self->last_us = run->at_us;
    note_connection (self);
}

bool target_take (struct target *self, struct run *ret)
{
    uint8_t description[64];
    if (!traffic_recv (self->socket, &self->identity))
        return false;
    ret->at_us = clock_mono_us ();
    if (!traffic_recv (self->socket, &self->part))
        fail ("a dispatch without frames");
    self->mailbox_size = keep (self->mailbox, sizeof self->mailbox, traffic_span (&self->part));
    self->local_id_size = 0;
    struct span name = span_of (self->mailbox, self->mailbox_size);
    bool good = name.size > 1 && name.data[0] == '*' &&
                ident_parse (span_of (name.data + 1, name.size - 1), &ret->plan_id) &&
                next_part (self, &self->part);
    if (good) {
        struct span bytes = traffic_span (&self->part);
        good = bytes.size >= 2 && bytes.size <= sizeof description &&
               bytes.size >= bytes.data[0] + 2U && bytes.data[1] == ZERO_BYTE_COMMAND_PROXY;
        if (good) {
            memcpy (description, bytes.data, bytes.size);
            take_frames (self, description + 2, description[0]);
        }
    }
    traffic_skip (self->socket, &self->part);
    const uint8_t *local_id = (const uint8_t *)self->local_id;
    if (!good || !ident_parse (span_of (local_id, self->local_id_size), &ret->exec_id))
        fail ("a dispatch that is none");
    ret->argument = traffic_span (&self->argument);
    note_run (self, ret);
    return true;
}

// -- answering

static void send_head (struct target *self)
{
    struct span identity = traffic_span (&self->identity);
    traffic_send (self->socket, identity.data, identity.size, ZMQ_SNDMORE);
    traffic_send (self->socket, self->mailbox, self->mailbox_size, ZMQ_SNDMORE);
}

void target_answer (struct target *self)
{
    send_head (self);
    traffic_send (self->socket, runing, sizeof runing, 0);
    send_head (self);
    traffic_send (self->socket, ok, sizeof ok, ZMQ_SNDMORE);
    traffic_send (self->socket, result_text, sizeof result_text - 1, ZMQ_SNDMORE);
    traffic_send (self->socket, self->local_id, self->local_id_size, 0);
}

void target_result (const struct target *self)
{
    result_integer ("runs", self->runs);
    result_integer ("plans_run", self->plans);
    result_integer ("doubled", self->doubled);
    result_integer ("same_exec_id", self->repeated);
    result_list ("connections_first_run_us", self->connection_wall_us, self->connection_count);
}
