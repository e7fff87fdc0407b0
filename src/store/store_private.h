// What the files of the store share; nobody else includes it.
#pragma once

#include "batch.h"
#include "ident.h"
#include "json_text.h"
#include "store.h"

// How many plans of a call are of each station and caller, as fields of plan:count.
enum { TALLIES_MAX = 32, TALLY_FIELD_MAX = 2 + STATION_NAME_MAX + 1 };

struct tallies {
    struct count_of {
        char field[TALLY_FIELD_MAX];
        int64_t plans;
    } at[TALLIES_MAX];
    size_t count;
};

// What the head of a call of submissions says of all of them.
struct gathering {
    struct tallies tallies;
    bool made_here; // all ids were made by the station
    bool grow;
    bool classed; // some have a priority or a group
    uint64_t first_id, last_id;
};

struct store {
    struct link *link;
    int64_t offset_us;     // Redis' clock minus our monotonic one
    bool learned;          // by an answer
    char claims_key[48];   // plan:claim:INSTANCE
    char sent_key[48];     // plan:sent:INSTANCE
    uint64_t claims;       // made so far
    uint64_t commits;      // calls
    char looked[32];       // score up to which the last claim has looked; empty = none yet
    struct json_text text; // for what is written of a plan
    struct batches *submissions;
    struct batches *looked_at;  // submissions that place.lua would not do
    char new_key[48];           // plan:new:INSTANCE
    char new_mark[24];          // what stands there, of the call that goes out
    uint64_t placed;            // calls
    struct gathering gathering; // of the submissions
    struct batches *commits_gathered;
    struct batches *ends;
    struct tallies ending;
    int64_t window; // items under way at which the store is busy
    struct store_bounds bounds;
    int64_t output_written; // bytes since plan:output was trimmed
    char instance[17];
    char data[32];    // identity of the data that Redis had; empty = not known yet
    uint64_t exec_id; // the last that was seen
    int64_t seq;      // of the last broadcast that was heard of
    char epoch[24];
};

#define KEY_TIME_SET   "plan:time:set"
#define KEY_INDEX      "plan:ids"
#define KEY_RUNS       "plan:run"
#define KEY_META       "plan:meta"
#define KEY_TOLD       "plan:told"
#define KEY_HISTORY    "plan:history"
#define KEY_OUTPUT     "plan:output"
#define KEY_STATIONS   "plan:stations"
#define KEY_KINDS      "plan:kinds"
#define KEY_LIMITS     "plan:limits"
#define KEY_COUNT      "plan:count"
#define KEY_ATTENDING  "plan:attending"
#define KEY_IDENTITIES "plan:identities"

// Who asked: kept until the answer, with what the answer is read by.
struct ask {
    struct store *store;
    void (*reply) (void); // the caller's function, under its own type again when it is called
    void *owner;
    int64_t asked_us; // monotonic
    int64_t limit;
    char station[STATION_NAME_MAX + 1]; // that an answer named, while replicas are waited for
};

// Redis' clock as an answer told it: it was that time between the question and now.
void store_learn_time (struct store *self, int64_t asked_us, int64_t redis_us);

struct ask *ask_new (struct store *self, void (*reply) (void), void *owner);

enum { MEMBER_MAX = 10 + STATION_NAME_MAX + 1 + 16 + 1, CALLER_FIELD_MAX = 2 + 40 + 1 };

// plan:msg:STATION:ID, and plan:wait:STATION. A station is a sound name.
void member_make (char out[MEMBER_MAX], struct span station, uint64_t plan_id);
void wait_make (char out[MEMBER_MAX], struct span station);

// -- calls of many plans (batch.h)

// Whether another plan may not have room.
bool tallies_full (const struct tallies *self);

// Their number and they as arguments, times `sign`; then they are empty.
void tallies_add (struct tallies *self, int sign, struct batch *batch);

void store_tally (struct store *self, struct tallies *tallies, struct span station,
                  const struct plan *plan);

// Arguments: message key and whom the plan belongs to; its message; its index entry; its work key.
void store_add_plan (struct store *self, struct batch *batch, struct span key_station,
                     const struct plan *plan);
void store_add_message (struct store *self, struct batch *batch, const struct plan *plan);
void store_add_entry (struct batch *batch, struct span key_station, uint64_t plan_id);
void store_add_work (struct batch *batch, struct span key_station, uint64_t plan_id);

// The fields of an entry of plan:output: "o", TEXT of each. Free the bytes.
char *store_outputs (const struct span *outputs, size_t count, size_t *ret_size);

// So many bytes more were written to plan:output: when it may have grown over its bound it is
// trimmed.
void store_outputs_written (struct store *self, size_t size);

// Drop outputs that are too old, or more than there may be.
void store_outputs_trim (struct store *self);

enum { CLASS_MAX = 4 + POLICY_NAME_MAX + 1 };

// What plan:class has of a plan; "": nothing.
void class_make (char out[CLASS_MAX], const struct plan *plan);

size_t store_submit_head (void *owner, struct batch *batch);
size_t store_look_at_head (void *owner, struct batch *batch);
void store_on_submitted (void *owner, struct batch *batch, const redisReply *reply);
size_t store_commit_head (void *owner, struct batch *batch);
void store_commit_late (void *item_owner, struct batch *batch);
void store_on_committed (void *owner, struct batch *batch, const redisReply *reply);
size_t store_end_head (void *owner, struct batch *batch);
void store_on_ended (void *owner, struct batch *batch, const redisReply *reply);

// An id as 16 hex digits.
void id_digits (uint64_t id, char out[IDENT_SIZE]);

// -- reading answers

bool reply_is_array (const redisReply *reply, size_t elements);
enum store_result reply_result (const redisReply *reply, const char **ret_error);
struct span reply_text (const redisReply *reply);
int64_t reply_number (const redisReply *reply);
int64_t reply_time_us (const redisReply *reply); // 0 when it is no time that there can be

// What is told of an answer that no script gives.
#define ODD_ANSWER "this is no answer of the script that was called"

// "1763...+?": the exec_id of a run in hand and its marks (store.h, plan:run).
void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_again);
