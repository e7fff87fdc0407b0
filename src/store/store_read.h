// Reads of plans and of the history. As in store.h, each call is answered once, and never inside
// itself; data of an answer are valid within the call only.
#pragma once

#include "store.h"

// -- look-ups

// A limit at work.
struct limit_use {
    bool set; // in Redis; else it is as the settings say
    struct limit limit;
    int64_t busy;    // runs that it counts
    int64_t used_us; // its rate is used up to this time, by the clock of Redis
};

// A plan's place in the queue.
struct store_place {
    bool queued;
    int64_t score_us; // by the clock of Redis
    bool ready;       // the plan is due, and waits for its turn at its target
    bool waits;       // due at once when its target connects
    int64_t before;   // others that are ready and go before it
    struct limit_use station, group;
    bool counted; // the plan has one of the runs of these limits
};

struct store_loaded {
    enum store_result result;
    struct span station;
    struct span message; // JSON
    bool running;        // a run is in progress
    bool no_status;      // that run gave no status in time: only a late one can still come
    uint64_t exec_id;
    bool earlier_may_answer;
    const redisReply *work;     // participant, its result as JSON text, ...; NULL if not asked for
    const redisReply *failures; // the last ones of the plan; NULL if not asked for
    const struct store_place *place; // in the queue; NULL if not asked for
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

// Delete a plan that failed for good or was closed, in the batch of this turn. False: it is
// another one by now.
bool store_drop_stopped (struct store *self, const struct plan *plan);

// A try of a callback, for their history.
void store_callback_try (struct store *self, uint64_t plan_id, struct span station,
                         struct span record);

struct store_removed {
    enum store_result result;
    struct span station; // the target of the removed plan
    const char *error;
};

typedef void store_removed_fn (void *owner, const struct store_removed *answer);

// Delete a plan; `station` is the one it must be of, empty = any. `decided`, which may be NULL, is
// called with the plan as soon as that is so: what it writes is in the same batch.
void store_remove (struct store *self, uint64_t plan_id, const char *station,
                   store_loaded_fn *decided, store_removed_fn *reply, void *owner);

// plan:msg:STATION:ID taken apart. False: it is no message key.
bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id);

// A plan of a page.
struct store_listed {
    uint64_t plan_id;
    int64_t score_us; // in the order of the page; 0 = the page is ordered by id
    struct span station, message;
};

struct store_page {
    enum store_result result;
    size_t count; // plans in the page
    // The last one looked at: there may be more after it; with `last` 0 that was all.
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
    int64_t after_us;          // the place of `after`, where the order is not that of ids
    const char *after_station; // the target of `after`, where the order is not that of ids
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
    uint64_t seq, sub; // go on after this entry
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
    struct span next;              // the entry to go on after, empty = that was all
    size_t count;
    const redisReply *reply;
    const char *error;
};

typedef void store_history_fn (void *owner, const struct store_history *answer);

void store_history (struct store *self, const struct history_filter *filter,
                    store_history_fn *reply, void *owner);

// One outcome of the answer as JSON; NULL: not written by a station.
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
