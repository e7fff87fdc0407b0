// The state that the parts of the station share, private to the station. Each part is a pair of
// files named after its job.
#pragma once

#include "counters.h"
#include "curve.h"
#include "embedded.h"
#include "fault.h"
#include "frames.h"
#include "heap.h"
#include "ident.h"
#include "packet.h"
#include "plan_message.h"
#include "process.h"
#include "settings_table.h"
#include "status.h"
#include "store_shared.h"
#include "store_read.h"
#include "subscribers.h"
#include "table.h"
#include "target.h"
#include "watch.h"

enum station_phase {
    PHASE_STARTING, // waits for Redis
    PHASE_SERVING,
    PHASE_STANDBY,  // another station owns the plans
    PHASE_STOPPING, // finishes pending writes, accepts nothing new
    PHASE_FENCED,   // another station took over: all state of the plans is to be dropped
    PHASE_FAILED    // could not start
};

// An automatic identity and its replacement (submit.c).
struct masked_identity {
    uint8_t identity[5], mask[5];
};

// An XPUB socket that publishes results or events, and its subscribers.
struct publisher {
    void *socket; // NULL: it was closed to cut its subscribers, and is not replaced yet
    struct watch watch;
    struct subscribers *subscribers; // its subscriptions, set while the socket is watched
};

// Reads for peers: the cost of those in flight, and the peers with waiting reads, which take turns.
struct peer_reads {
    int cost;             // sum of the costs of the reads in flight
    size_t waiting_bytes; // held by the requests that wait
    struct peer_load *first, **end;
    size_t peers;  // in the list that begins with `first`
    bool starting; // reads_start_waiting is running
};

struct station {
    struct station_settings *settings;
    station_read_fn *read_settings;
    struct zone *zone;
    struct _zhashx_t *zones; // the zones that plans name, by name; NULL = none yet
    enum station_phase phase;
    struct reason failure;        // why PHASE_FAILED
    enum station_fault fault;     // kind of `failure`
    bool reload_wanted;           // set by SIGHUP
    struct reason reload_trouble; // why the last reload was rejected; empty = it was not
    struct counters counters;
    struct histogram submissions; // time from receipt to acknowledgement of stored plans

    struct reactor *reactor;
    int signal_fd;
    struct source signals;
    struct timer tick;
    struct store *store;
    struct reason logged_trouble; // why Redis is away, as last logged
    struct embedded *embedded;    // NULL with an external Redis
    int64_t started_us;
    int64_t stop_us;      // in PHASE_STOPPING: when to stop waiting, monotonic
    int64_t waits_us;     // since when it waits to own the plans, monotonic; 0 = it owns them
    char name[80];        // shown to other stations: host and process
    int64_t owner_since;  // since when it owns the plans, Unix seconds; 0 = it never did
    int64_t owned_us;     // owner_since in microseconds of Redis' clock, like an exec_id
    bool yields;          // let other stations take over first
    bool was_owner;       // it is a former owner, now a standby: no error of Redis ends it
    bool releasing_plans; // in PHASE_STOPPING: the plans are being released
    bool targets_started;
    struct reason redis_trouble; // why the embedded Redis ended; empty = unknown
    bool redis_ended;            // the embedded Redis has ended and has to be restarted
    int64_t respawn_us;          // when to restart it, monotonic
    int64_t respawn_delay_us;    // doubles with each restart

    // access
    struct curve_keys curve_keys; // the station's own; empty = without CURVE
    struct access *access;        // the allow-list; NULL = everybody may do everything
    uint64_t access_mark;         // mark of the folder when it was last read; 0 = read it again
    int64_t access_check_us;      // when to check the folder next, monotonic
    int64_t access_retry_us;      // when to retry invalid files, monotonic
    size_t access_wrong;          // files whose keys may not connect
    struct reason access_trouble; // error of the first wrong file, or of the folder; empty = none
    struct zap *zap;

    // front
    void *request_socket;
    struct watch request_watch; // off: not read until the store has room again
    uint64_t last_id;
    uint8_t caller_secret[16];         // random per start; masks identities
    struct masked_identity masked[64]; // the most recent ones
    struct table peers;                // what each peer has in progress, by identity
    int64_t loads_swept_us;            // when idle loads were last freed
    struct packet_debt unread;         // replies of all peers that libzmq holds
    struct peer_reads reading;         // requests that read plans (reads.c)
    struct packet_limits limits;       // sizes of messages from peers and targets
    struct reason refusing; // why the last submission could not be written; empty = it was written
    int64_t refusing_us;    // when that write failed, monotonic
    int64_t trimmed_s;      // when memory was last returned to the system, monotonic
    uint64_t trimmed_work;  // work count at the previous tick, to detect idle ticks
    bool memory_full;       // above max_memory: requests are BUSY
    size_t kept_bytes;      // held by requests that wait for Redis

    // publish
    struct plan_texts texts; // texts of the dispatch or broadcast being sent
    struct publisher results, events;
    bool subscribers_cut; // `results` and `events` are to be closed and bound again
    enum dialect dialect; // numbers of the request socket and the results
    uint64_t event_seq;   // sequence number of the last event
    char event_epoch[17]; // identifies this start of the station in its events

    // heartbeat to Redis (presence.c)
    int64_t presence_us;       // when to send the next heartbeat, monotonic
    int64_t station_count;     // number of stations on this Redis
    int64_t stations_revision; // revision of the added targets when they were read

    // targets
    void *target_context; // context of their sockets, which may outlive the station (forward.h)
    struct forward *forward;
    struct callback_book *callbacks; // NULL = none yet
    int64_t dropping_us;             // next drop of callbacks, monotonic; INT64_MAX = in progress
    int64_t callback_tested_us;      // when a test callback was last made, monotonic; 0 = never
    struct target *targets[TARGETS_MAX];
    size_t target_count;
    struct target **removed_targets; // destroyed in the next turn
    size_t removed_count;
    struct task deferred_destroy;
    bool targets_paused;   // some targets are paused because the store is busy
    bool targets_read;     // the added targets were read from Redis
    struct center *center; // NULL = none

    // runs in flight, by plan id; and their deadlines
    struct table runs;
    struct heap deadlines;
    size_t runs_unanswered; // runs without a status, except those that are kept (unresponsive.h)
    uint64_t runs_number;   // number of the last run that was sent
    size_t lookup_bytes;    // bytes held by answers whose run is being looked up

    struct flow_book *flows; // definitions of flows (flow_book.h)

    struct late_runs *late_runs; // cancelled runs whose plans are gone (late.h); NULL = none yet

    int64_t flow_sweep_us;       // when to sweep ended runs next, monotonic
    struct flow_runs *flow_runs; // runs of flows (flow_live.h)

    struct pull_queues *pull; // waiting takes (pull_wait.c); NULL = none yet

    // due
    int timer_fd;
    struct source due_source;
    int64_t armed_us;            // when the timer fires, monotonic; INT64_MAX = never
    bool claiming;               // a claim is in flight
    bool more_due;               // the last claim left due plans in the queue
    bool claimed_any;            // the last claim took some plans
    bool limits_full;            // some due plans wait until a run of their target or group ends
    int64_t claim_us;            // when to claim next, monotonic
    struct heap prefetched;      // plans that were claimed before they are due (prefetch.h)
    int64_t prefetch_gap_us;     // average time between claimed plans
    int64_t prefetch_counted_us; // when a claim last took plans, monotonic; 0 = never
    uint64_t swept;              // id after which the next sweep page starts
    int64_t sweep_us;            // when to read that page, monotonic
};

// The target with this name, or NULL.
struct target *station_target (struct station *self, struct span name);

// A new id for a plan. The high bits are the time, so that ids grow; the low bits start at a random
// number, so that the next owner does not make the same ids. The store rejects remaining
// collisions.
uint64_t station_new_id (struct station *self);

// Whether this is the name of the callback target (callback.h).
bool station_is_callbacks (const struct station *self, struct span name);

// The bounds of the store, from the settings.
struct store_bounds station_bounds (const struct station *self);

// Whether this station owns the plans and Redis is available now.
bool station_store_up (const struct station *self);

// Let a standby take over, and become a standby.
void station_hand_over (struct station *self);

// Serve, now that the added targets have been read from Redis.
void station_targets_read (struct station *self);

// Why the store is not up, for display; empty when it is.
const char *station_store_trouble (const struct station *self);

// Redis' time in whole seconds: the `now` of every rule.
int64_t station_now (const struct station *self);

// A new revision for a stored message.
int64_t station_revision (void);

// How often a change is tried when the plan is changed by others in between.
enum { CHANGE_TRIES_MAX = 8 };

// -- calls from the parts to the station as a whole

// Resume reading requests and the targets' messages if the store has room again; call it after each
// answer of the store that is not followed by a reply (reply_send does it).
void station_resume (struct station *self);

// Make station_run end, as the station cannot continue.
void station_fail (struct station *self, const char *why);

// Handle the end of a run: its slot is free, so plans held back by a limit are claimed.
void station_run_ended (struct station *self);
