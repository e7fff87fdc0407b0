// The store: the station's interface to its plans in Redis. One station owns the plans and decides
// on them in memory (core.h). Its decisions are written in numbered batches (writer.h), and a
// caller is answered when its batch has been applied. Each call is answered once, from the reactor,
// never before the call returns. The data in Redis: proto/redis.md.
#pragma once

#include "engine.h"
#include "limit_state.h"
#include "management.h"
#include "link.h"
#include "outcome.h"

struct store;

// The result of a call.
enum store_result {
    STORE_DONE,
    STORE_HELD,    // submit: the id is in use. commit, pull: the run is not the current one.
                   // wake: there may be more
    STORE_CHANGED, // commit, change: the stored message is not the one the decision was based on
    STORE_NONE,    // there is no such plan
    STORE_LOST,    // Redis is away, or was lost before anything was written
    STORE_UNKNOWN, // Redis was lost during the write: it may or may not be applied
    STORE_FULL,    // submit: a limit on the number of plans is reached; the text names it
    STORE_RESET,   // commit: the data the decision was based on are gone: load the plan again
    STORE_UNSURE,  // written, but not confirmed by as many replicas as configured
    STORE_ERROR    // Redis returned an error; the text says which
};

typedef void store_done_fn (void *owner, enum store_result result, const char *error);

// Limits on what is stored.
struct store_bounds {
    int64_t history_count; // outcomes of runs, at most
    int64_t history_age_s;
    int64_t output_bytes; // of plan:output, at most
    int64_t output_age_s;
    int64_t plans, plans_station, plans_caller; // in all, per target, per caller; 0 = no limit
};

enum { STORE_TARGETS_MAX = 256 };
enum { STORE_SCHEMA = 2, STORE_SCHEMA_FORMER = 1 }; // versions of the key layout, kept in plan:meta

// State of the store. Plans may be read and written only while it serves.
enum store_state {
    STORE_AWAY,    // Redis is not connected
    STORE_REFUSED, // Redis is up, but must not hold plans: link_trouble says why
    STORE_STANDBY, // another station owns the plans, or the owner is not known yet
    STORE_LOADING, // this station owns the plans, and loads what it needs
    STORE_SERVING,
    STORE_FENCED // another station took over: everything known about the plans is dropped
};

// Called once per change of state.
typedef void store_state_fn (void *owner, enum store_state state);

struct store_config {
    struct link_config link;
    bool alone;            // the database is private: there can be no standby
    bool yields;           // let other stations take over first
    int state_folder;      // from state_folder_open; -1 = none. Closed with the store
    const char *name;      // of this station, as others see it
    const char *endpoints; // the sockets of this station, separated by spaces
    const char *key;       // the public key of this station; "" = without CURVE
    void (*due) (void *owner, int64_t redis_us); // a plan is due at this time, or may be
};

struct store *store_new (const struct store_config *config, const struct store_bounds *bounds,
                         struct reactor *reactor, store_state_fn *changed, void *owner);
void store_destroy (struct store **self);

// Release memory that was allocated for a burst and is unused now.
void store_trim (struct store *self);

// Replace the limits.
void store_set_bounds (struct store *self, const struct store_bounds *bounds);

// The link, for its state and its flush.
struct link *store_link (const struct store *self);

enum store_state store_state (const struct store *self);

// Why nothing can be written, as text for people: Redis is away, or rejects writes. Empty: writes
// are possible.
const char *store_trouble (struct store *self);

// Whether this station owns the plans as far as it knows, even while Redis is away; and whether it
// holds the lease that it needs to send dispatches and to answer commands that read.
bool store_owns (const struct store *self);
bool store_is_leased (const struct store *self);

// Let a standby take over, once pending writes are done. STORE_FENCED follows.
void store_hand_over (struct store *self);

// Convert the data back to the former schema and give up their ownership. The station must stop
// afterwards.
void store_go_back (struct store *self, store_done_fn *reply, void *owner);

// Whether nothing is left to be written or answered.
bool store_is_settled (const struct store *self);

// The number of calls without an answer yet.
size_t store_pending (const struct store *self);

// Whether callers should hold back new work, and whether the backlog is low again.
bool store_busy (const struct store *self);
bool store_idle (const struct store *self);

// Redis' clock in microseconds, from its last known reading and our monotonic clock. Before the
// first reading: this machine's clock.
int64_t store_now_us (const struct store *self);

// Convert a time of Redis' clock to the monotonic clock.
int64_t store_mono_us (const struct store *self, int64_t redis_us);

// -- submit

struct store_submitted {
    enum store_result result;
    const char *error; // STORE_ERROR, STORE_FULL
};

typedef void store_submitted_fn (void *owner, const struct store_submitted *answer);

struct store_submission {
    struct plan *plan; // kept
    bool made_here; // the station has just generated its id, so no former plan left data under it
    int64_t due;    // when it is due, Unix seconds; 0 = plan_due_time
    struct span missed; // record (store_record) of occurrences missed before it, empty = none
};

// The greatest id that any owner of these data has generated: new ones are greater.
uint64_t store_last_id (const struct store *self);

// Store a new plan, queued unless its state keeps it out of the queue. Everything is copied.
void store_submit (struct store *self, const struct store_submission *submission,
                   store_submitted_fn *reply, void *owner);

// -- claim

struct store_claimed {
    struct span station; // of the message key
    uint64_t plan_id;    // of the key
    struct span message; // JSON, as it was before this run
    uint64_t exec_id;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    uint64_t lost;           // its exec id if its lease expired just now without a result; 0 = none
    int64_t at_us;           // Redis' clock: time of the claim, or the due time if that is later
    int64_t lease_end_us;
    bool unwritten; // the message was not written with the claim: only plan:run shows the run
};

struct store_claim {
    enum store_result result;
    int64_t now_us;  // Redis' clock
    bool has_next;   // there is a plan that is not due yet
    int64_t next_us; // when the next plan is due
    bool more;       // due plans were left, and a target has free slots for them
    bool full;       // some plans wait until a run of their target or group ends
    int64_t lease_end_us;
    size_t count;
    size_t broken;            // queue members without a valid message, removed from the queue
    struct span first_broken; // one broken member
    const char *error;
    const struct store_claimed *taken; // `count` plans
};

typedef void store_claim_fn (void *owner, const struct store_claim *answer);

// A target with its free slots.
struct claim_target {
    const char *name;
    int64_t free_slots;
    bool pull;      // workers fetch its plans: limits apply when they do, not here
    uint64_t probe; // id of a plan of it that is taken when due even if no slot is free; 0 = none
    struct limit limit; // from the settings
};

struct claim_wish {
    int64_t limit;                      // plans
    int64_t first_lease_s;              // of a run without a heartbeat
    int64_t ahead_us;                   // plans that become due within this time are taken, too
    const struct claim_target *targets; // targets that are not listed take everything
    size_t target_count;                // at most STORE_TARGETS_MAX
    // Called with the claim's owner: whether a run of this target is not lost when its lease
    // expires (`pull` of struct due). NULL = it always is.
    bool (*is_pull) (void *owner, struct span target);
};

// Take due plans with a lease. One claim at a time.
void store_claim (struct store *self, const struct claim_wish *wish, store_claim_fn *reply,
                  void *owner);

// Call `reply` when all earlier calls have been answered.
void store_settle (struct store *self, store_done_fn *reply, void *owner);

// How many plans of a target are due and wait for their turn.
int64_t store_ready (const struct store *self, const char *target);
int64_t store_oldest_us (const struct store *self, const char *target); // core_oldest_us

// How many due plans of a target are in Redis only, because the memory for waiting plans is full.
int64_t store_unread (const struct store *self, const char *target);

// Call `call` for each target that has plans, with their number, from memory; unknown targets are
// included.
typedef void store_target_fn (void *owner, struct span target, int64_t plans);
void store_each_target (const struct store *self, store_target_fn *call, void *owner);

// -- commit

// A field of plan:work.
struct participant {
    struct span name;
    const struct span *frames; // its answer, description first
    size_t count;              // 0: it has not answered yet
};

enum { REVISION_ANY = -1 };

struct store_commit {
    const struct plan *plan;
    int64_t revision;        // of the message the decision is based on, or REVISION_ANY
    struct span key_station; // of the message key; may differ from the plan's after an edit by hand
    uint64_t exec_id;
    const struct decision *decision;
    int64_t lease_s; // COMMIT_LEASE
    const struct participant *participants;
    size_t participant_count;
    struct span record;   // the outcome for the history (store_record), empty = none
    struct span missed;   // record of occurrences that it drops, empty = none
    struct span output;   // what the run wrote (output_make), empty = none
    struct plan *called;  // kept: a new plan that is placed with the outcome; NULL = none
    struct span uncalled; // record for the history if a limit keeps `called` out
    bool keep_message;    // do not write the plan: its message could not be read
    bool has_team;        // workers fetched it: more is kept of it
    bool failed;          // its record is one of the plan's last failures
    bool flow;            // COMMIT_LEASE: its run is a flow's
    bool callback;        // its outcomes are not broadcast, and have a history of their own
    // Called with `owner` as soon as the decision is accepted: what it writes joins the same batch.
    // NULL = nothing.
    void (*then) (void *owner);
};

struct store_committed {
    enum store_result result;
    int64_t seq; // of the broadcast that is to follow; 0 = none
    const char *epoch;
    struct span message; // STORE_CHANGED: the message that is stored
    struct span full;    // the limit that kept `called` out; empty = it was placed
    const char *votes;   // of a poll that was closed: {"votes":{"participant":[frames...],...}}
    const char *error;
};

typedef void store_committed_fn (void *owner, const struct store_committed *answer);

// Write the outcome of a run, or a heartbeat. Everything is copied. A heartbeat is delayed by some
// milliseconds: the result of a short run usually supersedes it.
void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner);

// Extend the lease of a run whose heartbeat is not written yet: Redis may be away for longer than
// the lease. There is no reply.
void store_extend_lease (struct store *self, struct span key_station, uint64_t plan_id,
                         uint64_t exec_id, int64_t lease_s);

// -- writes that follow from a decision, in the batch of this turn

// What Redis may still hold under the id of a plan that is placed.
enum store_id {
    STORE_ID_MADE,  // nothing: the station made it just now
    STORE_ID_FIRST, // nothing: the id is a digest of an event that has not happened before
    STORE_ID_AGAIN  // possibly data of a former plan
};

// Store a new plan. Limits on the number of plans do not apply.
void store_place (struct store *self, const struct plan *plan, enum store_id id);

// Delete a plan that has no run; `caller` is the plan's.
void store_take_back (struct store *self, struct span station, uint64_t plan_id,
                      struct span caller);

// The exec id of a plan's current run, 0 = none.
uint64_t store_exec_id (const struct store *self, uint64_t plan_id);

// Whether the plan exists in memory, but is not written yet.
bool store_is_placing (const struct store *self, uint64_t plan_id);

// Wake the run of a flow plan at `due_us`: the plan is claimed, and its run continues.
void store_flow_due (struct store *self, struct span station, uint64_t plan_id, int64_t due_us);

// Write with a command for a key that is no plan's (proto/redis.md), at most 16 words. store_get
// reads with one; `reply` gets NULL when the link is not up.
void store_put (struct store *self, const struct span *words, size_t count);
void store_get (struct store *self, const struct span *words, size_t count, link_reply_fn *reply,
                void *owner);

// Call `reply` when everything decided in this turn is written.
void store_when_written (struct store *self, store_done_fn *reply, void *owner);

// The number of the batch that collects current writes. Batch N is in Redis when this number has
// reached N + 2.
int64_t store_batch (const struct store *self);

// How often everything known about the plans was dropped, to be loaded again.
uint64_t store_resets (const struct store *self);

// -- admin commands

struct store_change {
    const struct plan *plan;
    int64_t revision;        // of the plan when it was read
    struct span key_station; // of the message key
    uint64_t exec_id;        // of the run in flight then, 0 = none
    enum requeue queue;
    int64_t lease_s;    // REQUEUE_LEASE
    bool resets_team;   // REQUEUE_TIME: its former workers are forgotten
    struct span missed; // history record of occurrences that it drops, empty = none
    // Called with the owner once the stored plan is known to be the one that was read: what it
    // decides is written in the same batch. False: nothing is changed, STORE_NONE. NULL: not
    // called.
    bool (*first) (void *owner);
};

// Store a plan that a command changed; STORE_CHANGED when it was changed in between, STORE_NONE
// when it is gone.
void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner);

// See core_take_off_leases.
void store_take_off_leases (const struct store *self, int64_t from_s, int64_t step_s,
                            int64_t *counts, size_t count);

// -- upkeep

// A target connected: make at most `limit` plans that wait for it due at once. The result is
// STORE_HELD when there may be more.
void store_wake (struct store *self, const char *station, int64_t limit, store_done_fn *reply,
                 void *owner);

// A stored plan that is not in the queue.
struct store_outside {
    struct span station; // of the message key
    uint64_t plan_id;
    struct span message;
    uint64_t exec_id; // of its run, 0 = none
    bool no_status;   // that run reported no status in time
};

struct store_swept {
    enum store_result result;
    uint64_t last;    // id to continue after; 0 = the end was reached
    int64_t repaired; // index entries without a message, removed
    size_t count;     // plans outside the queue
    const struct store_outside *outside;
};

typedef void store_swept_fn (void *owner, const struct store_swept *answer);
void store_sweep (struct store *self, uint64_t after, int64_t limit, store_swept_fn *reply,
                  void *owner);
