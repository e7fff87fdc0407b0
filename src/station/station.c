// Start: data folder and sockets first, as they can fail at once, then Redis, then the targets,
// including those stored in Redis. When this station owns the plans it reads the request socket and
// prints `ready`; it also does so when an external Redis is away, and then rejects submissions
// until Redis is back. While another station owns the plans this one is a standby: it prints
// `standby` and closes its request socket. Stop: the station rejects requests, finishes pending
// writes, and releases the plans.
#include "station.h"

#include <malloc.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "access_folder.h"
#include "presence.h"
#include "callback_book.h"
#include "flow_live.h"
#include "clock.h"
#include "context.h"
#include "station_state.h"
#include "due.h"
#include "failpoint.h"
#include "flow_book.h"
#include "flow_change.h"
#include "cancel.h"
#include "flow_sweep.h"
#include "forward.h"
#include "frontend.h"
#include "json_pool.h"
#include "late.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "owning.h"
#include "peers.h"
#include "publish.h"
#include "pull.h"
#include "reads.h"
#include "reload.h"
#include "redis_process.h"
#include "sockets.h"
#include "state_folder.h"
#include "targets.h"
#include "zap.h"
#include "zonefile.h"
#include "zones.h"

enum {
    TICK_MS = 100,
    EXTERNAL_REDIS_WAIT_US = 2000000, // wait for an external Redis before serving without it
    LOG_WAIT_US = 2000000,            // between two log lines while waiting for Redis
    STOP_WAIT_US = 5000000,           // for the last writes
    FREE_WAIT_US = 1000000,           // for Redis to acknowledge that the plans are released
};

// -- ending

void station_fail (struct station *self, const char *why)
{
    self->phase = PHASE_FAILED;
    reason_set (&self->failure, "%s", why);
}

static void begin_stop (struct station *self)
{
    if (!self->yields)
        notify_stopping ();
    if (self->phase != PHASE_STARTING)
        log_event (LEVEL_INFO, "station.stopping", "pending=%zu", store_pending (self->store));
    self->phase = PHASE_STOPPING;
    self->stop_us = clock_mono_us () + STOP_WAIT_US;
    pull_stop (self);
    FAILPOINT ("drain");
}

static void log_counters (const struct station *self)
{
#define COUNTER_FORMAT(name) #name "=%" PRIu64 " "
#define COUNTER_VALUE(name)  , self->counters.name
    log_event (LEVEL_INFO, "station.stopped",
               COUNTERS (COUNTER_FORMAT) "%s" COUNTERS (COUNTER_VALUE), "");
#undef COUNTER_FORMAT
#undef COUNTER_VALUE
}

void station_run_ended (struct station *self)
{
    if (self->limits_full)
        due_wake (self);
    pull_retry_limited (self);
}

void station_hand_over (struct station *self)
{
    self->yields = true;
    begin_stop (self);
}

// -- the reactor

// Reload the settings after SIGHUP. A SIGHUP during the start is handled when the start is over, as
// the station is loading its data.
static void reload_if_wanted (struct station *self)
{
    bool ready = self->phase == PHASE_SERVING || self->phase == PHASE_STANDBY;
    if (self->reload_wanted && ready) {
        self->reload_wanted = false;
        reload (self);
    }
}

static void on_signal (void *owner, uint32_t events)
{
    struct station *self = owner;
    (void)events;
    for (int number; (number = process_next_signal (self->signal_fd));) {
        if (number == SIGCHLD) {
            redis_process_ended (self);
        } else if (number == SIGHUP) {
            self->reload_wanted = true;
        } else if (number == SIGTERM || number == SIGINT) {
            if (self->phase == PHASE_STOPPING && !self->yields)
                reactor_stop (self->reactor); // second signal: stop immediately
            self->yields = false;             // do not become a standby after the handover
            begin_stop (self);
        }
    }
    reload_if_wanted (self);
    if (self->phase == PHASE_FAILED)
        reactor_stop (self->reactor);
}

// Bounds the memory of the process, as no other limit covers the messages that libzmq holds for
// peers. Freed memory is returned to the system above max_memory, and otherwise only while the
// station is idle, as that takes milliseconds.
static void watch_memory (struct station *self)
{
    enum { PAUSE_S = 60 };
    int64_t most = self->settings->limits.memory_mib << 20;
    int64_t bytes = process_memory (), now_s = clock_mono_us () / 1000000;
    uint64_t work = self->counters.requests + self->counters.runs_sent;
    bool idle = work == self->trimmed_work;
    self->trimmed_work = work;
    if (now_s != self->trimmed_s &&
        (bytes > most || (idle && now_s - self->trimmed_s >= PAUSE_S))) {
        store_trim (self->store);
        json_pool_release ();
        malloc_trim (0);
        self->trimmed_s = now_s;
        bytes = process_memory ();
    }
    bool full = bytes > most;
    if (full != self->memory_full)
        log_event (full ? LEVEL_ERROR : LEVEL_INFO, full ? "memory.full" : "memory.good",
                   "bytes=%" PRId64 " max=%" PRId64, bytes, most);
    self->memory_full = full;
}

static void tick_starting (struct station *self, int64_t now_us)
{
    int64_t waited = now_us - self->started_us;
    bool up = station_store_up (self);
    if (up && self->targets_read) {
        owning_serve (self); // retry: its socket could not be bound before
    } else if (!self->embedded && store_state (self->store) == STORE_AWAY &&
               waited > EXTERNAL_REDIS_WAIT_US) {
        owning_report_redis_down (self, link_trouble (store_link (self->store)));
        owning_serve (self);
    } else if (waited / LOG_WAIT_US != (waited - TICK_MS * 1000) / LOG_WAIT_US) {
        const char *trouble = link_trouble (store_link (self->store));
        const char *reads = up ? "the targets are being read" : "the plans are being read";
        log_event (LEVEL_INFO, "redis.waiting", "seconds=%" PRId64 " reason=%s", waited / 1000000,
                   quoted (span_text (*trouble ? trouble : reads)));
        notify_status ("waiting for Redis");
    }
}

// Continue a stop that is in progress: wait until the writes are done or time out, then release the
// plans. True: the station has stopped, or has failed.
static bool continue_stop (struct station *self, int64_t now_us)
{
    bool settled = store_pending (self->store) == 0 && self->prefetched.count == 0;
    if (self->phase != PHASE_STOPPING || !(settled || now_us > self->stop_us))
        return self->phase == PHASE_FAILED;
    if (!self->releasing_plans)
        store_leave_presence (self->store);
    // Release the plans once, so that a standby or the next start takes over at once.
    bool release = !self->embedded && station_store_up (self) && !self->releasing_plans;
    if (!release)
        return !self->releasing_plans || now_us > self->stop_us;
    self->releasing_plans = true;
    self->stop_us = now_us + FREE_WAIT_US;
    store_hand_over (self->store);
    return false;
}

static void on_tick (void *owner)
{
    struct station *self = owner;
    int64_t now_us = clock_mono_us ();
    timer_set (&self->tick, self->reactor, TICK_MS);
    notify_alive (now_us);
    if (continue_stop (self, now_us)) {
        reactor_stop (self->reactor);
        return;
    }
    access_watch (self, now_us);
    sockets_rebind_publishers (self);
    if (self->redis_ended && now_us >= self->respawn_us)
        redis_process_respawn (self);
    owning_watch (self, now_us);
    if (self->phase == PHASE_STARTING)
        tick_starting (self, now_us);
    else if (self->phase == PHASE_STANDBY && station_store_up (self) && self->targets_read)
        owning_serve (self);
    reload_if_wanted (self);
    presence_tick (self);
    if (self->phase == PHASE_STARTING || self->phase == PHASE_STANDBY) {
        link_flush (store_link (self->store));
        return;
    }
    redis_process_watch_disk (self);
    peers_tick (self, now_us);
    reads_start_waiting (self);
    pull_tick (self);
    flow_sweep_tick (self);
    flow_runs_tick (self);
    watch_memory (self);
    station_resume (self);
    link_flush (store_link (self->store));
}

// -- construction

// Load and check what the settings refer to; an error here recurs at the next start.
static int resolve_settings (struct station *self, struct link_config *config,
                             struct reason *reason)
{
    const struct station_settings *settings = self->settings;
    self->zone = zonefile_load (settings->timezone, reason);
    return !self->zone || sockets_check (settings, reason) ||
                   redis_config_read (settings, config, reason) || access_start (self, reason)
               ? -1
               : 0;
}

// Create the store, with what other stations read in Redis about this one.
static void create_store (struct station *self, const struct link_config *link)
{
    char folder[DATA_FOLDER_MAX], host[HOST_NAME_MAX + 1] = "", endpoints[3 * SETTING_TEXT_MAX];
    const struct station_settings *settings = self->settings;
    const struct store_bounds bounds = station_bounds (self);
    gethostname (host, sizeof host - 1);
    snprintf (self->name, sizeof self->name, "%s:%d", host, (int)getpid ());
    snprintf (endpoints, sizeof endpoints, "%s %s %s", settings->request, settings->publish,
              settings->events);
    struct store_config config = {.link = *link,
                                  .alone = self->embedded != NULL,
                                  .yields = self->yields,
                                  .state_folder = -1,
                                  .name = self->name,
                                  .endpoints = endpoints,
                                  .key = self->curve_keys.public_key,
                                  .due = due_wake_at};
    if (!self->embedded)
        config.state_folder = state_folder_open (redis_data_folder (settings, folder));
    self->was_owner = self->yields;
    self->yields = false;
    self->store = store_new (&config, &bounds, self->reactor, owning_handle_store_state, self);
}

static int start_station (struct station *self, const struct link_config *link,
                          struct reason *reason)
{
    struct link_config config = *link;
    if (redis_config_embed (self, &config, reason) || zap_start (self, reason) ||
        sockets_bind (self, reason))
        return -1;
    FAILPOINT ("boot_bind");
    if (self->embedded && embedded_start (self->embedded, reason))
        return -1;
    FAILPOINT ("boot_redis");
    self->reactor = reactor_new ();
    if (!self->reactor)
        return reason_set (reason, "no descriptors left");
    flow_book_start (self);
    flow_change_start (self);
    flow_runs_start (self, flow_cancel_call);
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
    create_store (self, &config);
    forward_attach (self);
    if (self->embedded)
        targets_start (self); // they connect while Redis starts
    return 0;
}

struct station *station_new (const struct station_config *options, enum station_fault *ret_fault,
                             struct reason *reason)
{
    struct link_config config;
    struct station *self = memory_new (sizeof *self);
    const struct station_settings *settings = options->settings;
    self->settings = options->settings;
    self->read_settings = options->read_settings;
    self->signal_fd = options->signal_fd;
    self->yields = options->yields;
    self->forward = options->forward;
    self->timer_fd = -1;
    dialect_parse (settings->dialect, &self->dialect);
    snprintf (self->event_epoch, sizeof self->event_epoch, "%016" PRIx64, process_random ());
    for (size_t i = 0; i < sizeof self->caller_secret; i += sizeof (uint64_t)) {
        uint64_t part = process_random ();
        memcpy (self->caller_secret + i, &part, sizeof part);
    }
    self->respawn_delay_us = REDIS_RESPAWN_FIRST_US;
    self->limits = (struct packet_limits){(size_t)settings->limits.frame_bytes,
                                          (size_t)settings->limits.message_bytes};
    bool wrong = resolve_settings (self, &config, reason) != 0;
    if (wrong || start_station (self, &config, reason)) {
        *ret_fault = wrong ? STATION_FAULT_SETTINGS : self->fault;
        station_destroy (&self);
    }
    return self;
}

enum station_end station_run (struct station *self, enum station_fault *ret_fault,
                              struct reason *reason)
{
    reactor_run (self->reactor);
    if (self->phase == PHASE_FAILED) {
        *ret_fault = self->fault;
        *reason = self->failure;
        return STATION_FAILED;
    }
    log_counters (self);
    return self->phase == PHASE_FENCED ? STATION_FENCED : STATION_STOPPED;
}

void station_destroy (struct station **self_p)
{
    struct station *self = *self_p;
    if (!self)
        return;
    forward_detach (self);
    if (self->store) {
        reads_stop (self);
        flow_book_quit (self);
        flow_change_quit (self);
        store_destroy (&self->store);
    }
    flow_runs_stop (self);
    flow_book_stop (self);
    callback_book_stop (self);
    pull_destroy (self);
    runs_stop (self);
    late_stop (self);
    forward_take_requests (self);
    forward_take_targets (self);
    targets_stop (self);
    due_stop (self);
    timer_end (&self->tick);
    source_end (&self->signals);
    watch_end (&self->request_watch);
    if (self->request_socket) {
        frontend_drain (self);
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
