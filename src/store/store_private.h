// Private to the files of the store.
#pragma once

#include "core.h"
#include "ident.h"
#include "json_text.h"
#include "redis_keys.h"
#include "store_shared.h"
#include "store_read.h"
#include "stored_text.h"
#include "writer.h"

struct store {
    struct link *link;
    struct reactor *reactor;
    struct core *core;
    struct writer *writer;
    struct timer timer; // flushes at the writer's next deadline
    store_state_fn *changed;
    void *owner;
    enum store_state state;
    bool flushing;           // a flush is running, or the store is being destroyed
    bool loaded;             // all data that the owner needs were read since the takeover
    struct reason trouble;   // text of store_trouble
    size_t invalid_members;  // queue members that name no plan, removed since the last claim
    char invalid_member[80]; // one of these members, for the log
    int64_t invalid_batch;   // batch that removes such members; 0 = it was acknowledged
    unsigned sent_kinds;     // ROWS_ flags of the batch sent in this turn

    int64_t offset_us;   // Redis' clock minus our monotonic one
    bool clock_was_read; // offset_us comes from a reading of Redis' clock
    char instance[17];   // random id of this process in plan:attending
    char name[80], endpoints[300], key[41];
    int state_folder; // a folder with the token of the last takeover; -1 = none
    struct store_bounds bounds;
    int64_t window;           // plans in progress at which the store is busy
    int64_t output_written;   // bytes of output written since plan:output was trimmed
    struct json_text text;    // buffer for writing plans
    char wrong_key[96];       // a key of a wrong type that was replaced; "" = none
    char data_id[32];         // identity of the data (`store` in plan:meta); "" = not known yet
    bool lost_tail, lost_all; // losses to be reported by store_enter_presence

    bool alone;                     // the database is private
    struct store_loading *loading;  // loading in progress; NULL = none
    struct migration *migration;    // migration in progress; NULL = none
    struct claim_call *claim;       // claim that waits for reads; NULL = none
    struct claim_call *spare_claim; // memory of the last claim, reused to avoid malloc
    int64_t page_retry_us;     // no page of the queue is read before this time: the last one failed
    bool comparison_wanted;    // check for edits by hand as soon as nothing is in flight
    int64_t comparison_us;     // when to set comparison_wanted next, monotonic
    size_t limits_unwritten;   // number of changes of limits that are not acknowledged
    uint64_t limit_writes;     // number of changes of limits since the start
    int64_t stations_revision; // revision of the added targets: differs after every change
    void (*due) (void *owner, int64_t redis_us);
    struct deferred_call *deferred, **last_deferred; // calls that wait until the store serves
};

// -- reading: on the same connection as the batches, so a read sees all batches sent before it

// Send a command. `reply` is called once; with LINK_ONCE it gets NULL when the link is not up.
void store_send_command (struct store *self, enum link_repeat repeat, const struct span *words,
                         size_t count, link_reply_fn *reply, void *owner);

// store_get with a command of at most 8 words, a list that ends with NULL.
void store_get_texts (struct store *self, const char *const *words, link_reply_fn *reply,
                      void *owner);

// Run a script, LINK_ONCE. The first `keys` of the arguments are keys.
void store_run_script (struct store *self, enum script script, size_t keys, const struct span *args,
                       size_t count, link_reply_fn *reply, void *owner);

// For commands whose answer does not matter.
void store_ignore_reply (void *owner, const redisReply *reply);

// A caller that waits for the answer of Redis.
struct store_caller {
    struct store *store;
    void (*reply) (void); // the caller's function, cast back to its own type for the call
    void *owner;
};

// A new caller, to be freed after its reply.
struct store_caller *store_caller_new (struct store *self, void (*reply) (void), void *owner);

// If `reply` says that the key has a wrong type, delete the key and note it as wrong_key. Returns
// whether the type is wrong.
bool store_replace_wrong_key (struct store *self, const char *key, const redisReply *reply);

// -- writing

// Call `reply` when the batch that is being collected was applied and, unless the kind is
// WAITER_SURE, the replicas have it.
void store_reply_when_written (struct store *self, enum waiter_kind kind, store_done_fn *reply,
                               void *owner);

// Call `reply` with this result at the end of the turn.
void store_reply_at_turn_end (struct store *self, enum store_result result, const char *error,
                              store_done_fn *reply, void *owner);

// The result that a caller gets for this end of its wait.
enum store_result store_result_of_wait (enum written how);

// -- loading at the takeover, and reading the queue

// Load the data that the owner needs. Ends with store_begin_serving, a migration, or a new
// connection.
void store_load_start (struct store *self);

// Abort the loading, if one is in progress: its answers are ignored.
void store_load_abort (struct store *self);

// The data are loaded: the store serves.
void store_begin_serving (struct store *self);

// Convert the data of a former version to this schema, then load them.
void store_migrate_start (struct store *self);

// Abort the migration, if one is in progress; the next takeover starts it again.
void store_migrate_abort (struct store *self);

// Read the next page of the queue if the core wants one; once a second, check for edits by hand.
void store_queue_update (struct store *self);

// Detach the claim that waits for reads, if any: its choices are dropped, and it gets STORE_LOST.
void store_claim_detach (struct store *self);

// Pass the limit of a target in the settings to the core.
void configure_target_limit (struct store *self, struct span target, const struct limit *limit);

// Pass the limits that were read from Redis to the core.
void store_pass_limits (struct store *self, const redisReply *reply);

// Report when the next plan is due, after a write or a read of the queue.
void store_report_next_due (struct store *self);

// Whether the store serves. If not, callers are answered STORE_LOST.
bool store_is_serving (const struct store *self);

// Call `call` when the store serves. `serves` is false if the store is destroyed first or, unless
// the kind is WAITER_SURE, Redis is lost. Never before this call returns.
void store_call_when_serving (struct store *self, enum waiter_kind kind,
                              void (*call) (void *owner, bool serves), void *owner);

// -- names and texts

#define SCHEMA_TEXT "2"
_Static_assert(STORE_SCHEMA == 2, "SCHEMA_TEXT is its text");

enum { CALLER_FIELD_MAX = 2 + 40 + 1 };

// Make the name of a caller's field in plan:count.
void caller_field_make (struct store *self, struct span caller, char out[CALLER_FIELD_MAX]);

// Parse an entry of plan:ids. False: it has no id, or no target; the target's name is not checked.
bool index_entry_parse (struct span entry, uint64_t *ret_id, struct span *ret_target);

// Numbers as words of commands, valid until the block ends: an integer, the same or "" for 0, and a
// time as a queue score (score_make).
#define NUMBER(value)          number_word (value, (char[NUMBER_SIZE]){0})
#define NUMBER_OR_EMPTY(value) ((value) ? NUMBER (value) : TEXT (""))
#define SCORE(us)              score_word (us, (char[NUMBER_SIZE]){0})
enum { NUMBER_SIZE = 40 };
struct span number_word (int64_t value, char out[NUMBER_SIZE]);
struct span score_word (int64_t us, char out[NUMBER_SIZE]);

// The key of a plan, as plan_key_make writes it, as a word of a command; valid until the block
// ends.
#define PLAN_KEY(start, station, plan_id)                                                          \
    plan_key_word ((char[PLAN_KEY_SIZE]){0}, start, station, plan_id)
struct span plan_key_word (char out[PLAN_KEY_SIZE], const char *start, struct span station,
                           uint64_t plan_id);

// Copy a text as a C string; a longer one is cut.
void copy_text (char *out, size_t room, struct span text);

// The message to store for a plan; valid until the next call of this group.
struct span write_plan_message (struct store *self, const struct plan *plan);

// Prepare a new plan for core_submit. Its message is valid until the next call of this group;
// `caller` gets its caller's field of plan:count, and is borrowed.
struct core_submission make_core_submission (struct store *self, const struct plan *plan,
                                             char caller[CALLER_FIELD_MAX]);

// The caller of the plan in a stored message, as a field of plan:count; "" = unknown.
void message_caller_field (struct store *self, struct span message, char out[CALLER_FIELD_MAX]);

// -- plans that are stopped, and those of them that failed permanently

enum stop_state { STOP_NONE, STOP_STOPPED, STOP_DEAD };

// The stop state of a plan. It is always STOP_NONE for plans of flow steps: their run lists them.
enum stop_state plan_stop_state (const struct plan *plan);

// The stop state of the plan in a stored message.
enum stop_state message_stop_state (struct span message);

// Write a changed stop state of a plan. The time at which it stopped is preserved.
void store_write_stop_state (struct store *self, struct span station, uint64_t plan_id,
                             enum stop_state stop_state);

// Add a record to the last failures of a plan.
void store_add_failure (struct store *self, struct span station, uint64_t plan_id, int64_t ended_ms,
                        struct span record);

// -- outputs

// Count an output that is being written; trim the outputs when an eighth of output_bytes was
// written.
void store_count_output (struct store *self, size_t size);

// Delete the oldest outputs: above output_bytes, and those that are too old.
void store_outputs_trim (struct store *self);

// Delete outcomes that are too old from the history.
void store_history_trim (struct store *self);

// -- reading answers

// Whether this is an array of at least so many elements. `reply` may be NULL.
bool reply_is_array (const redisReply *reply, size_t elements);

// STORE_LOST if there is no reply (NULL), STORE_ERROR with the text if it is an error, else
// STORE_DONE.
enum store_result reply_result (const redisReply *reply, const char **ret_error);

// As reply_result, but STORE_DONE also for a key of a wrong type, which an edit by hand may leave:
// the key counts as empty.
enum store_result reply_key_result (const redisReply *reply, const char **ret_error);

// The text of the reply, which may be NULL; data NULL: it is no text.
struct span reply_text (const redisReply *reply);

// The texts of an array. Free the list; the texts are borrowed.
struct span *reply_texts (const redisReply *reply, size_t *ret_count);

// The value of this field in a list of fields, each followed by its value. NULL: there is none, or
// `reply`, which may be NULL, is no list.
const redisReply *reply_field (const redisReply *reply, const char *name);

// An integer, or a text as an integer; 0: neither.
int64_t reply_number (const redisReply *reply);

// A counter, which is never negative; 0: invalid.
int64_t reply_counter (const redisReply *reply);

// The age in seconds of a value of plan:attending: how long ago the station was last present.
int64_t presence_value_age_s (const redisReply *seen, int64_t now_s);

// A queue score in seconds as microseconds; -1: there is none. `reply` may be NULL.
int64_t reply_score_us (const redisReply *reply);

// Parse a value of plan:run such as "1763...+?": the exec id of the run in flight and marks
// (proto/redis.md). `ret_earlier`: the mark '+', an earlier run may still answer.
void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_earlier);
