// The store: plans in Redis, in the station's words. Every call is one atomic step (a Lua script)
// and is answered exactly once, from the reactor. The keys are those of contract chapter 6; besides
// them
//   plan:ids           sorted set, all scores 0: "<id, 16 hex digits>:<station>" of every plan
//   plan:run           hash: message key -> exec_id of the run in hand, then "+" when an earlier
//                      run of the occurrence ran out of its lease, "?" when this one gave no status
//                      in time; "+" alone: none in hand, but an earlier one may still answer
//   plan:wait:STATION  set: message keys of plans that are due at once when their target connects
//   plan:told          hash: message key -> when its last failure was broadcast
//   plan:claim:INSTANCE  list: number and plans of the station's last claim; plan:sent:INSTANCE
//   hash:
//                      broadcasts of its last commits; both for answers that were lost
//   plan:meta          hash: exec (last exec_id), seq and epoch of the broadcasts
#pragma once

#include "engine.h"
#include "link.h"

struct store;

// How a call went.
enum store_result {
    STORE_DONE,
    STORE_HELD, // submit: the id is in use. commit: the run is not the current one
    STORE_NONE, // there is no such plan
    STORE_LOST, // Redis is away; for a submit that was under way: the outcome is unknown
    STORE_ERROR // Redis refused; the text says why
};

struct store *store_new (const struct link_config *config, void *loop, link_state_fn *changed,
                         void *owner);
void store_destroy (struct store **self);

// The link, for its state and its flush.
struct link *store_link (const struct store *self);

// Redis' clock in microseconds, from its last answer that told it and our monotonic clock. Before
// the first one: the machine's own.
int64_t store_now_us (const struct store *self);

// -- submit

struct store_submitted {
    enum store_result result;
    struct span message; // STORE_HELD: what stands under the id
    const char *error;   // STORE_ERROR
};

typedef void store_submitted_fn (void *owner, const struct store_submitted *answer);

// Store a new plan, queued for its plan_time. Everything is copied.
void store_submit (struct store *self, const struct plan *plan, store_submitted_fn *reply,
                   void *owner);

// -- claim

struct store_claimed {
    struct span station; // of the message key
    uint64_t plan_id;    // of the key
    struct span message; // JSON
    uint64_t exec_id;
    bool again; // an earlier run of this occurrence has not ended
};

struct store_claim {
    enum store_result result;
    bool has_next;   // there is a plan that is not due yet
    int64_t next_us; // when it is, by Redis' clock
    int64_t lease_end_us;
    size_t count;
    size_t broken;            // members without a sound message, taken out of the queue
    struct span first_broken; // one of them
    const char *error;
    const redisReply *reply; // for store_claim_at
};

typedef void store_claim_fn (void *owner, const struct store_claim *answer);

// Take at most `limit` due plans with a lease of this many seconds. Repeated by the link.
void store_claim (struct store *self, int64_t limit, int64_t lease_s, store_claim_fn *reply,
                  void *owner);

// One claimed plan of the answer. False: the row is broken, and is passed over.
bool store_claim_at (const struct store_claim *answer, size_t index, struct store_claimed *ret);

// -- commit

struct store_commit {
    const struct plan *plan;
    struct span key_station; // of the message key, which an operator may have made differ
    uint64_t exec_id;
    const struct decision *decision;
    int64_t lease_s;         // COMMIT_LEASE
    const struct span *work; // the answer, description first; saved when the decision says so
    size_t work_count;
    bool keep_message; // do not write the plan: its message could not be read
};

struct store_committed {
    enum store_result result;
    int64_t seq; // of the broadcast that is to follow; 0 = none
    const char *epoch;
    const char *error;
};

typedef void store_committed_fn (void *owner, const struct store_committed *answer);

// Write what became of a run. Repeated by the link: the second time it is STORE_HELD, or, if it is
// to be broadcast, answered as the first time.
void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner);

// -- look-ups and management

struct store_loaded {
    enum store_result result;
    struct span station;
    struct span message; // JSON
    bool running;        // a run is in hand
    uint64_t exec_id;
    bool again;
    const char *error;
};

typedef void store_loaded_fn (void *owner, const struct store_loaded *answer);

// Find a plan by its id. With LINK_REPEAT the call waits while Redis is away.
void store_load (struct store *self, uint64_t plan_id, enum link_repeat repeat,
                 store_loaded_fn *reply, void *owner);

typedef void store_done_fn (void *owner, enum store_result result, const char *error);

// Delete a plan; `station` is the one it must be of, empty = any.
void store_remove (struct store *self, uint64_t plan_id, const char *station, store_done_fn *reply,
                   void *owner);

// "plan:msg:STATION:ID" taken apart. False: it is no message key.
bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id);

struct store_page {
    enum store_result result;
    size_t count; // plans in the page
    bool more;    // there may be more after them
    const redisReply *reply;
    const char *error;
};

typedef void store_page_fn (void *owner, const struct store_page *answer);

// At most `limit` plans in the order of their ids, after this one (0 = from the start).
void store_list (struct store *self, uint64_t after, int64_t limit, store_page_fn *reply,
                 void *owner);

// One plan of the page; its message is empty when it is gone. False: the index entry is none.
bool store_page_at (const struct store_page *page, size_t index, uint64_t *ret_id,
                    struct span *ret_message);

// A target connected: at most `limit` plans that wait for it are due at once. The answer's `result`
// is STORE_HELD when there may be more.
void store_wake (struct store *self, const char *station, int64_t limit, store_done_fn *reply,
                 void *owner);

struct store_swept {
    enum store_result result;
    uint64_t last;    // id to go on after; 0 = that was the end
    int64_t repaired; // entries without a message
    size_t count;     // plans outside the queue
    const redisReply *reply;
};

typedef void store_swept_fn (void *owner, const struct store_swept *answer);
void store_sweep (struct store *self, uint64_t after, int64_t limit, store_swept_fn *reply,
                  void *owner);
bool store_swept_at (const struct store_swept *swept, size_t index, uint64_t *ret_id,
                     struct span *ret_message);
