// Start: data folder and sockets (what can fail at once, first), then Redis, then the targets; when
// Redis is there - or a given one is not, and submissions are refused until it is - the request
// socket is read and `ready` is printed. The targets that are kept in Redis are read before that.
// Stop: requests are rejected, what is in progress is written.
#include "station.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "access_folder.h"
#include "attend.h"
#include "clock.h"
#include "context.h"
#include "core.h"
#include "due.h"
#include "failpoint.h"
#include "front.h"
#include "late.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "peers.h"
#include "publish.h"
#include "pull.h"
#include "reads.h"
#include "redis_info.h"
#include "reload.h"
#include "runs.h"
#include "secrets.h"
#include "targets.h"
#include "zap.h"
#include "zonefile.h"
#include "zones.h"

enum {
    TICK_MS = 100,
    GIVEN_REDIS_WAIT_US = 2000000, // before serving without it
    TELL_WAIT_US = 2000000,        // between two lines while waiting
    STOP_WAIT_US = 5000000,        // for the last writes
    RESPAWN_FIRST_US = 50000,      // before the embedded Redis is started again; doubling
    RESPAWN_LAST_US = 5000000,
    LINGER_MS = 1000,
    REQUESTS_QUEUED = 16 // of a peer, in libzmq; the rest waits at the peer
};

// -- questions of the other parts

bool station_store_up (const struct station *self)
{
    return link_state (store_link (self->store)) == LINK_UP;
}

const char *station_store_trouble (const struct station *self)
{
    return self->redis_trouble.text[0] ? self->redis_trouble.text
                                       : link_trouble (store_link (self->store));
}

int64_t station_now (const struct station *self)
{
    return store_now_us (self->store) / 1000000;
}

struct store_bounds station_bounds (const struct station *self)
{
    const struct station_settings *settings = self->settings;
    return (struct store_bounds){
        .history_count = settings->history_count,
        .history_age_s = settings->history_age_s,
        .output_bytes = settings->output_total_mib * 1048576,
        .output_age_s = settings->output_age_s,
        .plans = settings->limits.plans,
        .plans_station = settings->limits.plans_station,
        .plans_caller = settings->limits.plans_caller,
    };
}

// -- ending

static void fail (struct station *self, const char *why)
{
    self->phase = PHASE_FAILED;
    reason_set (&self->failure, "%s", why);
}

static void begin_stop (struct station *self)
{
    notify_stopping ();
    if (self->phase != PHASE_STARTING)
        log_event (LEVEL_INFO, "station.stopping", "pending=%zu", store_pending (self->store));
    self->phase = PHASE_STOPPING;
    self->stop_us = clock_mono_us () + STOP_WAIT_US;
    pull_stop (self);
    FAILPOINT ("drain");
}

static void tell_counters (const struct station *self)
{
#define COUNTER_FORMAT(name) #name "=%" PRIu64 " "
#define COUNTER_VALUE(name)  , self->counters.name
    log_event (LEVEL_INFO, "station.stopped",
               COUNTERS (COUNTER_FORMAT) "%s" COUNTERS (COUNTER_VALUE), "");
#undef COUNTER_FORMAT
#undef COUNTER_VALUE
}

// -- serving

static void serve (struct station *self)
{
    self->phase = PHASE_SERVING;
    front_open (self);
    due_wake_now (self);
    log_event (LEVEL_INFO, "station.ready", "request=%s publish=%s events=%s redis=%s fsync=%s",
               self->settings->request, self->settings->publish, self->settings->events,
               link_state_name (link_state (store_link (self->store))),
               link_fsync (store_link (self->store)));
    puts ("ready");
    fflush (stdout);
    notify_ready ();
    if (station_store_up (self))
        notify_status ("serving");
}

// Once, and again when it is for another reason: it is tried several times a second.
static void tell_down (struct station *self, const char *trouble)
{
    if (strcmp (self->told_down.text, trouble) == 0)
        return;
    reason_set (&self->told_down, "%s", trouble);
    log_event (LEVEL_WARN, "redis.down", "reason=%s", quoted (span_text (trouble)));
    char words[sizeof self->told_down.text + sizeof "Redis is away: "];
    snprintf (words, sizeof words, "Redis is away: %s", trouble);
    notify_status (words);
}

static void on_link_state (void *owner, enum link_state state)
{
    struct station *self = owner;
    if (!self->store)
        return; // the first try, before link_new has returned
    const char *trouble = link_trouble (store_link (self->store));
    if (state == LINK_UP) {
        self->told_down.text[0] = '\0';
        store_begin_clock (self->store);
        self->respawn_delay_us = RESPAWN_FIRST_US;
        if (self->embedded)
            embedded_up (self->embedded);
        targets_load (self);
        attend_now (self);
        const char *fsync = link_fsync (store_link (self->store));
        log_event (LEVEL_INFO, "redis.up", "fsync=%s acknowledged=\"%s\"", fsync,
                   durability_text (fsync));
    } else if (state != LINK_OPENING && self->phase == PHASE_SERVING)
        tell_down (self, trouble);
    if (state == LINK_UP && self->phase == PHASE_STARTING)
        FAILPOINT ("boot_store");
    else if (state == LINK_UP) {
        due_hold (self);
        due_wake_now (self);
        notify_status ("serving");
    } else if (state == LINK_REFUSED && self->phase == PHASE_STARTING)
        fail (self, trouble);
}

void station_targets_read (struct station *self)
{
    self->targets_read = true;
    if (self->phase == PHASE_STARTING)
        serve (self);
}

// -- the embedded Redis

static void plan_respawn (struct station *self)
{
    self->redis_ended = true;
    self->respawn_us = clock_mono_us () + self->respawn_delay_us;
    self->respawn_delay_us =
        self->respawn_delay_us * 2 < RESPAWN_LAST_US ? self->respawn_delay_us * 2 : RESPAWN_LAST_US;
}

static void respawn (struct station *self)
{
    struct reason reason;
    self->redis_ended = false;
    if (embedded_start (self->embedded, &reason)) {
        log_event (LEVEL_ERROR, "redis.start_failed", "reason=%s",
                   quoted (span_text (reason.text)));
        plan_respawn (self);
    }
}

static void on_child (struct station *self)
{
    struct reason reason;
    if (!self->embedded || !embedded_ended (self->embedded, &reason))
        return;
    bool starting = self->phase == PHASE_STARTING;
    enum data_state data =
        embedded_repair (self->embedded, starting && self->settings->repair, &reason);
    if (data == DATA_CUT) {
        respawn (self);
        return;
    }
    if (starting) {
        self->fault = data == DATA_DAMAGED ? STATION_FAULT_DATA : STATION_FAULT_NOW;
        fail (self, reason.text);
        return;
    }
    if (embedded_disk_full (self->embedded, &self->redis_trouble))
        reason = self->redis_trouble;
    log_event (LEVEL_ERROR, "redis.ended", "reason=%s", quoted (span_text (reason.text)));
    plan_respawn (self);
}

// -- the reactor

static void renew_subscribers (struct station *self);

static void on_signal (void *owner, uint32_t events)
{
    struct station *self = owner;
    (void)events;
    for (int number; (number = process_next_signal (self->signal_fd));) {
        if (number == SIGCHLD) {
            on_child (self);
        } else if (number == SIGHUP && self->phase == PHASE_SERVING) {
            reload (self);
        } else if (number == SIGTERM || number == SIGINT) {
            if (self->phase == PHASE_STOPPING)
                reactor_stop (self->reactor); // asked twice: at once
            begin_stop (self);
        }
    }
    if (self->phase == PHASE_FAILED)
        reactor_stop (self->reactor);
}

// What a peer makes wait in the sockets is memory of libzmq, out of every other bound's reach.
static void watch_memory (struct station *self)
{
    int64_t most = self->settings->limits.memory_mib << 20;
    bool full = process_memory () > most;
    if (full && clock_mono_us () / 1000000 != self->trimmed_s) {
        self->trimmed_s = clock_mono_us () / 1000000;
        process_memory_trim (); // what was freed may only not have been given back
    }
    full = full && process_memory () > most;
    if (full != self->memory_full)
        log_event (full ? LEVEL_ERROR : LEVEL_INFO, full ? "memory.full" : "memory.good",
                   "bytes=%" PRId64 " max=%" PRId64, process_memory (), most);
    self->memory_full = full;
}

// On a full disk Redis starts, and ends at its next write.
static void watch_disk (struct station *self)
{
    struct reason reason;
    if (self->redis_trouble.text[0] && station_store_up (self) &&
        !embedded_disk_full (self->embedded, &reason))
        self->redis_trouble.text[0] = '\0';
}

static void tick_starting (struct station *self, int64_t now_us)
{
    int64_t waited = now_us - self->started_us;
    bool up = station_store_up (self);
    if (!self->embedded && !up && waited > GIVEN_REDIS_WAIT_US) {
        tell_down (self, link_trouble (store_link (self->store)));
        serve (self);
    } else if (waited / TELL_WAIT_US != (waited - TICK_MS * 1000) / TELL_WAIT_US) {
        const char *trouble = link_trouble (store_link (self->store));
        log_event (LEVEL_INFO, "redis.waiting", "seconds=%" PRId64 " reason=%s", waited / 1000000,
                   quoted (span_text (up ? "the targets are being read" : trouble)));
        notify_status ("waiting for Redis");
    }
}

static bool has_ended (const struct station *self, int64_t now_us)
{
    return self->phase == PHASE_FAILED ||
           (self->phase == PHASE_STOPPING &&
            ((store_pending (self->store) == 0 && self->ahead.count == 0) ||
             now_us > self->stop_us));
}

static void on_tick (void *owner)
{
    struct station *self = owner;
    int64_t now_us = clock_mono_us ();
    timer_set (&self->tick, self->reactor, TICK_MS);
    notify_alive (now_us);
    if (has_ended (self, now_us)) {
        reactor_stop (self->reactor);
        return;
    }
    access_watch (self, now_us);
    renew_subscribers (self);
    if (self->redis_ended && now_us >= self->respawn_us)
        respawn (self);
    if (self->phase == PHASE_STARTING) {
        tick_starting (self, now_us);
        return;
    }
    watch_disk (self);
    watch_memory (self);
    peers_tick (self, now_us);
    reads_tick (self);
    attend_tick (self);
    pull_tick (self);
    front_resume (self);
    link_flush (store_link (self->store));
}

// -- making it

// `domain` is what the ZAP handler is asked about. NULL when descriptors have run out.
static void *open_socket (const struct station *self, int type, const char *domain)
{
    void *socket = wire_socket (type);
    if (!socket)
        return NULL;
    wire_set (socket, ZMQ_LINGER, LINGER_MS);
    wire_set (socket, ZMQ_SNDHWM, (int)self->settings->limits.replies_peer);
    if (self->access)
        curve_make_server (socket, &self->curve_keys, domain);
    if (type == ZMQ_XPUB)
        subscribers_prepare (socket);
    if (type == ZMQ_ROUTER) {
        // A frame up to the whole message's size is still told why it is refused.
        wire_limit (socket, self->limits.bytes);
        wire_set (socket, ZMQ_RCVHWM, REQUESTS_QUEUED);
        // When Redis is lost, all that a peer waits for is answered at once.
        if (self->settings->limits.replies_peer < self->settings->limits.requests_peer)
            wire_set (socket, ZMQ_SNDHWM, (int)self->settings->limits.requests_peer);
        wire_set (socket, ZMQ_ROUTER_MANDATORY, 1);
    }
    return socket;
}

static void *bound_socket (const struct station *self, int type, const char *domain,
                           const char *endpoint, struct reason *reason)
{
    void *socket = open_socket (self, type, domain);
    if (!socket) {
        reason_set (reason, "%s: no descriptors left", endpoint);
        return NULL;
    }
    if (wire_bind (socket, endpoint, reason) == 0)
        return socket;
    zmq_close (socket);
    return NULL;
}

static int bind_sockets (struct station *self, struct reason *reason)
{
    const struct station_settings *settings = self->settings;
    self->request_socket = bound_socket (self, ZMQ_ROUTER, "request", settings->request, reason);
    if (self->request_socket)
        self->results.socket = bound_socket (self, ZMQ_XPUB, "publish", settings->publish, reason);
    if (self->results.socket)
        self->events.socket = bound_socket (self, ZMQ_XPUB, "events", settings->events, reason);
    return self->events.socket ? 0 : -1;
}

// One end of it: until the old socket has let go of the endpoint, nothing is broadcast.
static void bind_again (struct station *self, struct outlet *outlet, const char *domain,
                        const char *endpoint)
{
    struct reason reason;
    void *fresh = outlet->socket ? NULL : open_socket (self, ZMQ_XPUB, domain);
    if (fresh && wire_bind_again (fresh, endpoint, &reason) == 0) {
        outlet->socket = fresh;
        publish_watch (self, outlet, endpoint);
    } else if (fresh)
        zmq_close (fresh);
}

// Who may not subscribe any more is connected still, and libzmq ends no single connection: all are
// cut, and who may comes back by itself. What it missed it can ask for.
static void renew_subscribers (struct station *self)
{
    if (self->subscribers_cut) {
        log_event (LEVEL_INFO, "subscribers.cut", "reason=\"a key may no longer subscribe\"");
        publish_close (&self->results);
        publish_close (&self->events);
        self->subscribers_cut = false;
    }
    bind_again (self, &self->results, "publish", self->settings->publish);
    bind_again (self, &self->events, "events", self->settings->events);
}

static const char *data_folder (const struct station_settings *settings, char out[4096])
{
    const char *state = getenv ("XDG_STATE_HOME");
    const char *home = getenv ("HOME");
    if (settings->data[0])
        return settings->data;
    if (state && state[0] == '/')
        snprintf (out, 4096, "%s/zplan", state);
    else
        snprintf (out, 4096, "%s/.local/state/zplan", home && *home ? home : "");
    return out;
}

static int read_redis (const struct station_settings *settings, struct link_config *config,
                       struct reason *reason)
{
    char shown[300];
    *config = (struct link_config){.db = settings->redis_defdb,
                                   .accept_loss = settings->accept_loss,
                                   .durable = settings->durable,
                                   .replicas = settings->replicas,
                                   .replica_timeout_ms = settings->replica_timeout_ms,
                                   .window = settings->limits.requests,
                                   .schemas = {STORE_SCHEMA, STORE_SCHEMA}};
    if (address_parse (settings->redis_addr, &config->address, reason) ||
        secrets_read (settings, config, reason))
        return -1;
    if (config->address.kind != ADDRESS_EMBEDDED)
        log_event (LEVEL_INFO, "redis.given", "address=%s", address_text (&config->address, shown));
    return 0;
}

static int prepare_redis (struct station *self, struct link_config *config, struct reason *reason)
{
    char folder[4096];
    bool damaged;
    if (config->address.kind != ADDRESS_EMBEDDED)
        return 0;
    self->embedded =
        embedded_new (data_folder (self->settings, folder), config->db + 1, &damaged, reason);
    if (!self->embedded) {
        self->fault = damaged ? STATION_FAULT_DATA : STATION_FAULT_NOW;
        return -1;
    }
    config->address.kind = ADDRESS_UNIX;
    snprintf (config->address.host, sizeof config->address.host, "%s",
              embedded_socket (self->embedded));
    return 0;
}

static int check_endpoints (const struct station_settings *settings, struct reason *reason)
{
    const char *const endpoints[][2] = {{"request", settings->request},
                                        {"publish", settings->publish},
                                        {"events", settings->events}};
    struct reason why;
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
        if (endpoint_check (endpoints[i][1], &why)) {
            reason_set (reason, "%s: %s", endpoints[i][0], why.text);
            return -1;
        }
    return 0;
}

// What the settings name: wrong now, it is wrong at the next start.
static int take_settings (struct station *self, struct link_config *config, struct reason *reason)
{
    const struct station_settings *settings = self->settings;
    self->zone = zonefile_load (settings->timezone, reason);
    return !self->zone || check_endpoints (settings, reason) ||
                   read_redis (settings, config, reason) || access_start (self, reason)
               ? -1
               : 0;
}

static void read_limits (struct station *self)
{
    const struct limits *limits = &self->settings->limits;
    self->limits =
        (struct packet_limits){(size_t)limits->frame_bytes, (size_t)limits->message_bytes};
}

static int start (struct station *self, const struct link_config *given, struct reason *reason)
{
    struct link_config config = *given;
    if (prepare_redis (self, &config, reason) || zap_start (self, reason) ||
        bind_sockets (self, reason))
        return -1;
    FAILPOINT ("boot_bind");
    if (self->embedded && embedded_start (self->embedded, reason))
        return -1;
    FAILPOINT ("boot_redis");
    self->reactor = reactor_new ();
    if (!self->reactor) {
        reason_set (reason, "no descriptors left");
        return -1;
    }
    runs_start (self);
    if (due_start (self, reason))
        return -1;
    zap_watch (self);
    publish_watch (self, &self->results, self->settings->publish);
    publish_watch (self, &self->events, self->settings->events);
    self->signals = (struct source){.call = on_signal, .owner = self};
    source_set (&self->signals, self->reactor, self->signal_fd, EPOLLIN);
    self->tick = (struct timer){.call = on_tick, .owner = self};
    timer_set (&self->tick, self->reactor, TICK_MS);
    self->started_us = clock_mono_us ();
    const struct store_bounds bounds = station_bounds (self);
    self->store = store_new (&config, &bounds, self->reactor, on_link_state, self);
    targets_start (self);
    return 0;
}

struct station *station_new (struct station_settings *settings, station_read_fn *read_settings,
                             int signal_fd, enum station_fault *ret_fault, struct reason *reason)
{
    struct link_config config;
    struct station *self = memory_new (sizeof *self);
    self->settings = settings;
    self->read_settings = read_settings;
    self->signal_fd = signal_fd;
    self->timer_fd = -1;
    dialect_parse (settings->dialect, &self->dialect);
    snprintf (self->event_epoch, sizeof self->event_epoch, "%016" PRIx64, process_random ());
    for (size_t i = 0; i < sizeof self->caller_secret; i += sizeof (uint64_t)) {
        uint64_t part = process_random ();
        memcpy (self->caller_secret + i, &part, sizeof part);
    }
    self->respawn_delay_us = RESPAWN_FIRST_US;
    read_limits (self);
    bool wrong = take_settings (self, &config, reason) != 0;
    if (wrong || start (self, &config, reason)) {
        *ret_fault = wrong ? STATION_FAULT_SETTINGS : self->fault;
        station_destroy (&self);
    }
    return self;
}

int station_run (struct station *self, enum station_fault *ret_fault, struct reason *reason)
{
    reactor_run (self->reactor);
    if (self->phase == PHASE_FAILED) {
        *ret_fault = self->fault;
        *reason = self->failure;
        return -1;
    }
    tell_counters (self);
    return 0;
}

void station_destroy (struct station **self_p)
{
    struct station *self = *self_p;
    if (!self)
        return;
    if (self->store) {
        reads_stop (self);
        store_destroy (&self->store);
    }
    pull_destroy (self);
    runs_stop (self);
    late_stop (self);
    targets_stop (self);
    due_stop (self);
    timer_end (&self->tick);
    source_end (&self->signals);
    watch_end (&self->request_watch);
    if (self->request_socket) {
        front_drain (self);
        zmq_close (self->request_socket);
    }
    publish_close (&self->results);
    publish_close (&self->events);
    zap_stop (self);
    reactor_destroy (&self->reactor);
    wire_context_end ();
    peers_stop (self);
    access_stop (self);
    embedded_destroy (&self->embedded);
    zones_stop (self);
    zone_destroy (&self->zone);
    free (self->texts.plan_json.bytes);
    free (self);
    *self_p = NULL;
}
