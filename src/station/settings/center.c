// One request is in flight at a time, on its own DEALER. If it gets no answer the socket is closed,
// so that a late answer is never taken for the answer to the next request. Between two requests no
// answers are read, and events only up to a bound: further messages of the center wait in bounded
// queues, then in the center. Requests change nothing, so libzmq may reconnect and send one late.
#include "center.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "codes.h"
#include "context.h"
#include "log.h"
#include "memory.h"
#include "message.h"
#include "packet.h"
#include "process.h"
#include "settings.h"

enum {
    DEFAULT_PORT = 8000,
    ASK_MS = 10000,       // between requests without events
    EVENT_MS = 200,       // delay of a request after an event, as events come in bursts
    CHANGES_MAX = 10,     // requests after events; one more is granted every ASK_MS
    ANSWER_MS = 3000,     // connecting included
    RETRY_FIRST_MS = 500, // after a request without a good answer; doubles
    RETRY_LAST_MS = 10000,
    RECONNECT_LAST_MS = 2000,
    ANSWERS_QUEUED = 4,
    EVENTS_QUEUED = 16,
    EVENTS_TURN = 256,      // read in a row
    EVENTS_READ = 4096,     // between two requests; more wait until the next
    EVENT_BYTES = 256 << 10 // per frame: an event holds at most the state of one station
};

struct center {
    struct center_settings settings;
    struct center_state state; // `known`: `list` is valid
    struct reactor *reactor;
    center_found_fn *found;
    void *owner;

    void *requests;       // DEALER; NULL between a failed request and the next
    void *events;         // SUB
    bool asking;          // a request is in flight, and `requests` is read
    bool list_may_differ; // a relevant event came since the last request
    int events_read;      // since the last request; at most EVENTS_READ
    struct watch answers, event_watch;
    struct timer timer; // for the answer's timeout or the next request
    int64_t wake_us;    // when `timer` fires, monotonic
    int64_t retry_ms;   // delay after the next failed request
    int changes;        // credit of requests that follow an event at once
    int64_t granted_us; // when credit was last added

    struct found_list list, next; // the last good answer, and the one being read
};

// -- settings

static int parse_address (struct span address, struct center_settings *ret, struct reason *reason)
{
    char text[CENTER_HOST_MAX + 8];
    int64_t port = DEFAULT_PORT;
    if (address.size >= sizeof text)
        return reason_set (reason, "center: the host is longer than %d", CENTER_HOST_MAX);
    memcpy (text, address.data, address.size);
    text[address.size] = '\0';
    char *colon = strrchr (text, ':');
    if (colon && !strchr (colon, ']')) { // not one inside [::1]
        *colon = '\0';
        if (!number_parse (colon + 1, &port))
            port = 0;
    }
    if (port < 1 || port > 65534)
        return reason_set (reason, "center: want a port 1..65534");
    if (!*text || strlen (text) > CENTER_HOST_MAX)
        return reason_set (reason, "center: want a host of 1..%d bytes", CENTER_HOST_MAX);
    snprintf (ret->host, sizeof ret->host, "%s", text);
    ret->port = (int)port;
    return 0;
}

static int parse_key (const char *option, struct center_settings *ret, struct reason *reason)
{
    const char *key = option + strlen ("key=");
    if (strncmp (option, "key=", 4) != 0 || strchr (option, ','))
        return reason_set (reason, "center: want one option, key=TEXT without a comma");
    if (!*key || strlen (key) > CENTER_KEY_MAX)
        return reason_set (reason, "center: key: want 1..%d bytes", CENTER_KEY_MAX);
    snprintf (ret->key, sizeof ret->key, "%s", key);
    return 0;
}

int center_settings_parse (const char *text, struct center_settings *ret, struct reason *reason)
{
    static const char transport[] = "tcp://";
    const char *comma = strchr (text, ',');
    size_t size = comma ? (size_t)(comma - text) : strlen (text);
    struct center_settings parsed = {.key = ""};
    if (strncmp (text, transport, sizeof transport - 1) != 0)
        return reason_set (reason, "center: want tcp://HOST[:PORT], got %s",
                           quoted (span_of (text, size)));
    struct span address = span_of (text + sizeof transport - 1, size - (sizeof transport - 1));
    if (parse_address (address, &parsed, reason) ||
        (comma && parse_key (comma + 1, &parsed, reason)))
        return -1;
    *ret = parsed;
    return 0;
}

// -- answers and events of the center

static void close_socket (void **socket)
{
    if (*socket)
        zmq_close (*socket);
    *socket = NULL;
}

static void set_center_timer (struct center *self, int64_t delay_ms)
{
    timer_set (&self->timer, self->reactor, delay_ms);
    self->wake_us = clock_mono_us () + delay_ms * 1000;
}

static void end_request (struct center *self)
{
    watch_end (&self->answers);
    self->asking = false;
}

static void fail_request (struct center *self, const char *why)
{
    end_request (self);
    close_socket (&self->requests);
    if (strcmp (self->state.trouble, why) != 0)
        log_event (LEVEL_WARN, "center.lost", "endpoint=%s reason=%s", self->state.endpoint,
                   quoted (span_text (why)));
    snprintf (self->state.trouble, sizeof self->state.trouble, "%s", why);
    set_center_timer (self, self->retry_ms);
    self->retry_ms = self->retry_ms * 2 < RETRY_LAST_MS ? self->retry_ms * 2 : RETRY_LAST_MS;
}

static void accept_list (struct center *self)
{
    bool changed = !self->state.known || !center_list_same (&self->list, &self->next);
    if (changed || self->state.trouble[0])
        log_event (LEVEL_INFO, "center.found", "endpoint=%s stations=%zu left_out=%zu",
                   self->state.endpoint, self->next.count, self->next.left_out);
    self->state.known = true;
    self->state.trouble[0] = '\0';
    self->retry_ms = RETRY_FIRST_MS;
    if (changed) {
        self->list = self->next;
        self->changes -= self->changes > 0;
    }
    set_center_timer (self, self->list_may_differ && self->changes ? EVENT_MS : ASK_MS);
    self->found (self->owner, self->list.at, self->list.count);
}

static bool on_answer (void *owner)
{
    struct center *self = owner;
    struct packet packet;
    struct reason reason;
    if (!packet_recv (&packet, self->requests, &packet_of_peers))
        return false;
    int rc = -1;
    if (packet.fault)
        reason_set (&reason, "its answer is too large");
    else
        rc = center_list_read (packet.frames, packet.count, self->settings.host, &self->next,
                               &reason);
    packet_clear (&packet);
    end_request (self);
    if (rc)
        fail_request (self, reason.text);
    else
        accept_list (self);
    return false;
}

static bool read_event (struct center *self)
{
    struct packet packet;
    if (self->events_read >= EVENTS_READ || !packet_recv (&packet, self->events, &packet_of_peers))
        return false;
    self->events_read++;
    if (packet.fault || center_event_matters (packet.frames, packet.count))
        self->list_may_differ = true;
    packet_clear (&packet);
    return true;
}

static bool on_event (void *owner)
{
    struct center *self = owner;
    int count = 0;
    while (count < EVENTS_TURN && read_event (self))
        count++;
    if (self->events_read >= EVENTS_READ) {
        watch_end (&self->event_watch);
        self->list_may_differ = true; // the unread events may matter
    }
    if (self->list_may_differ && self->changes && !self->asking &&
        self->wake_us > clock_mono_us () + EVENT_MS * 1000)
        set_center_timer (self, EVENT_MS);
    return count == EVENTS_TURN;
}

// -- sockets

static void *open_socket (const struct center *self, int type, int port, int queued)
{
    char endpoint[sizeof self->state.endpoint];
    char identity[32];
    void *socket = wire_socket (type);
    if (!socket)
        return NULL;
    // The center reads the identity as a C string and checks its first byte. It ignores a
    // connection whose identity it still knows, so each connection gets a new one.
    int size = snprintf (identity, sizeof identity, "+zplan-%016" PRIx64, process_random ());
    snprintf (endpoint, sizeof endpoint, "tcp://%s:%d", self->settings.host, port);
    wire_set (socket, ZMQ_RCVHWM, queued);
    wire_set (socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_LAST_MS);
    if (type == ZMQ_SUB) {
        wire_limit (socket, EVENT_BYTES);
        zmq_setsockopt (socket, ZMQ_SUBSCRIBE, "", 0);
    } else {
        wire_limit (socket, packet_of_peers.bytes);
        zmq_setsockopt (socket, ZMQ_IDENTITY, identity, (size_t)size);
    }
    if (zmq_connect (socket, endpoint)) {
        int why = errno;
        close_socket (&socket);
        errno = why;
    }
    return socket;
}

// Open the sockets that are not open. False: no descriptors left, or an invalid endpoint.
static bool open_sockets (struct center *self)
{
    if (!self->events) {
        self->events = open_socket (self, ZMQ_SUB, self->settings.port + 1, EVENTS_QUEUED);
        if (self->events)
            watch_start (&self->event_watch, self->reactor, self->events, on_event, self);
    }
    if (!self->requests)
        self->requests = open_socket (self, ZMQ_DEALER, self->settings.port, ANSWERS_QUEUED);
    return self->events && self->requests;
}

// -- requests

static bool send_list_request (struct center *self)
{
    struct message question;
    message_start (&question, ZERO_BYTE_COMMAND_NONE);
    message_add (&question, ZERO_FRAME_COMMAND, span_text ("host"));
    message_add (&question, ZERO_FRAME_ARG, span_text ("*"));
    if (self->settings.key[0]) // must be the last frame
        message_add (&question, ZERO_FRAME_SERVICE_KEY, span_text (self->settings.key));
    return packet_send_message (self->requests, (struct span){0}, &question);
}

// Add credit for requests after events. Each change costs the caller sockets, so a center that
// changes all the time is asked rarely.
static void add_request_credit (struct center *self)
{
    int64_t now_us = clock_mono_us ();
    int64_t more = (now_us - self->granted_us) / (ASK_MS * 1000);
    if (more > 0)
        self->granted_us = now_us;
    self->changes = self->changes + more < CHANGES_MAX ? self->changes + (int)more : CHANGES_MAX;
}

static void request_list (struct center *self)
{
    add_request_credit (self);
    if (!open_sockets (self)) {
        fail_request (self, zmq_strerror (zmq_errno ()));
        return;
    }
    if (self->events_read >= EVENTS_READ)
        watch_start (&self->event_watch, self->reactor, self->events, on_event, self);
    self->events_read = 0;
    self->list_may_differ = false;
    // Discard messages that came while no request was in flight.
    struct packet packet;
    for (int i = 0; i < ANSWERS_QUEUED && packet_recv (&packet, self->requests, &packet_of_peers);
         i++)
        packet_clear (&packet);
    if (!send_list_request (self)) {
        fail_request (self, "it does not read");
        return;
    }
    self->asking = true;
    watch_start (&self->answers, self->reactor, self->requests, on_answer, self);
    set_center_timer (self, ANSWER_MS);
}

static void on_timer (void *owner)
{
    struct center *self = owner;
    if (self->asking)
        fail_request (self, "no answer");
    else
        request_list (self);
}

// -- start and stop

struct center *center_new (const struct center_settings *settings, struct reactor *reactor,
                           center_found_fn *found, void *owner)
{
    struct center *self = memory_new (sizeof *self);
    self->settings = *settings;
    snprintf (self->state.endpoint, sizeof self->state.endpoint, "tcp://%s:%d", settings->host,
              settings->port);
    self->reactor = reactor;
    self->found = found;
    self->owner = owner;
    self->timer = (struct timer){.call = on_timer, .owner = self};
    self->retry_ms = RETRY_FIRST_MS;
    self->changes = CHANGES_MAX;
    self->granted_us = clock_mono_us ();
    request_list (self);
    return self;
}

const struct center_state *center_state (const struct center *self)
{
    return &self->state;
}

void center_destroy (struct center **self_p)
{
    struct center *self = *self_p;
    if (!self)
        return;
    timer_end (&self->timer);
    end_request (self);
    watch_end (&self->event_watch);
    close_socket (&self->requests);
    close_socket (&self->events);
    free (self);
    *self_p = NULL;
}
