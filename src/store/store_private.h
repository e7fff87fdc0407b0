// Private to the files of the store.
#pragma once

#include "core.h"
#include "ident.h"
#include "json_text.h"
#include "redis_keys.h"
#include "store_kept.h"
#include "store_read.h"
#include "stored_text.h"
#include "writer.h"

struct store {
    struct link *link;
    struct reactor *reactor;
    struct core *core;
    struct writer *writer;
    struct timer timer; // for the writer's next deadline
    store_state_fn *changed;
    void *owner;
    enum store_state state;
    bool flushing, loaded;
    struct reason trouble; // text of store_trouble
    size_t odd_members;    // queue members that are no plans, removed since the last claim
    char odd_member[80];   // one of them
    int64_t odd_batch;     // batch that removes them; 0 = it was acknowledged
    unsigned sent_kinds;   // ROWS_ flags of the batch sent in this turn

    int64_t offset_us; // Redis' clock minus our monotonic one
    bool learned;      // offset_us comes from an answer of Redis
    char instance[17];
    char name[80], endpoints[300], key[41];
    int state_folder; // a folder with the token of the last takeover; -1 = none
    struct store_bounds bounds;
    int64_t window;           // plans in progress at which the store is busy
    int64_t output_written;   // bytes since plan:output was trimmed
    struct json_text text;    // buffer for writing plans
    char wrong_key[96];       // a key of a wrong type that was replaced; "" = none
    char data[32];            // identity of the data; "" = not known yet
    bool lost_tail, lost_all; // to be reported

    bool alone;                     // the database is private
    struct store_loading *loading;  // NULL = all is read
    struct migration *migration;    // of former data; NULL = none
    struct claim_call *claim;       // a claim that reads; NULL = none
    struct claim_call *spare_claim; // memory of the last claim, reused to avoid malloc
    int64_t page_us;           // no page of the queue is read before this time: the last one failed
    bool look_wanted;          // look for edits as soon as nothing is in flight
    int64_t look_us;           // when to look for edits by hand next, monotonic
    size_t limits_unwritten;   // changes of limits that are not acknowledged
    uint64_t limit_writes;     // changes of limits since the start
    int64_t stations_revision; // of the added targets: another one after every change
    void (*due) (void *owner, int64_t redis_us);
    struct later *later, **last_later; // calls that wait until it serves
};

#define WORDS(...)                                                                                 \
    (const struct span[]){__VA_ARGS__},                                                            \
        sizeof ((const struct span[]){__VA_ARGS__}) / sizeof (struct span)
#define TEXT(text) span_text (text)

// -- reading: on the connection of the batch in flight, behind it, so reads see its writes

// Send a command. `reply` is called once; with LINK_ONCE it gets NULL when the link is not up.
void store_ask (struct store *self, enum link_repeat repeat, const struct span *words, size_t count,
                link_reply_fn *reply, void *owner);

// Run a script, LINK_ONCE. The first `keys` of the arguments are keys.
void store_script (struct store *self, enum script script, size_t keys, const struct span *args,
                   size_t count, link_reply_fn *reply, void *owner);

// A caller whose answer is awaited.
struct store_caller {
    struct store *store;
    void (*reply) (void); // the caller's function, under its own type again when it is called
    void *owner;
};

struct store_caller *ask_new (struct store *self, void (*reply) (void), void *owner);

// Delete and report a key if `reply` says that it has another type. Returns whether it does.
bool store_cure (struct store *self, const char *key, const redisReply *reply);

// -- writing

// A caller that waits until a decision is written; freed when it is released.
struct written_ask {
    struct waiter waiter;
    struct store *store;
    store_done_fn *reply;
    void *owner;
};

// Call `reply` when the batch that is being collected was applied, and the replicas have it.
void store_wait (struct store *self, enum waiter_kind kind, store_done_fn *reply, void *owner);

// Call `reply` with this result at the end of the turn.
void store_answer (struct store *self, enum store_result result, const char *error,
                   store_done_fn *reply, void *owner);

void store_write (struct store *self, const struct span *words, size_t count);
enum store_result written_result (enum written how);

// -- loading at the takeover, and reading the queue

void store_load_begin (struct store *self);
void store_load_end (struct store *self); // give it up
void store_loaded (struct store *self);   // loading is complete

// Convert the data of a former version to this schema, then load them.
void store_migrate_begin (struct store *self);
void store_migrate_end (struct store *self); // give it up

// Read the next page of the queue if one is wanted; once a second, look for edits by hand.
void store_queue_turn (struct store *self);

void store_claim_reset (struct store *self);

// Pass the limits that were read from Redis to the core.
void store_take_limits (struct store *self, const redisReply *reply);

// Report when the next plan is due, after a write or a read of the queue.
void store_report_due (struct store *self);

// Whether the store serves. If not, callers are answered STORE_LOST.
bool store_serves (const struct store *self);

// Call back when the store serves; with `serves` false when it will not any more or, for a client,
// when Redis is lost. Never before this call returns.
void store_when_serving (struct store *self, enum waiter_kind kind,
                         void (*call) (void *owner, bool serves), void *owner);

// -- names

enum { MEMBER_MAX = 10 + STATION_NAME_MAX + 1 + 16 + 1, CALLER_FIELD_MAX = 2 + 40 + 1 };

// Make a key of one plan; `start` is its prefix, such as KEY_MESSAGE.
void member_make (char out[MEMBER_MAX + 2], const char *start, struct span station,
                  uint64_t plan_id);

// Make the field of plan:count for a caller.
void caller_field (struct store *self, struct span caller, char out[CALLER_FIELD_MAX]);

// An id as 16 hex digits.
void id_digits (uint64_t id, char out[IDENT_SIZE]);

// The message to store for a plan; valid until the next call.
struct span store_message (struct store *self, const struct plan *plan);

// Prepare a plan for the core. Its message is valid until the next call; `caller` is a field of
// plan:count.
struct core_submission store_submission (struct store *self, const struct plan *plan,
                                         struct span caller);

// The caller of the plan in a stored message, as a field of plan:count; "" = unknown.
void store_caller_of (struct store *self, struct span message, char out[CALLER_FIELD_MAX]);

// -- plans that are stopped, and those of them that failed for good

enum stop_state { STOP_NONE, STOP_STOPPED, STOP_DEAD };

// Plans of flow steps are always STOP_NONE: their run lists them.
enum stop_state plan_stop_state (const struct plan *plan);
enum stop_state message_stop_state (struct span message);

// Write a changed stop state of a plan. The time at which it stopped is preserved.
void store_write_stopped (struct store *self, struct span station, uint64_t plan_id,
                          enum stop_state stop_state);

// Add a record to the last failures of a plan.
void store_failure (struct store *self, struct span station, uint64_t plan_id, int64_t ended_ms,
                    struct span record);

// -- outputs

void store_outputs_written (struct store *self, size_t size);
void store_outputs_trim (struct store *self);

// Drop outcomes that are too old.
void store_history_trim (struct store *self);

// -- reading answers

bool reply_is_array (const redisReply *reply, size_t elements);
enum store_result reply_result (const redisReply *reply, const char **ret_error);
// The same for a key that may have been edited by hand: a key of another type counts as empty.
enum store_result reply_key_result (const redisReply *reply, const char **ret_error);
struct span reply_text (const redisReply *reply);
struct span *reply_texts (const redisReply *reply, size_t *ret_count); // of an array; free it
int64_t reply_number (const redisReply *reply);
int64_t reply_counter (const redisReply *reply); // a number that goes up; 0: invalid
int64_t attending_age_s (const redisReply *seen, int64_t now_s); // a value of plan:attending
int64_t reply_score_us (const redisReply *reply);                // -1: invalid

// "1763...+?": the exec_id of a run in flight and its marks (proto/redis.md).
void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_again);
