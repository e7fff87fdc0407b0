// Reads of plans and of the history. As in store.h, each call is answered once, never before it
// returns. The data of an answer are valid only during the callback.
#pragma once

#include "store.h"

// -- look-ups

// A limit and its current use.
struct limit_use {
    bool set; // set in Redis; otherwise it comes from the settings
    struct limit limit;
    int64_t busy;    // runs that it counts now
    int64_t used_us; // its rate is used up until this time (limit_next_us), by Redis' clock
};

// A plan's place in the queue.
struct store_place {
    bool queued;
    int64_t score_us; // its queue score: when it is due, by Redis' clock
    bool ready;       // the plan is due, and waits for its turn at its target
    bool waits;       // the plan waits for its target, and becomes due when that connects
    int64_t before;   // number of ready plans of its target that run before it
    struct limit_use station, group; // the limits of its target and of its group
    bool counted;                    // `busy` of these limits includes the plan's own run
};

struct store_loaded {
    enum store_result result;
    struct span station;
    struct span message; // JSON
    bool running;        // a run is in progress
    bool no_status;      // that run reported no status in time; a late one can still arrive
    uint64_t exec_id;
    bool earlier_may_answer;    // an earlier run of this occurrence has not ended
    const redisReply *work;     // participant, its result as JSON text, ...; NULL if not requested
    const redisReply *failures; // the plan's last failures; NULL if not requested
    const struct store_place *place; // its place in the queue; NULL if not requested
    const char *error;
};

typedef void store_loaded_fn (void *owner, const struct store_loaded *answer);

// Find a plan by its id: in the index, and also under this target's name if that is not empty.
void store_find (struct store *self, uint64_t plan_id, struct span station, store_loaded_fn *reply,
                 void *owner);

// Check whether a plan with this id and target exists, without reading its message. A plan that was
// removed a moment ago may still be found.
void store_exists (struct store *self, uint64_t plan_id, struct span station,
                   store_loaded_fn *reply, void *owner);

// Find a plan in the index only. With LINK_REPEAT, for a run, the call waits while Redis is away,
// and the answer includes the votes.
void store_load (struct store *self, uint64_t plan_id, enum link_repeat repeat,
                 store_loaded_fn *reply, void *owner);

// store_load with LINK_ONCE, and with the last results of a plan of any type.
void store_load_results (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner);

// The results in the answer of store_load_results as text: {"plan_id", "results": [{"worker",
// "frames": [description, ...]}, ...]}. Free it.
char *store_results_json (const struct store_loaded *answer, uint64_t plan_id);

// store_load with LINK_ONCE, and with the plan's last failures.
void store_load_failures (struct store *self, uint64_t plan_id, store_loaded_fn *reply,
                          void *owner);

// The failures in the answer of store_load_failures as a new array, the latest first, each in the
// form of store_history_at.
json_t *store_failures_json (const struct store_loaded *answer);

// store_load with LINK_ONCE, and with the plan's place in the queue.
void store_load_place (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner);

// Delete a plan if it failed permanently or was closed, in the batch of this turn. False: it is in
// another state, or is being changed, and is not deleted.
bool store_drop_stopped (struct store *self, const struct plan *plan);

// Add an attempt of a callback to the history of callbacks.
void store_callback_try (struct store *self, uint64_t plan_id, struct span station,
                         struct span record);

struct store_removed {
    enum store_result result;
    struct span station; // the target of the removed plan
    const char *error;
};

typedef void store_removed_fn (void *owner, const struct store_removed *answer);

// Delete a plan; `station` is the target it must have, empty = any. `decided`, which may be NULL,
// is called with the plan as soon as the removal is decided: what it writes joins the same batch.
void store_remove (struct store *self, uint64_t plan_id, const char *station,
                   store_loaded_fn *decided, store_removed_fn *reply, void *owner);

// Parse a message key plan:msg:STATION:ID. False: it is no such key.
bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id);

// A plan of a page.
struct store_listed {
    uint64_t plan_id;
    int64_t score_us; // score by which the page is ordered; 0 = it is ordered by id
    struct span station, message;
};

struct store_page {
    enum store_result result;
    size_t count; // plans in the page
    // The last plan that was examined: id, score and target. There may be more plans after it.
    uint64_t last; // 0: the end was reached
    int64_t last_us;
    struct span last_station;
    const struct store_listed *plans;
    const char *error;
};

typedef void store_page_fn (void *owner, const struct store_page *answer);

enum { STORE_MEMBERS_MAX = 8 };

enum store_order {
    STORE_BY_ID,
    STORE_BY_TIME, // by due time, the next one first, without runs in progress
    STORE_RUNNING, // runs in progress, by id
    STORE_STOPPED, // the latest stop first
    STORE_DEAD,    // plans that failed permanently, the latest stop first
    STORE_ORDERS
};

struct store_filter {
    enum store_order order;
    uint64_t after;            // continue after the plan with this id, 0 = from the start
    int64_t after_us;          // score of that plan, unless the order is by id
    const char *after_station; // target of that plan, unless the order is by id
    bool oldest;               // STORE_STOPPED, STORE_DEAD: the earliest stop first
    int64_t from_s, to_s;      // STORE_BY_TIME: due at or after from_s and before to_s; 0 = any
    int64_t limit;
    const char *station;        // "" = any
    int state, type;            // -1 = any
    const struct span *members; // the plan must have all: `"name":value` as the station writes it
    size_t member_count;
    uint64_t flow_run; // only plans of this flow run: its flow plan and its steps' plans; 0 = all
                       // but the plans of steps
};

// List plans in an order. A page is bounded by the number of plans examined: it may hold fewer than
// `limit` plans, or none, without being the last page, and it may hold more than `limit`.
void store_list (struct store *self, const struct store_filter *filter, store_page_fn *reply,
                 void *owner);

// -- history

struct history_filter {
    uint64_t seq, sub; // continue after this entry
    bool from_end; // ignore seq and sub: begin with the oldest or, if `newest`, the newest entry
    bool newest;   // newest first
    int64_t limit;
    uint64_t plan_id;     // 0 = any
    const char *station;  // target, "" = any
    bool output;          // include the output of the runs
    uint64_t flow_run;    // runs of this flow run; 0 = any
    bool callbacks;       // read the history of callbacks instead
    const char *statuses; // the character at index STATUS is '1' = wanted; "" = any
    int64_t from_ms;      // ended at or after this time, Unix milliseconds; 0 = any
    int64_t to_ms;        // ended before this time; 0 = any
};

struct store_history {
    enum store_result result;
    int64_t seq;                   // number of the last broadcast
    struct span epoch;             // epoch of these numbers
    uint64_t first_seq, first_sub; // the oldest entry kept; 0, 0 = none
    int64_t forgot;                // the highest seq that store_forget removed, 0 = none
    struct span next;              // the entry to continue after, empty = the end was reached
    size_t count;                  // outcomes in `reply`: read them with store_history_at
    const redisReply *reply;
    const char *error;
};

typedef void store_history_fn (void *owner, const struct store_history *answer);

// Read a page of the history.
void store_history (struct store *self, const struct history_filter *filter,
                    store_history_fn *reply, void *owner);

// One outcome of the answer as JSON, a new reference. NULL: the entry is invalid, as no station
// writes it.
json_t *store_history_at (const struct store_history *answer, size_t index);

struct store_forgot {
    enum store_result result; // STORE_CHANGED: the epoch has changed
    int64_t count;            // number of outcomes removed
    struct span epoch;        // STORE_CHANGED: the current epoch
    const char *error;
};

typedef void store_forgot_fn (void *owner, const struct store_forgot *answer);

// Remove outcomes from the history. `entries` is a series of "SEQ-SUB ", or "SEQ-SUB:T " for an
// outcome written at T, Unix milliseconds; each ends with a blank. `station` is the target they
// must have, "" = any.
void store_forget (struct store *self, const char *epoch, const char *station, struct span entries,
                   store_forgot_fn *reply, void *owner);

// An outcome exported from another station.
struct store_restored_outcome {
    uint64_t plan_id;
    char station[STATION_NAME_MAX + 1];
    int64_t ended_ms;
    struct span record; // packed by store_record
    struct span output; // packed by output_make, empty = none
};

// Add outcomes to the history, in their order, with their original times. Everything is copied.
void store_restore (struct store *self, const struct store_restored_outcome *outcomes, size_t count,
                    store_done_fn *reply, void *owner);

// Parse the name of an entry, "SEQ-SUB".
bool history_entry_parse (struct span text, uint64_t *ret_seq, uint64_t *ret_sub);
