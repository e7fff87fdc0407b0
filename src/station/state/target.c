#include "target.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "socket.h"
#include "failpoint.h"
#include "log.h"
#include "memory.h"
#include "turn.h"

enum {
    RETRY_FIRST_MS = 50, // delay before a reconnect; doubles each time
    RETRY_LAST_MS = 1000,
    CONNECT_TIMEOUT_MS = 2000,
    RECONNECT_MS = 86400000, // libzmq's own, in effect never
    STUCK_US = 5000000,      // without a message, while its queue is full
    TRY_MS = 6000,           // for resolving, connecting and the handshake
    DRAIN_MESSAGES = 4096    // read from a lost connection
};

struct target {
    struct target_settings settings;
    void *context;                // context of its sockets
    const struct curve_keys *own; // the key pair of the station, used with settings.curve
    struct dispatch_way way;
    struct reactor *reactor;
    struct target_events events;
    void *socket;                              // the DEALER; NULL between two attempts
    void *monitor;                             // PAIR that reports the state of its connection
    struct watch message_watch, monitor_watch; // watches of `socket` and `monitor`
    bool up;                                   // connected
    int fd; // descriptor of the connection, owned by libzmq; -1 = none yet
    struct response *response;
    char identity[TARGET_IDENTITY_SIZE]; // identity of its connections, if by identity; "" = none
                                         // yet
    bool identity_used;                  // the identity was used before
    uint64_t connections;                // number of the present or last connection
    int64_t retry_ms;                    // delay before the next attempt
    struct timer timer;                  // for the next attempt, or the end of the present one
    bool paused;                         // its messages are not read now
    int unanswered;
    int64_t since_us; // wall clock: when `up` changed last
    struct target_tally tally;
    struct target_load *load;
};

static uint64_t connections_made; // by the process: their numbers are unique across targets

static void close_watched_socket (struct watch *watch, void **socket)
{
    watch_end (watch);
    if (*socket)
        zmq_close (*socket);
    *socket = NULL;
}

static bool read_message (struct target *self)
{
    struct packet packet;
    if (!packet_recv (&packet, self->socket, self->events.limits))
        return false;
    if (response_message_came (self->response, clock_mono_us ()))
        self->events.responsive (self->events.owner, self);
    self->events.message (self->events.owner, self, &packet);
    packet_clear (&packet);
    return true;
}

// Close the monitor first: libzmq's threads would block forever on an event without a reader that
// occurs between the closing of the two sockets.
static void close_sockets (struct target *self)
{
    if (self->socket)
        zmq_socket_monitor (self->socket, NULL, 0);
    close_watched_socket (&self->monitor_watch, &self->monitor);
    close_watched_socket (&self->message_watch, &self->socket);
}

// Close the socket with all its unsent messages, and reconnect a little later. Messages that the
// target sent before the loss are still read.
static void drop_connection (struct target *self)
{
    if (self->up) {
        log_event (LEVEL_WARN, "target.lost", "station=%s endpoint=%s", self->settings.name,
                   self->settings.endpoint);
        for (int i = 0; i < DRAIN_MESSAGES && read_message (self); i++) {
        }
        self->events.turn_ended (self->events.owner, self);
    }
    if (self->up)
        self->since_us = clock_wall_us ();
    self->up = false;
    close_sockets (self);
    timer_set (&self->timer, self->reactor, self->retry_ms);
    self->retry_ms = self->retry_ms * 2 < RETRY_LAST_MS ? self->retry_ms * 2 : RETRY_LAST_MS;
}

static void set_connected (struct target *self)
{
    self->up = true;
    self->since_us = clock_wall_us ();
    response_connected (self->response, clock_mono_us (), self->identity[0] && self->identity_used);
    self->identity_used = true;
    self->connections = ++connections_made;
    self->retry_ms = RETRY_FIRST_MS;
    timer_end (&self->timer);
    log_event (LEVEL_INFO, "target.connected", "station=%s endpoint=%s", self->settings.name,
               self->settings.endpoint);
    self->events.connected (self->events.owner, self);
}

static bool on_monitor (void *owner)
{
    struct target *self = owner;
    struct packet packet;
    while (self->monitor && packet_recv (&packet, self->monitor, &packet_of_peers)) {
        uint16_t event = 0;
        int32_t value = -1;
        if (packet.count && packet.frames[0].size >= sizeof event + sizeof value) {
            memcpy (&event, packet.frames[0].data, sizeof event);
            memcpy (&value, packet.frames[0].data + sizeof event, sizeof value);
        }
        packet_clear (&packet);
        const int lost = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
        if (event & ZMQ_EVENT_CONNECTED)
            self->fd = value;
        if (event & ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            set_connected (self);
        else if (event & lost)
            drop_connection (self);
    }
    return false;
}

static bool on_message (void *owner)
{
    struct target *self = owner;
    int64_t until_us = clock_mono_us () + TURN_US;
    bool more = true;
    int count = 0;
    for (; more && count < TURN_MESSAGES && clock_mono_us () < until_us; count += more)
        more = self->socket && !self->paused && read_message (self);
    if (count)
        self->events.turn_ended (self->events.owner, self);
    return more;
}

static bool open_monitor (struct target *self)
{
    // Unique in the process: the old monitor may still be closing.
    static uint64_t number;
    char endpoint[64];
    snprintf (endpoint, sizeof endpoint, "inproc://target-monitor-%" PRIu64, ++number);
    // Create the reader first: when sockets have run out, closing a monitor without a reader would
    // block forever.
    self->monitor = wire_socket_in (self->context, ZMQ_PAIR);
    return self->monitor && zmq_connect (self->monitor, endpoint) == 0 &&
           zmq_socket_monitor (self->socket, endpoint, ZMQ_EVENT_ALL) == 0;
}

static void open_connection (struct target *self)
{
    self->socket = wire_socket_in (self->context, ZMQ_DEALER);
    if (self->socket && self->identity[0])
        zmq_setsockopt (self->socket, ZMQ_ROUTING_ID, self->identity, strlen (self->identity));
    if (!self->socket || !open_monitor (self)) {
        log_event (LEVEL_ERROR, "target.no_socket", "station=%s reason=\"%s\"", self->settings.name,
                   zmq_strerror (zmq_errno ()));
        drop_connection (self);
        return;
    }
    if (self->settings.curve[0])
        curve_make_client (self->socket, self->own, self->settings.curve);
    wire_heartbeat (self->socket);
    wire_limit (self->socket, self->events.limits->bytes);
    // So long that libzmq never reconnects. -1 would discard the last messages of the target.
    wire_set (self->socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    wire_set (self->socket, ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS);
    watch_start (&self->monitor_watch, self->reactor, self->monitor, on_monitor, self);
    watch_start (&self->message_watch, self->reactor, self->socket, on_message, self);
    self->paused = false;
    timer_set (&self->timer, self->reactor, TRY_MS);
    if (zmq_connect (self->socket, self->settings.endpoint)) {
        log_event (LEVEL_ERROR, "target.no_endpoint", "station=%s endpoint=%s reason=\"%s\"",
                   self->settings.name, self->settings.endpoint, zmq_strerror (zmq_errno ()));
        drop_connection (self);
    }
}

static void on_timer (void *owner)
{
    struct target *self = owner;
    if (self->socket)
        // It did not connect; libzmq does not report a name that does not resolve.
        drop_connection (self);
    else
        open_connection (self);
}

void target_pause (struct target *self)
{
    if (self->paused || !self->socket)
        return;
    watch_end (&self->message_watch);
    self->paused = true;
}

void target_resume (struct target *self)
{
    if (self->paused && self->socket)
        watch_start (&self->message_watch, self->reactor, self->socket, on_message, self);
    self->paused = false;
}

bool target_paused (const struct target *self)
{
    return self->paused;
}

struct target *target_new (const struct target_settings *settings, void *context,
                           const struct curve_keys *own, struct reactor *reactor,
                           const struct target_events *events)
{
    struct target *self = memory_new (sizeof *self);
    self->settings = *settings;
    self->context = context;
    self->own = own;
    self->way = (struct dispatch_way){self->settings.by_identity, self->settings.key};
    self->reactor = reactor;
    self->events = *events;
    self->fd = -1;
    self->retry_ms = RETRY_FIRST_MS;
    self->timer = (struct timer){.call = on_timer, .owner = self};
    self->response = memory_new (sizeof *self->response);
    self->response->grows = self->settings.by_identity;
    self->load = memory_new (sizeof *self->load);
    self->load->created_us = clock_mono_us ();
    self->since_us = clock_wall_us ();
    if (self->settings.type == TARGET_PULL) { // never sent to: counts as connected
        self->connections = ++connections_made;
        self->up = true;
    } else if (!self->settings.by_identity) {
        open_connection (self);
    }
    return self;
}

void *target_release (struct target *self)
{
    void *socket = self->socket;
    if (!self->up || !socket || self->settings.by_identity)
        return NULL;
    zmq_socket_monitor (socket, NULL, 0);
    close_watched_socket (&self->monitor_watch, &self->monitor);
    watch_end (&self->message_watch);
    self->socket = NULL;
    self->up = false;
    return socket;
}

void target_destroy (struct target **self_p)
{
    struct target *self = *self_p;
    if (!self)
        return;
    timer_end (&self->timer);
    close_sockets (self);
    free (self->response);
    free (self->load);
    free (self);
    *self_p = NULL;
}

const struct target_settings *target_settings (const struct target *self)
{
    return &self->settings;
}

const char *target_identity (const struct target *self)
{
    return self->identity;
}

// Reconnect in the next turn, as the caller may be handling a run of this target.
void target_identify (struct target *self, struct span identity, bool used)
{
    snprintf (self->identity, sizeof self->identity, "%.*s", (int)identity.size,
              (const char *)identity.data);
    self->identity_used = used;
    timer_set (&self->timer, self->reactor, 0);
}

// libzmq does not notice a suspended peer when unsent data fill the kernel's buffer: its heartbeats
// wait until they are sent.
void target_check_stuck (struct target *self)
{
    struct pollfd item = {.fd = self->fd, .events = POLLOUT};
    if (self->up && clock_mono_us () - self->response->message_us > STUCK_US &&
        poll (&item, 1, 0) == 0)
        timer_set (&self->timer, self->reactor, 0);
}

void target_try_connection (struct target *self)
{
    if (!self->up || !self->response->unproven)
        return;
    log_event (LEVEL_WARN, "target.duplicate", "station=%s action=%s reason=\"%s\"",
               self->settings.name, self->response->reconnects ? "rename" : "reconnect",
               "it has answered nothing since it connected: it may hold an older connection of "
               "this identity");
    if (self->response->reconnects++ == 0)
        timer_set (&self->timer, self->reactor, 0);
    else
        self->events.needs_identity (self->events.owner, self);
}

struct response *target_response (const struct target *self)
{
    return self->response;
}

int64_t target_unresponsive_since (const struct target *self)
{
    return self->up && self->response->unresponsive ? self->response->since_s : 0;
}

const struct dispatch_way *target_dispatch_way (const struct target *self)
{
    static const struct dispatch_way plain = {.key = ""};
    return self ? &self->way : &plain;
}

const char *target_name (const struct target *self)
{
    return self->settings.name;
}

enum target_type target_type (const struct target *self)
{
    return self->settings.type;
}

uint64_t target_connection (const struct target *self)
{
    return self->up ? self->connections : 0;
}

int64_t target_state_since (const struct target *self)
{
    return self->since_us / 1000000;
}

struct target_tally *target_tally (struct target *self)
{
    return &self->tally;
}

int target_unanswered (const struct target *self)
{
    return self->unanswered;
}

void target_count_unanswered (struct target *self, int change)
{
    self->unanswered += change;
}

struct target_load *target_load (const struct target *self)
{
    return self->load;
}

bool target_send (struct target *self, const struct message *message)
{
    // Tests set this point only without :N, else half a message of an earlier pass would corrupt
    // the next message.
    if (FAILPOINT_IS ("send_mid") && self->up)
        zmq_send (self->socket, "*", 1, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    FAILPOINT ("send_mid");
    bool sent =
        self->up && watch_send (&self->message_watch, self->socket, (struct span){0}, message);
    // When nothing can be sent, no heartbeat can either: a target suspended with its queue full
    // would count as connected forever.
    if (self->up && !sent && clock_mono_us () - self->response->message_us > STUCK_US)
        drop_connection (self);
    return sent;
}
