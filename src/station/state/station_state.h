// The state that the parts of the station share. Each part is a file pair named after its job; this
// struct is what they work on, private to the station.
#pragma once

#include "counters.h"
#include "curve.h"
#include "embedded.h"
#include "fault.h"
#include "frames.h"
#include "heap.h"
#include "histogram.h"
#include "ident.h"
#include "packet.h"
#include "plan_message.h"
#include "process.h"
#include "settings_table.h"
#include "status.h"
#include "store_kept.h"
#include "store_read.h"
#include "subscribers.h"
#include "target.h"
#include "watch.h"

enum station_phase {
    PHASE_STARTING, // waits for Redis
    PHASE_SERVING,
    PHASE_STANDBY,  // another station owns the plans
    PHASE_STOPPING, // writes what is in progress, takes nothing new
    PHASE_FENCED,   // another station took over: all that is known of the plans is to be forgotten
    PHASE_FAILED    // could not start
};

// The replacement of an automatic identity (submit.c).
struct masked {
    uint8_t identity[5], mask[5];
};

// An XPUB, and who has subscribed.
struct outlet {
    void *socket; // NULL: it was cut, and is not replaced yet
    struct watch watch;
    struct subscribers *subscribers; // while there is a socket that is watched
};

// Reads for peers: those in flight, and the peers that have more, which take turns.
struct peer_reads {
    int cost;             // sum of the costs of the reads in flight
    size_t waiting_bytes; // of the requests that wait
    struct peer_load *first, **end;
    size_t peers; // in the list that begins with `first`
    bool granting;
};

struct station {
    struct station_settings *settings;
    station_read_fn *read_settings;
    struct zone *zone;
    struct _zhashx_t *zones; // that plans name, by name; NULL = none yet
    enum station_phase phase;
    struct reason failure;        // why PHASE_FAILED
    enum station_fault fault;     // the kind of that failure
    bool reload_wanted;           // at SIGHUP
    struct reason reload_trouble; // why settings were not taken at SIGHUP; empty = they were
    struct counters counters;
    struct histogram submissions; // from receipt to acknowledgement, of plans that were stored

    struct reactor *reactor;
    int signal_fd;
    struct source signals;
    struct timer tick;
    struct store *store;
    struct reason logged_trouble; // why Redis is away, as logged last
    struct embedded *embedded;    // NULL with a given Redis
    int64_t started_us;
    int64_t stop_us;     // when to stop waiting, PHASE_STOPPING
    int64_t waits_us;    // since when the plans are not its own; 0 = they are
    char name[80];       // for other stations: host and process
    int64_t owner_since; // Unix seconds: since then the plans are its own, 0 = they never were
    int64_t owned_us;    // the same by Redis' clock, as each exec_id; microseconds
    bool yields;         // others are to take over first
    bool was_owner;      // and is a standby now: no Redis makes it end
    bool gives_up;       // PHASE_STOPPING: the plans are being released
    bool targets_started;
    struct reason redis_trouble; // why the embedded one ended, if that is known; empty = it is not
    bool redis_ended;            // the embedded one has to be started again
    int64_t respawn_us;          // when it is started again
    int64_t respawn_delay_us;

    // access
    struct curve_keys curve_keys; // its own; empty = without CURVE
    struct access *access;        // who may do what; NULL = everybody everything
    uint64_t access_mark;         // of the folder as it was read; 0 = to be read again
    int64_t access_look_us;       // when to look at it next, monotonic
    int64_t access_retry_us;      // when to read what is wrong again, monotonic
    size_t access_wrong;          // files whose keys may not connect
    struct reason access_trouble; // of the first of them, or of the folder; empty = none
    struct zap *zap;

    // front
    void *request_socket;
    struct watch request_watch; // off: it is left alone until there is room
    uint64_t last_id;
    uint8_t caller_secret[16];   // of this start; it masks identities
    struct masked masked[64];    // those that were made last
    struct _zhashx_t *peers;     // what each peer has in progress; NULL = none yet
    struct peer_load *loads;     // all of `peers`, as a list
    int64_t loads_swept_us;      // when it was looked through for those that have nothing any more
    struct packet_debt unread;   // replies of all peers that libzmq holds
    struct peer_reads reading;   // requests that read plans (reads.c)
    struct packet_limits limits; // of messages from peers and targets
    struct reason refusing;      // why the last submission could not be written; "" = it was
    int64_t refusing_us;         // when that was, monotonic
    int64_t trimmed_s;           // when memory was given back last
    uint64_t trimmed_work;       // what had been done at the tick before
    bool memory_full;            // above max_memory: requests are BUSY
    size_t kept_bytes;           // of requests that wait for Redis

    // publish
    struct plan_texts texts; // of the dispatch or broadcast that is being sent
    struct outlet results, events;
    bool subscribers_cut; // both are to be replaced
    enum dialect dialect; // of the request socket and the results
    uint64_t event_seq;   // of the last event
    char event_epoch[17]; // of this start of the station

    // attend
    int64_t attend_us; // when to report to Redis again that this station is here
    int64_t attending; // stations on this Redis
    int64_t stations_revision;

    // targets
    void *target_context; // of their sockets, which may outlive the station (forward.h)
    struct forward *forward;
    struct callback_book *callbacks; // NULL = none yet
    int64_t dropping_us; // callbacks may be dropped then, monotonic; INT64_MAX = some are just now
    int64_t callback_tested_us; // when one was tried out last, monotonic; 0 = never
    struct target *targets[TARGETS_MAX];
    size_t target_count;
    struct target **gone; // that were removed, until the next turn
    size_t gone_count;
    struct task deferred_destroy;
    bool targets_paused;   // some are, as the store is busy
    bool targets_read;     // those that were added were read from Redis since the start
    struct center *center; // NULL = none

    // runs in flight, by plan id; and their deadlines
    struct _zhashx_t *runs;
    struct heap deadlines;
    size_t runs_unanswered; // without those that are kept (unresponsive.h)
    uint64_t runs_number;   // of the last that was sent
    size_t lookup_bytes;    // of answers whose run is being looked up

    struct flow_book *flows; // definitions of flows (flow_book.h)

    struct late_runs *late_runs; // cancelled ones whose plans are gone (late.h); NULL = none yet

    int64_t flow_sweep_us;       // when ended runs are swept next, monotonic
    struct flow_runs *flow_runs; // runs of flows (flow_live.h)

    struct pull_queues *pull; // takes that wait (pull_wait.c); NULL = none yet

    // due
    int timer_fd;
    struct source due_source;
    int64_t armed_us;       // when it fires, INT64_MAX = never
    bool claiming;          // a claim is in flight
    bool more_due;          // the last one left due plans in the queue
    bool claimed_any;       // the last claim took some
    bool limits_full;       // some wait until a run of their target or group ends
    int64_t claim_us;       // when to claim next, monotonic
    struct heap prefetched; // plans that were claimed before they are due (prefetch.h)
    int64_t prefetch_gap_us, prefetch_counted_us;
    uint64_t swept; // id the next sweep goes on after
    int64_t sweep_us;
};

// The target with this name, or NULL.
struct target *station_target (struct station *self, struct span name);

// A new id for a plan: the time in the high bits, so that ids grow, and a random start of the low
// ones, so that the next owner does not make the same. The store rejects the collisions that
// remain.
uint64_t station_new_id (struct station *self);

// Whether it is the target of callbacks (callback.h).
bool station_is_callbacks (const struct station *self, struct span name);

// The bounds of the store, from the settings.
struct store_bounds station_bounds (const struct station *self);

// Whether this station owns the plans, and Redis takes calls now.
bool station_store_up (const struct station *self);

// Let a standby take over, and be one.
void station_hand_over (struct station *self);

// The targets that were added have been read from Redis: the station can serve.
void station_targets_read (struct station *self);

// Why it does not, for people; empty when it does.
const char *station_store_trouble (const struct station *self);

// Redis' time in whole seconds: the `now` of every rule.
int64_t station_now (const struct station *self);

// Another revision of a message.
int64_t station_revision (void);

// A plan that changes whenever it was read to be changed: so often is it tried.
enum { CHANGE_TRIES_MAX = 8 };

// -- what those above are to know

// Read on, here and from the targets, when the store has room again; call it when a call of the
// store was answered.
void station_resume (struct station *self);

// It cannot go on: station_run ends.
void station_fail (struct station *self, const char *why);

// A run has ended: its place is free.
void station_run_ended (struct station *self);
