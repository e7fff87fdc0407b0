// The store: plans in Redis, in the station's words. One station owns them and decides on them in
// memory (core.h); what it decides is written by numbered batches (writer.h), and a caller is
// answered when its batch was applied. Calls are answered once each, from the reactor, and never
// inside themselves. What Redis holds: proto/redis.md.
#pragma once

#include "engine.h"
#include "limit_state.h"
#include "management.h"
#include "link.h"
#include "outcome.h"

struct store;

// How a call went.
enum store_result {
    STORE_DONE,
    STORE_HELD,    // submit: the id is in use. commit, pull: the run is not the current one.
                   // wake: there may be more
    STORE_CHANGED, // commit, change: the message is not the one that was decided on
    STORE_NONE,    // there is no such plan
    STORE_LOST,    // Redis is away, or was lost before anything was written
    STORE_UNKNOWN, // Redis was lost while it was written: the outcome is unknown, it may still be
                   // applied
    STORE_FULL,    // submit: there are as many plans as are allowed; the text names the bound
    STORE_RESET,   // commit: the data it was decided on are gone: load the plan again
    STORE_UNSURE,  // it is written, but not all the replicas that were asked for have it
    STORE_ERROR    // Redis refused; the text says why
};

typedef void store_done_fn (void *owner, enum store_result result, const char *error);

// The bounds of what is kept.
struct store_bounds {
    int64_t history_count; // outcomes of runs, at most
    int64_t history_age_s;
    int64_t output_bytes; // of plan:output, at most
    int64_t output_age_s;
    int64_t plans, plans_station, plans_caller; // in all, of a target, of a caller; 0 = no bound
};

enum { STORE_TARGETS_MAX = 256 };
enum { STORE_SCHEMA = 2, STORE_SCHEMA_FORMER = 1 }; // of the keys, in plan:meta

// How far it is. Only a station that serves may read or write plans.
enum store_state {
    STORE_AWAY,    // Redis is not connected
    STORE_REFUSED, // it is there, and must not hold plans (link_trouble)
    STORE_STANDBY, // another station owns the plans, or it is not known yet
    STORE_LOADING, // this one does, and reads what it needs
    STORE_SERVING,
    STORE_FENCED // another one took over: all that is known of the plans is dropped
};

// Called once per change of state.
typedef void store_state_fn (void *owner, enum store_state state);

struct store_config {
    struct link_config link;
    bool alone;            // the database is private: there can be no standby
    bool yields;           // others are to take over first
    int state_folder;      // state_folder_open; -1 = none. Closed with the store
    const char *name;      // of this station, as others see it
    const char *endpoints; // the sockets of this station, separated by spaces
    const char *key;       // the public key of this station; "" = without CURVE
    void (*due) (void *owner, int64_t redis_us); // a plan may be due then, or is
};

struct store *store_new (const struct store_config *config, const struct store_bounds *bounds,
                         struct reactor *reactor, store_state_fn *changed, void *owner);
void store_destroy (struct store **self);

// Release memory that a burst needed and nothing uses now.
void store_trim (struct store *self);

// Other bounds from now on.
void store_set_bounds (struct store *self, const struct store_bounds *bounds);

// The link, for its state and its flush.
struct link *store_link (const struct store *self);

enum store_state store_state (const struct store *self);

// Why nothing can be written, for people: Redis is away, or refuses it. Empty: it can.
const char *store_trouble (struct store *self);

// Whether this station owns the plans as far as it knows; also while Redis is away. And whether
// what needs a lease may leave: dispatches, and answers to commands that read.
bool store_owns (const struct store *self);
bool store_is_leased (const struct store *self);

// Let a standby take over: what gathers is written first. STORE_FENCED follows.
void store_hand_over (struct store *self);

// Make the data those of the former version again, and give them up. Stop the station then.
void store_go_back (struct store *self, store_done_fn *reply, void *owner);

// Whether nothing is left to be written or answered.
bool store_is_settled (const struct store *self);

// Calls, and plans of calls, without an answer yet.
size_t store_pending (const struct store *self);

// Whether callers should hold back new work, and whether the backlog is low again.
bool store_busy (const struct store *self);
bool store_idle (const struct store *self);

// Redis' clock in microseconds, from its last answer that had it and our monotonic clock. Before
// the first one: the machine's own.
int64_t store_now_us (const struct store *self);

// A moment of Redis' clock as one of the monotonic clock.
int64_t store_mono_us (const struct store *self, int64_t redis_us);

// -- submit

struct store_submitted {
    enum store_result result;
    const char *error; // STORE_ERROR, STORE_FULL
};

typedef void store_submitted_fn (void *owner, const struct store_submitted *answer);

struct store_submission {
    struct plan *plan;  // kept
    bool made_here;     // its id was made by the station just now: nothing is left of a former plan
    int64_t due;        // when it is to be looked at, Unix seconds; 0 = plan_due_time
    struct span missed; // for the history: occurrences before it (store_record), empty = none
};

// The greatest id that was made here, by any owner: new ones are greater.
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
    uint64_t lost; // that one, in flight until now without a result within its lease; 0 = none
    int64_t at_us; // Redis' clock: that of the claim, or when it is due if that is later
    int64_t lease_end_us;
    bool unwritten; // its claim, one of many, did not write the message: plan:run alone has it
};

struct store_claim {
    enum store_result result;
    int64_t now_us;  // Redis' clock
    bool has_next;   // there is a plan that is not due yet
    int64_t next_us; // when the next plan is due
    bool more;       // there are due ones that were not taken, and targets that take some
    bool full;       // some wait until a run of their target or group ends
    int64_t lease_end_us;
    size_t count;
    size_t broken;            // members without a sound message, taken out of the queue
    struct span first_broken; // one broken member
    const char *error;
    const struct store_claimed *taken; // `count` plans
};

typedef void store_claim_fn (void *owner, const struct store_claim *answer);

// A target with its free slots.
struct claim_target {
    const char *name;
    int64_t free_slots;
    bool pull; // workers fetch its plans: limits hold when they do, not here
    uint64_t
        probe; // a plan of it that is taken when it is due, however few slots are free; 0 = none
    struct limit limit; // by the settings
};

struct claim_wish {
    int64_t limit;                      // plans
    int64_t first_lease_s;              // of a run without a heartbeat
    int64_t ahead_us;                   // those that are due within so long are taken too
    const struct claim_target *targets; // the others take all
    size_t target_count;                // at most STORE_TARGETS_MAX
    // With the owner of the claim: whether a lease of a run of this target that ended is no loss
    // (`pull` of struct due). NULL = it always is one.
    bool (*is_pull) (void *owner, struct span target);
};

// Take due plans with a lease. One claim at a time.
void store_claim (struct store *self, const struct claim_wish *wish, store_claim_fn *reply,
                  void *owner);

// Answered when all calls before it are.
void store_settle (struct store *self, store_done_fn *reply, void *owner);

// How many plans of a target are due and wait for their turn.
int64_t store_ready (const struct store *self, const char *target);
int64_t store_oldest_us (const struct store *self, const char *target); // core_oldest_us

// How many due plans of a target are in Redis only, as the memory for those that wait is full.
int64_t store_unread (const struct store *self, const char *target);

// Call for each target that has plans with how many, from memory; also one that is not known.
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
    int64_t revision;        // of the message that was decided on, or REVISION_ANY
    struct span key_station; // of the message key, which an operator may have made differ
    uint64_t exec_id;
    const struct decision *decision;
    int64_t lease_s; // COMMIT_LEASE
    const struct participant *participants;
    size_t participant_count;
    struct span record;   // the outcome for the history (store_record), empty = none
    struct span missed;   // the same of occurrences that it drops
    struct span output;   // what the run wrote (output_make), empty = none
    struct plan *called;  // kept: a new plan that is placed with the outcome; NULL = none
    struct span uncalled; // for the history when there is no room for that
    bool keep_message;    // do not write the plan: its message could not be read
    bool has_team;        // workers fetched it: more is kept of it
    bool failed;          // its record is one of the plan's last failures
    bool flow;            // COMMIT_LEASE: its run is a flow's
    bool callback;        // its outcomes are not broadcast, and have a history of their own
    // Called at once when the decision stands, with `owner`: what follows from it in the same
    // batch. NULL = nothing.
    void (*then) (void *owner);
};

struct store_committed {
    enum store_result result;
    int64_t seq; // of the broadcast that is to follow; 0 = none
    const char *epoch;
    struct span message; // STORE_CHANGED: what stands there
    struct span full;    // the bound for which `called` was not placed; empty = it was
    const char *votes;   // of a poll that was closed: {"votes":{"participant":[frames...],...}}
    const char *error;
};

typedef void store_committed_fn (void *owner, const struct store_committed *answer);

// Write what became of a run. Everything is copied. A heartbeat waits for some milliseconds: mostly
// the result of a short run takes its place in the batch.
void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner);

// Move the end of the lease of a run whose heartbeat is not written yet: Redis may be away for
// longer than the lease, and nobody waits for this.
void store_extend_lease (struct store *self, struct span key_station, uint64_t plan_id,
                         uint64_t exec_id, int64_t lease_s);

// -- what follows from a decision, in the batch of this turn

// What Redis may still hold under the id of a plan that is placed.
enum store_id {
    STORE_ID_MADE,  // nothing: the station made it just now
    STORE_ID_FIRST, // nothing: the id is a digest of an event that has not happened before
    STORE_ID_AGAIN  // what a former plan may have left
};

// A new plan. No bound keeps it out.
void store_place (struct store *self, const struct plan *plan, enum store_id id);

// Delete a plan that has no run; `caller` as the plan has it.
void store_take_back (struct store *self, struct span station, uint64_t plan_id,
                      struct span caller);

// The exec id of a plan's run that is not over, 0 = it has none.
uint64_t store_exec_id (const struct store *self, uint64_t plan_id);

// Whether a plan that is there is not written yet.
bool store_is_placing (const struct store *self, uint64_t plan_id);

// The run of a flow plan is looked at then: the plan is claimed, and its run goes on.
void store_flow_due (struct store *self, struct span station, uint64_t plan_id, int64_t due_us);

// A command of a key that is no plan's (proto/redis.md), at most 16 words. And a question; with
// LINK_ONCE `reply` gets NULL when the link is not up.
void store_put (struct store *self, const struct span *words, size_t count);
void store_get (struct store *self, const struct span *words, size_t count, link_reply_fn *reply,
                void *owner);

// Answered when all that was decided in this turn is written.
void store_when_written (struct store *self, store_done_fn *reply, void *owner);

// The batch that gathers what is written now. What an earlier one has is in Redis when one more
// than the next has begun.
int64_t store_batch (const struct store *self);

// How often what is known of the plans was forgotten, to be read again.
uint64_t store_resets (const struct store *self);

// -- admin commands

struct store_change {
    const struct plan *plan;
    int64_t revision;        // of the plan when it was read
    struct span key_station; // of the message key
    uint64_t exec_id;        // of the run in flight then, 0 = none
    enum requeue queue;
    int64_t lease_s;    // REQUEUE_LEASE
    bool begins_anew;   // REQUEUE_TIME: its workers of before are forgotten
    struct span missed; // for the history: occurrences that it drops, empty = none
    // Called with the owner as soon as it is known to be the plan that was read: what it decides is
    // written in the same batch. False: nothing is changed, STORE_NONE. NULL: there is nothing.
    bool (*first) (void *owner);
};

// Store a plan that a command changed; STORE_CHANGED when it was changed in between, STORE_NONE
// when it is gone.
void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner);

// core_take_off_leases.
void store_take_off_leases (const struct store *self, int64_t from_s, int64_t step_s,
                            int64_t *counts, size_t count);

// -- upkeep

// A target connected: at most `limit` plans that wait for it are due at once. The answer's `result`
// is STORE_HELD when there may be more.
void store_wake (struct store *self, const char *station, int64_t limit, store_done_fn *reply,
                 void *owner);

// A plan that is kept, and not in the queue.
struct store_outside {
    struct span station; // of the message key
    uint64_t plan_id;
    struct span message;
    uint64_t exec_id; // of its run, 0 = none
    bool no_status;   // that run gave no status in time
};

struct store_swept {
    enum store_result result;
    uint64_t last;    // id to go on after; 0 = that was the end
    int64_t repaired; // entries without a message
    size_t count;     // plans outside the queue
    const struct store_outside *outside;
};

typedef void store_swept_fn (void *owner, const struct store_swept *answer);
void store_sweep (struct store *self, uint64_t after, int64_t limit, store_swept_fn *reply,
                  void *owner);
