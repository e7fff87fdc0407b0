// The store: plans in Redis, in the station's words. One station owns them and decides on them in
// memory (core.h); what it decides is written by numbered batches (writer.h), and who asked is
// answered when his was applied. Calls are answered once each, from the reactor, and never inside
// themselves. What Redis holds: proto/redis.md.
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
    STORE_HELD,    // submit: the id is in use. commit: the run is not the current one
    STORE_CHANGED, // commit, change: the message is not the one that was decided on
    STORE_NONE,    // there is no such plan
    STORE_LOST,    // Redis is away, or was lost before anything was written
    STORE_UNKNOWN, // Redis was lost while it was written: it is applied, may be yet, or is not
    STORE_FULL,    // submit: there are as many plans as are allowed; the text names the bound
    STORE_RESET,   // commit: what it was decided on is not there any more: load the plan again
    STORE_UNSURE,  // it is written, but not all the replicas that were asked for have it
    STORE_ERROR    // Redis refused; the text says why
};

typedef void store_done_fn (void *owner, enum store_result result, const char *error);

// What is kept, and how much of it.
struct store_bounds {
    int64_t history_count; // outcomes of runs
    int64_t history_age_s;
    int64_t output_bytes; // that plan:output may take
    int64_t output_age_s;
    int64_t plans, plans_station, plans_caller; // in all, of a target, of a caller; 0 = no bound
};

enum { STORE_SCHEMA = 2, STORE_SCHEMA_FORMER = 1 }; // of the keys, in plan:meta

// How far it is. Only a station that serves may read or write plans.
enum store_state {
    STORE_AWAY,    // Redis is not connected
    STORE_REFUSED, // it is there, and must not hold plans (link_trouble)
    STORE_STANDBY, // another station owns the plans, or it is not known yet
    STORE_LOADING, // this one does, and reads what it needs
    STORE_SERVING,
    STORE_FENCED // another one took over: whoever knows something of the plans forgets it
};

// "away", "refused", ...
const char *store_state_name (enum store_state state);

// Told once per change of state.
typedef void store_state_fn (void *owner, enum store_state state);

struct store_config {
    struct link_config link;
    bool alone;            // the database is private: there can be no standby
    bool yields;           // others are to take over first
    int state_folder;      // state_folder_open; -1 = none. Closed with the store
    const char *name;      // of this station, for others
    const char *endpoints; // the same: where its sockets are, with blanks between
    const char *key;       // the same: its public key; "" = without CURVE
    void (*due) (void *owner, int64_t redis_us); // a plan may be due then, or is
};

struct store *store_new (const struct store_config *config, const struct store_bounds *bounds,
                         struct reactor *reactor, store_state_fn *changed, void *owner);
void store_destroy (struct store **self);

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

// Whether so much is under way that whoever can should wait, and whether it is little again.
bool store_busy (const struct store *self);
bool store_idle (const struct store *self);

// Redis' clock in microseconds, from its last answer that told it and our monotonic clock. Before
// the first one: the machine's own.
int64_t store_now_us (const struct store *self);

// Before any answer told it: from what was seen of Redis as the link was opened.
void store_begin_clock (struct store *self);

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
    bool again;    // an earlier run of this occurrence has not ended
    uint64_t lost; // that one, in hand until now without a result within its lease; 0 = none
    int64_t at_us; // Redis' clock: that of the claim, or when it is due if that is later
    int64_t lease_end_us;
    bool unwritten; // its claim, one of many, did not write the message: plan:run alone told of it
};

struct store_claim {
    enum store_result result;
    int64_t now_us;  // Redis' clock
    bool has_next;   // there is a plan that is not due yet
    int64_t next_us; // when it is
    bool more;       // there are due ones that were not taken, and targets that take some
    bool full;       // some wait until a run of their target or group ends
    int64_t lease_end_us;
    size_t count;
    size_t broken;            // members without a sound message, taken out of the queue
    struct span first_broken; // one of them
    const char *error;
    const struct store_claimed *taken; // `count` of them
};

typedef void store_claim_fn (void *owner, const struct store_claim *answer);

// A target that takes no more than so many.
struct claim_target {
    const char *name;
    int64_t room;
    bool fetched;       // by workers: limits hold when they take plans, not here
    uint64_t probe;     // a plan of it that is taken when it is due, whatever `room` is; 0 = none
    struct limit limit; // by the settings
};

struct claim_wish {
    int64_t limit;                      // plans
    int64_t first_lease_s;              // of a run without a heartbeat
    int64_t ahead_us;                   // those that are due within so long are taken too
    const struct claim_target *targets; // the others take all
    size_t target_count;
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

// -- what follows from a decision, in the batch of this turn

// A new plan. No bound keeps it out. `made_here`: its id was made by the station just now; else
// nothing is there of that id but what a former plan may have left.
void store_place (struct store *self, const struct plan *plan, bool made_here);

// Delete a plan that has no run; `caller` as the plan has it.
void store_take_back (struct store *self, struct span station, uint64_t plan_id,
                      struct span caller);

// Whether a plan has a run that is not over; `ret_exec_id` is that, or 0.
bool store_has_runs (const struct store *self, uint64_t plan_id, uint64_t *ret_exec_id);

// Whether a plan that is there is not written yet.
bool store_is_placing (const struct store *self, uint64_t plan_id);

// The number of that run, 0 = none.
uint64_t store_exec_id (const struct store *self, uint64_t plan_id);

// The run of a flow plan is looked at then: the plan is claimed, and its run goes on. False: it has
// no such run.
bool store_flow_due (struct store *self, struct span station, uint64_t plan_id, int64_t due_us);

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

// -- management

struct store_change {
    const struct plan *plan;
    int64_t revision;        // that it was read at
    struct span key_station; // of the message key
    uint64_t exec_id;        // of the run that was out then, 0 = none
    enum requeue queue;
    int64_t lease_s;    // REQUEUE_LEASE
    bool begins_anew;   // REQUEUE_TIME: its workers of before are forgotten
    struct span missed; // for the history: occurrences that it drops, empty = none
    // Called with the owner as soon as it is known to be the plan that was read: what it decides is
    // written in the same batch. False: nothing is changed, STORE_NONE. NULL: there is nothing.
    bool (*first) (void *owner);
};

// Store a plan that management changed; STORE_CHANGED when it was changed in between, STORE_NONE
// when it is gone.
void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner);

// core_take_off_leases.
void store_take_off_leases (const struct store *self, int64_t from_s, int64_t step_s,
                            int64_t *counts, size_t count);

// -- look-ups

// A limit at work.
struct limit_use {
    bool set; // in Redis; else it is as the settings say
    struct limit limit;
    int64_t busy;    // runs that it counts
    int64_t used_us; // its rate is used up to this time, by the clock of Redis
};

// Where a plan stands in the queue.
struct store_place {
    bool queued;
    int64_t score_us; // by the clock of Redis
    bool ready;       // it is due, and waits for its turn at its target
    bool waits;       // due at once when its target connects
    int64_t before;   // others that are ready and go before it
    struct limit_use station, group;
    bool counted; // it is one of their runs
};

struct store_loaded {
    enum store_result result;
    struct span station;
    struct span message; // JSON
    bool running;        // a run is in progress
    bool given_up;       // that run gave no status in time: only a late one can still come
    uint64_t exec_id;
    bool again;
    const redisReply *work;     // participant, its result as JSON text, ...; NULL if not asked for
    const redisReply *failures; // its last ones; NULL if not asked for
    const struct store_place *place; // the same
    const char *error;
};

typedef void store_loaded_fn (void *owner, const struct store_loaded *answer);

// Find a plan by its id: in the index, and under this target's name (empty = no other).
void store_look_up (struct store *self, uint64_t plan_id, struct span station,
                    store_loaded_fn *reply, void *owner);

// The same without its message: whether there is one, mostly. What was removed just now may be
// reported as there.
void store_exists (struct store *self, uint64_t plan_id, struct span station,
                   store_loaded_fn *reply, void *owner);

// The same, of those in the index. With LINK_REPEAT, for a run, the call waits while Redis is away,
// and the votes are answered as well.
void store_load (struct store *self, uint64_t plan_id, enum link_repeat repeat,
                 store_loaded_fn *reply, void *owner);

// The same without waiting, and with the last results of any plan.
void store_load_results (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner);

// {"plan_id", "results": [{"worker", "frames": [description, ...]}, ...]} of that answer. Free it.
char *store_results_json (const struct store_loaded *answer, uint64_t plan_id);

// The same without waiting, and with its last failures; an array of them, the last first, each as
// store_history_at has outcomes.
void store_load_failures (struct store *self, uint64_t plan_id, store_loaded_fn *reply,
                          void *owner);
json_t *store_failures_json (const struct store_loaded *answer);

// The same without waiting, and with its place in the queue.
void store_load_place (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner);

// Delete a plan that failed for good, in the batch of this turn. False: it is another one by now.
bool store_drop_dead (struct store *self, const struct plan *plan);

// A try of a callback, for their history.
void store_callback_try (struct store *self, uint64_t plan_id, struct span station,
                         struct span record);

struct store_removed {
    enum store_result result;
    struct span station; // it was of
    const char *error;
};

typedef void store_removed_fn (void *owner, const struct store_removed *answer);

// Delete a plan; `station` is the one it must be of, empty = any.
void store_remove (struct store *self, uint64_t plan_id, const char *station,
                   store_removed_fn *reply, void *owner);

// "plan:msg:STATION:ID" taken apart. False: it is no message key.
bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id);

// A plan of a page.
struct store_listed {
    uint64_t plan_id;
    int64_t place_us; // in the order of the page; 0 = that is of ids
    struct span station, message;
};

struct store_page {
    enum store_result result;
    size_t count; // plans in the page
    // The last one looked at: there may be more behind it; with `last` 0 that was all.
    uint64_t last;
    int64_t last_us;
    struct span last_station;
    const struct store_listed *plans;
    const char *error;
};

typedef void store_page_fn (void *owner, const struct store_page *answer);

enum { STORE_MEMBERS_MAX = 8 };

enum store_order {
    STORE_BY_ID,
    STORE_BY_TIME, // what comes next first, without runs in progress
    STORE_RUNNING, // runs in progress, by id
    STORE_STOPPED, // what stopped last first
    STORE_DEAD,    // the same of those that failed for good
    STORE_ORDERS
};

struct store_filter {
    enum store_order order;
    uint64_t after;            // id, 0 = from the start
    int64_t after_us;          // its place, where the order is not that of ids
    const char *after_station; // the same
    bool oldest;               // STORE_STOPPED, STORE_DEAD: what stopped first first
    int64_t from_s, to_s;      // STORE_BY_TIME: at or after, before; 0 = any
    int64_t limit;
    const char *station;        // "" = any
    int state, type;            // -1 = any
    const struct span *members; // `"name":value` as the station writes it: a plan has all of them
    size_t member_count;
    uint64_t flow_run; // of a flow: its steps' plans and its flow plan; 0 = plans of no step
};

// Plans in an order. A page is bounded by what is looked at, so it may hold fewer
// than `limit`, or none, and not be the last; and more.
void store_list (struct store *self, const struct store_filter *filter, store_page_fn *reply,
                 void *owner);

// -- history

struct history_filter {
    uint64_t seq, sub; // go on behind this entry
    bool from_end;     // there is none: from the start, or the newest
    bool newest;       // newest first
    int64_t limit;
    uint64_t plan_id;     // 0 = any
    const char *station;  // "" = any
    bool output;          // with what the runs wrote
    uint64_t flow_run;    // of a flow; 0 = any
    bool callbacks;       // of the history of callbacks
    const char *statuses; // a character for each from 0 on, '1' = wanted; "" = any
    int64_t from_ms;      // when they ended, Unix milliseconds: at or after it; 0 = any
    int64_t to_ms;        // before it; 0 = any
};

struct store_history {
    enum store_result result;
    int64_t seq; // of the last broadcast
    struct span epoch;
    uint64_t first_seq, first_sub; // the oldest entry kept; 0, 0 = none
    int64_t forgot;                // the highest seq of those that store_forget took out, 0 = none
    struct span next;              // the entry to go on behind, empty = that was all
    size_t count;
    const redisReply *reply;
    const char *error;
};

typedef void store_history_fn (void *owner, const struct store_history *answer);

void store_history (struct store *self, const struct history_filter *filter,
                    store_history_fn *reply, void *owner);

// One outcome of the answer as JSON; NULL: the entry is none of ours.
json_t *store_history_at (const struct store_history *answer, size_t index);

struct store_forgot {
    enum store_result result; // STORE_CHANGED: the epoch is another one now
    int64_t count;            // of those that were there
    struct span epoch;        // STORE_CHANGED: the present one
    const char *error;
};

typedef void store_forgot_fn (void *owner, const struct store_forgot *answer);

// Take outcomes out of the history. `entries`: "SEQ-SUB ", or "SEQ-SUB:T " for those that were
// written then, Unix milliseconds; each with its blank. `station` is the one that they must be of,
// "" = any.
void store_forget (struct store *self, const char *epoch, const char *station, struct span entries,
                   store_forgot_fn *reply, void *owner);

// An outcome that another station kept.
struct store_restored_outcome {
    uint64_t plan_id;
    char station[STATION_NAME_MAX + 1];
    int64_t ended_ms;
    struct span record; // store_record
    struct span output; // output_make, empty = none
};

// Add them to the history, in their order, with the times at which they were written. Everything is
// copied.
void store_restore (struct store *self, const struct store_restored_outcome *outcomes, size_t count,
                    store_done_fn *reply, void *owner);

// An entry's name "SEQ-SUB".
bool history_entry_parse (struct span text, uint64_t *ret_seq, uint64_t *ret_sub);

// -- stations and numbers

struct store_stations {
    enum store_result result;
    const redisReply *reply; // name, text, ...
    const char *error;
};

typedef void store_stations_fn (void *owner, const struct store_stations *answer);

// Put a station in (`text`), take it out (`text` NULL), or only read them (`name` NULL); all of
// them are answered.
void store_stations (struct store *self, const char *name, const char *text,
                     enum link_repeat repeat, store_stations_fn *reply, void *owner);
bool store_station_at (const struct store_stations *answer, size_t index, struct span *ret_name,
                       struct span *ret_text);

// -- kinds

enum kind_word { KIND_LIST, KIND_GET, KIND_PUT, KIND_REMOVE };

struct store_kinds {
    enum store_result result;
    size_t count; // kinds in the answer; 0 = the one that was asked for is not there, or may not be
    struct span name, json;  // of one that was asked for
    const redisReply *reply; // of the list
    const char *error;
};

typedef void store_kinds_fn (void *owner, const struct store_kinds *answer);

// Read, put in or take out kinds of plans; `json` is for KIND_PUT.
void store_kinds (struct store *self, enum kind_word word, struct span name, const char *json,
                  store_kinds_fn *reply, void *owner);
bool store_kind_at (const struct store_kinds *answer, size_t index, struct span *ret_name,
                    struct span *ret_json);

// -- limits

enum limit_word { LIMIT_LIST, LIMIT_SET, LIMIT_REMOVE };

struct store_limits {
    enum store_result result;
    bool done;    // LIMIT_SET: false = the quota is exceeded; LIMIT_REMOVE: false = none of the
                  // name
    size_t count; // LIMIT_LIST
    const redisReply *reply;
    const char *error;
};

typedef void store_limits_fn (void *owner, const struct store_limits *answer);

// Read all of them, or set or remove that of "s:STATION" or "g:GROUP". They hold at once, for all
// stations on this Redis.
void store_limits (struct store *self, enum limit_word word, const char *name,
                   const struct limit *limit, store_limits_fn *reply, void *owner);
bool store_limit_at (const struct store_limits *answer, size_t index, struct span *ret_name,
                     struct limit *ret);

struct store_attended {
    enum store_result result;
    bool replaced;     // these are other data than those that were there
    bool lost;         // their last writes are gone; the broadcasts go on in a new epoch
    int64_t attending; // stations on this Redis
    int64_t stations;  // revision of the added targets: another one after every change
    struct span wrong; // a key that was of another type and was replaced; empty: none
    const char *error;
};

typedef void store_attended_fn (void *owner, const struct store_attended *answer);

// This station leaves.
void store_leave (struct store *self);

// Say that this station is here, and hear what has become of the data.
void store_attend (struct store *self, store_attended_fn *reply, void *owner);

struct store_owner {
    enum store_result result;
    bool owned;          // a station owns the plans
    struct span name;    // of that, HOST:PID
    struct span request; // where its request socket is bound
    struct span key;     // its public key; empty = without CURVE
};

// Who owns the plans, as Redis has it; also for a standby.
typedef void store_owner_fn (void *owner, const struct store_owner *answer);
void store_owner (struct store *self, store_owner_fn *reply, void *owner);

struct store_identity {
    enum store_result result;
    struct span identity;
    bool used; // before, by this station or one that is gone
    const char *error;
};

typedef void store_identity_fn (void *owner, const struct store_identity *answer);

struct store_identity_wish {
    const char *home;     // where the station runs, the same after its restart
    const char *target;   // its name
    const char *fresh;    // the identity if there is none yet
    const char *replaces; // one that is not to be used any more; "" = none
};

// The identity by which to connect to a target. Repeated by the link.
void store_identity (struct store *self, const struct store_identity_wish *wish,
                     store_identity_fn *reply, void *owner);

struct store_stats {
    enum store_result result;
    int64_t plans, queued, due, running, stopped, dead, outcomes, seq, memory;
    struct span epoch;
    double next; // score of the next plan, 0 = none
    const char *error;
};

typedef void store_stats_fn (void *owner, const struct store_stats *answer);
void store_stats (struct store *self, store_stats_fn *reply, void *owner);

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
    bool given_up;    // that gave no status in time
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
