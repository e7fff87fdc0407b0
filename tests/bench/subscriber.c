#include "target.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "ident.h"
#include "zplan_codes.h"

// Subscribed before the first broadcast: a PUB socket tells nobody who came too late.
static void await_connection (void *socket, void *monitor)
{
    int wait_ms = 10000;
    uint8_t event[6] = {0};
    zmq_setsockopt (monitor, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    for (;;) {
        zmq_msg_t part;
        zmq_msg_init (&part);
        if (zmq_msg_recv (&part, monitor, 0) < 0)
            fail ("no connection to the result socket");
        bool whole = zmq_msg_size (&part) == sizeof event;
        if (whole)
            memcpy (event, zmq_msg_data (&part), sizeof event);
        while (zmq_msg_more (&part) && zmq_msg_recv (&part, monitor, 0) >= 0)
            ;
        zmq_msg_close (&part);
        uint16_t number;
        memcpy (&number, event, sizeof number);
        if (whole && number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            break;
    }
    zmq_socket_monitor (socket, NULL, 0);
}

void subscriber_open (struct subscriber *self, const char *endpoint, struct book *book)
{
    enum { SETTLE_MS = 100 }; // until the subscription itself is there
    static const char news[] = "inproc://subscriber";
    // The socket is made unconnected, as its monitor must be there before.
    *self = (struct subscriber){.book = book, .seq = -1};
    self->socket = traffic_socket (ZMQ_SUB);
    zmq_setsockopt (self->socket, ZMQ_SUBSCRIBE, "", 0);
    zmq_socket_monitor (self->socket, news, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    void *monitor = traffic_connect (ZMQ_PAIR, news);
    if (zmq_connect (self->socket, endpoint))
        fail ("cannot connect to '%s': %s", endpoint, zmq_strerror (errno));
    await_connection (self->socket, monitor);
    zmq_close (monitor);
    zmq_poll (NULL, 0, SETTLE_MS);
    zmq_msg_init (&self->part);
}

void subscriber_close (struct subscriber *self)
{
    if (!self->socket)
        return;
    zmq_msg_close (&self->part);
    zmq_close (self->socket);
    self->socket = NULL;
}

// What stands behind `"name":` in the JSON; NULL = there is none. The station writes it so, and
// what is looked for stands near the end.
static const char *value_of (struct span json, const char *field)
{
    size_t size = strlen (field);
    for (size_t at = json.size; at > size; at--) {
        const uint8_t *from = json.data + at - size;
        if (*from == '"' && memcmp (from, field, size) == 0)
            return (const char *)from + size;
    }
    return NULL;
}

static void note_seq (struct subscriber *self, struct span json)
{
    const char *seq_text = value_of (json, "\"seq\":");
    const char *epoch = value_of (json, "\"epoch\":");
    const char *end = (const char *)json.data + json.size;
    if (!seq_text || !epoch)
        return;
    int64_t seq = 0;
    while (seq_text < end && *seq_text >= '0' && *seq_text <= '9')
        seq = seq * 10 + (*seq_text++ - '0');
    char word[sizeof self->epoch] = "";
    for (size_t i = 0; i + 1 < sizeof word && ++epoch < end && *epoch != '"'; i++)
        word[i] = *epoch;
    bool same = !*self->epoch || strcmp (word, self->epoch) == 0;
    if (self->seq >= 0 && same && seq != self->seq + 1) {
        self->gaps++;
        self->missed += seq > self->seq ? seq - self->seq - 1 : 0;
    }
    memcpy (self->epoch, word, sizeof word);
    self->seq = seq;
}

static void note_outcome (struct subscriber *self, uint8_t status, uint64_t plan_id)
{
    self->heard++;
    if (status != ZERO_STATUS_OK_ID) {
        self->errors += status >= ZERO_STATUS_ERROR_FLAG;
        return;
    }
    if (book_entry (self->book, plan_id)->done++)
        self->done_again++;
    else
        self->done++;
    self->last_us = clock_mono_us ();
}

// [title][description][plan id][JSON][frames...]
static void take_one (struct subscriber *self)
{
    uint8_t status = 0;
    uint64_t plan_id = 0;
    for (int i = 0; i < 3 && zmq_msg_more (&self->part); i++) {
        if (!traffic_recv (self->socket, &self->part))
            break;
        struct span frame = traffic_span (&self->part);
        if (i == 0 && frame.size > 1)
            status = frame.data[1];
        else if (i == 1 && !ident_parse (frame, &plan_id))
            fail ("a broadcast without a plan");
        else if (i == 2)
            note_seq (self, frame);
    }
    traffic_skip (self->socket, &self->part);
    note_outcome (self, status, plan_id);
}

int64_t subscriber_take (struct subscriber *self, int64_t most)
{
    int64_t taken = 0;
    for (; taken < most && traffic_recv (self->socket, &self->part); taken++)
        take_one (self);
    return taken;
}

void subscriber_result (const struct subscriber *self)
{
    result_integer ("broadcasts", self->heard);
    result_integer ("done", self->done);
    result_integer ("done_again", self->done_again);
    result_integer ("errors", self->errors);
    result_integer ("gaps", self->gaps);
    result_integer ("missed", self->missed);
}
