// The store: the station's interface to its plans in Redis. One station owns the plans and decides
// on them in memory (core.h). Its decisions are written in numbered batches (writer.h), and a
// caller is answered when its batch has been applied. Each call is answered once, from the reactor,
// never before the call returns. The data in Redis: proto/redis.md.
#pragma once

#include "core.h"
#include "engine.h"
#include "management.h"
#include "link.h"
#include "outcome.h"

struct store;

// The result of a call.
enum store_result {
    STORE_DONE,
    STORE_HELD,    // submit: the id is in use. commit, pull: the run is not the plan's current one.
                   // wake: there may be more plans to wake
    STORE_CHANGED, // commit, change: the stored message is not the one the decision was based on
    STORE_NONE,    // there is no such plan
    STORE_LOST,    // not applied: Redis is away, or was lost before anything was written
    STORE_UNKNOWN, // Redis was lost during the write: it may or may not be applied
    STORE_FULL,    // submit: a limit on the number of plans is reached; the text names it
    STORE_RESET,   // commit: the data the decision was based on are gone: load the plan again
    STORE_UNSURE,  // written, but not confirmed by as many replicas as configured
    STORE_ERROR    // Redis returned an error; the text says which
};

typedef void store_done_fn (void *owner, enum store_result result, const char *error);

// Upper limits on what is stored.
struct store_bounds {
    int64_t history_count; // number of outcomes in the history
    int64_t history_age_s; // age of an outcome in the history
    int64_t output_bytes;  // memory of all outputs, plan:output
    int64_t output_age_s;  // age of an output
    int64_t plans;         // number of plans; 0 = no limit
    int64_t plans_station; // number of plans of a target; 0 = no limit
    int64_t plans_caller;  // number of plans of a caller; 0 = no limit
};

enum { STORE_SCHEMA = 2, STORE_SCHEMA_FORMER = 1 }; // versions of the key layout, kept in plan:meta

// State of the store. Plans may be read and written only while it serves.
enum store_state {
    STORE_AWAY,    // Redis is not connected
    STORE_REFUSED, // Redis is up, but must not hold plans: link_trouble says why
    STORE_STANDBY, // another station owns the plans, or the owner is not known yet
    STORE_LOADING, // this station owns the plans, and loads what it needs
    STORE_SERVING,
    STORE_FENCED // another station took over: this one has dropped all that it knew about the plans
};

// Called once per change of state.
typedef void store_state_fn (void *owner, enum store_state state);

struct store_config {
    struct link_config link;
    bool alone;            // the database is private: there can be no standby
    bool yields;           // for one lease time, let other stations take over first
    int state_folder;      // from state_folder_open; -1 = none. Closed with the store
    const char *name;      // this station's name, as others see it
    const char *endpoints; // the sockets of this station, separated by spaces
    const char *key;       // the public key of this station; "" = without CURVE
    // Called after writes and reads of the queue: when the next plan is due, or may be, Redis'
    // clock.
    void (*due) (void *owner, int64_t redis_us);
};

struct store *store_new (const struct store_config *config, const struct store_bounds *bounds,
                         struct reactor *reactor, store_state_fn *changed, void *owner);
void store_destroy (struct store **self);

// Release memory that was allocated for a burst and is unused now.
void store_trim (struct store *self);

// Replace the limits on what is stored.
void store_set_bounds (struct store *self, const struct store_bounds *bounds);

// The core, for what it knows of all plans.
const struct core *store_core (const struct store *self);

// The link. Callers use only its state and link_flush.
struct link *store_link (const struct store *self);

enum store_state store_state (const struct store *self);

// Why nothing can be written, as text for people: Redis is away, or rejects writes. Empty: writes
// are possible.
const char *store_trouble (struct store *self);

// Whether this station owns the plans as far as it knows, even while Redis is away.
bool store_owns (const struct store *self);

// Whether it owns the plans with a valid lease: only then may it send dispatches and answer
// commands that read.
bool store_is_leased (const struct store *self);

// Let a standby take over, once pending writes are done. STORE_FENCED follows.
void store_hand_over (struct store *self);

// Convert the data back to the former schema, and delete plan:owner. The station must stop
// afterwards: it would take over and convert the data again.
void store_downgrade (struct store *self, store_done_fn *reply, void *owner);

// Whether nothing is left to be written or answered; true also if this station owns no plans.
bool store_is_settled (const struct store *self);

// The number of calls without an answer yet.
size_t store_pending (const struct store *self);

// Whether callers should send no new work now, as too much is in progress.
bool store_busy (const struct store *self);

// Whether, after store_busy, the backlog is low again.
bool store_idle (const struct store *self);

// Redis' clock, Unix time in microseconds, computed from its readings and our monotonic clock.
// Before the first reading: this machine's clock.
int64_t store_now_us (const struct store *self);

// Convert a time of Redis' clock to the monotonic clock.
int64_t store_mono_us (const struct store *self, int64_t redis_us);

// -- submit

struct store_submission {
    struct plan *plan;  // the store takes a reference
    bool made_here;     // the station has just generated the id: Redis has no data under it
    int64_t due;        // when it is due, Unix seconds; 0 = plan_due_time
    struct span missed; // record (store_record) of occurrences missed before it, empty = none
};

// Store a new plan, queued unless its state keeps it out of the queue. Everything is copied.
void store_submit (struct store *self, const struct store_submission *submission,
                   store_done_fn *reply, void *owner);

// -- claim

struct store_claimed {
    struct span station; // target in the name of the message key
    uint64_t plan_id;    // id in that name
    struct span message; // the plan as JSON, as it was before this run
    uint64_t exec_id;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    bool lost;               // this run had no result within its lease, and ends (engine_ends_lost)
    int64_t at_us;           // time of the claim, or the due time if that is later; Redis' clock
    int64_t lease_end_us;    // Redis' clock
    bool unwritten; // the message was not written with the claim: only plan:run shows the run
};

struct store_claim {
    enum store_result result;
    int64_t now_us;           // time of the claim; this and the next times are of Redis' clock
    bool has_next;            // there is a plan that is not due yet
    int64_t next_us;          // when the next plan is due
    bool more;                // due plans remain, and a target has free slots for them
    bool full;                // some plans wait until a run of their target or group ends
    int64_t lease_end_us;     // end of the lease of the claimed runs, until their first heartbeat
    size_t count;             // plans in `taken`
    size_t broken;            // queue members without a valid message, removed from the queue
    struct span first_broken; // one broken member
    const char *error;
    const struct store_claimed *taken; // the claimed plans
};

typedef void store_claim_fn (void *owner, const struct store_claim *answer);

struct claim_wish {
    struct core_wish core;      // the store sets `writes`
    const struct limit *limits; // the limits of `core.targets` in the settings
    // Called with the claim's owner: whether workers fetch the plans of this target, so that a run
    // whose lease expires was not offered yet, and is not recorded as lost. NULL = they never do.
    bool (*is_pull) (void *owner, struct span target);
};

// Start runs of due plans, each with a lease. Only one claim may be in progress.
void store_claim (struct store *self, const struct claim_wish *wish, store_claim_fn *reply,
                  void *owner);

// Call `reply` when the decisions of all earlier calls are written.
void store_call_when_settled (struct store *self, store_done_fn *reply, void *owner);

// -- commit

// A participant of a run and its answer: a field of plan:work.
struct participant {
    struct span name;
    const struct span *frames; // its answer, description first
    size_t count;              // number of frames; 0: it has not answered yet
};

enum { REVISION_ANY = -1 };

struct store_commit {
    const struct plan *plan;
    int64_t revision;        // revision of the message the decision is based on, or REVISION_ANY
    struct span key_station; // target in the message key; after an edit by hand, the plan may name
                             // another
    uint64_t exec_id;
    const struct decision *decision;
    int64_t lease_s; // COMMIT_LEASE: length of the new lease
    const struct participant *participants;
    size_t participant_count;
    struct span record;   // the outcome for the history (store_record), empty = none
    struct span missed;   // record of occurrences that the commit drops, empty = none
    struct span output;   // what the run wrote (output_make), empty = none
    struct plan *called;  // a new plan to store with the outcome; a reference is taken; NULL = none
    struct span uncalled; // record for the history if a limit rejects `called`
    bool keep_message;    // do not write the plan: its message could not be read
    bool has_team;        // workers fetched the plan: data about them are to be deleted, too
    bool failed;          // add `record` to the last failures of the plan
    bool flow;            // COMMIT_LEASE: the run is a flow run
    bool callback;        // the plan sends a callback: its outcomes go to a history of their own
    // Called with `owner` as soon as the decision is accepted: what it writes joins the same batch.
    // NULL = not called.
    void (*then) (void *owner);
};

struct store_committed {
    enum store_result result;
    int64_t seq; // number of the broadcast that is to follow; 0 = none
    const char *epoch;
    struct span message; // STORE_CHANGED: the message that is stored
    struct span full;    // name of the limit that rejected `called`; empty = it was stored
    const char *votes; // {"votes":{"participant":[frames...],...}} if a vote was closed, else NULL
    const char *error;
};

typedef void store_committed_fn (void *owner, const struct store_committed *answer);

// Write the outcome of a run, or a heartbeat. Everything is copied. A heartbeat is delayed by 2 ms,
// as the result of a short run usually follows and supersedes it.
void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner);

// Extend the lease of a run in memory, without a reply: its heartbeat cannot be written yet, and
// Redis may be away for longer than the lease.
void store_extend_lease (struct store *self, struct span key_station, uint64_t plan_id,
                         uint64_t exec_id, int64_t lease_s);

// -- writes that follow from a decision, in the batch of this turn

// What Redis may hold under the id of a plan before it is placed (store_submit_internal).
enum store_id {
    STORE_ID_MADE,  // nothing: the station has just generated the id
    STORE_ID_FIRST, // nothing: the id is a digest of an event that has not happened before
    STORE_ID_AGAIN  // possibly data of a former plan
};

// Store a new plan. Limits on the number of plans do not apply.
void store_submit_internal (struct store *self, const struct plan *plan, enum store_id id);

// Delete a plan that has no run; `caller` is the caller stored in the plan.
void store_delete_plan (struct store *self, struct span station, uint64_t plan_id,
                        struct span caller);

// The exec id of a plan's current run, 0 = none.
uint64_t store_exec_id (const struct store *self, uint64_t plan_id);

// Whether the plan exists in memory, but is not written yet.
bool store_is_submitting (const struct store *self, uint64_t plan_id);

// Wake the run of a flow plan at `due_us`: the plan is claimed, and its run continues.
void store_set_flow_due (struct store *self, struct span station, uint64_t plan_id, int64_t due_us);

// Write to a key that holds no plan (proto/redis.md), with a command of at most 16 words. The
// command joins the batch of this turn.
void store_put (struct store *self, const struct span *words, size_t count);

// Read with a command. `reply` gets NULL when the link is not up.
void store_get (struct store *self, const struct span *words, size_t count, link_reply_fn *reply,
                void *owner);

// Call `reply` when everything decided in this turn is written.
void store_call_when_written (struct store *self, store_done_fn *reply, void *owner);

// The number of the batch that collects current writes. Batch N is in Redis when this number has
// reached N + 2.
int64_t store_batch (const struct store *self);

// How many times all plans in memory were dropped, to be loaded again. It shows a caller whether
// what it noted about them is still valid.
uint64_t store_resets (const struct store *self);

// -- admin commands

struct store_change {
    const struct plan *plan;
    int64_t revision;        // revision of the plan when it was read
    struct span key_station; // target in the message key
    uint64_t exec_id;        // exec id of the run in flight when it was read, 0 = none
    enum requeue queue;      // the plan's new place in the queue
    int64_t lease_s;         // REQUEUE_LEASE: length of the lease
    bool resets_team;        // REQUEUE_TIME: data about its former workers are deleted
    struct span missed;      // history record of occurrences that the change drops, empty = none
    // Called with `owner` of store_change once the stored plan is known to be the one that was
    // read: what it decides is written in the same batch. If it returns false, nothing is changed,
    // and the result is STORE_NONE. NULL: not called.
    bool (*first) (void *owner);
};

// Store a plan that a command changed. STORE_CHANGED: it was changed since it was read. STORE_NONE:
// it was removed.
void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner);

// -- upkeep

// Call when a target has connected: makes at most `limit` plans that wait for it due at once. The
// result is STORE_HELD when there may be more.
void store_wake_waiting (struct store *self, const char *station, int64_t limit,
                         store_done_fn *reply, void *owner);

// A stored plan that is not in the queue.
struct store_outside {
    struct span station; // target in the message key
    uint64_t plan_id;
    struct span message; // JSON
    uint64_t exec_id;    // exec id of its run, 0 = none
    bool no_status;      // that run reported no status in time
};

struct store_swept {
    enum store_result result;
    uint64_t last;    // id to continue after; 0 = the end was reached
    int64_t repaired; // index entries without a message, removed
    size_t count;     // plans outside the queue
    const struct store_outside *outside;
};

typedef void store_swept_fn (void *owner, const struct store_swept *answer);

// Check at most `limit` plans with ids greater than `after`: repair the index, and return those
// that are not in the queue. With `after` 0 it also deletes outcomes and outputs that are too old.
void store_sweep (struct store *self, uint64_t after, int64_t limit, store_swept_fn *reply,
                  void *owner);
