// What the files of the store share; nobody else includes it.
#pragma once

#include "ident.h"
#include "store.h"

struct store {
    struct link *link;
    int64_t offset_us;   // Redis' clock minus our monotonic one
    bool learned;        // by an answer
    char claims_key[48]; // plan:claim:INSTANCE
    char sent_key[48];   // plan:sent:INSTANCE
    uint64_t claims;     // made so far
    uint64_t commits;
    struct store_bounds bounds;
    char instance[17];
    char data[32];    // identity of the data that Redis had; empty = not known yet
    uint64_t exec_id; // the last that was seen
    int64_t seq;      // of the last broadcast that was heard of
    char epoch[24];
};

#define KEY_TIME_SET  "plan:time:set"
#define KEY_INDEX     "plan:ids"
#define KEY_RUNS      "plan:run"
#define KEY_META      "plan:meta"
#define KEY_TOLD      "plan:told"
#define KEY_HISTORY   "plan:history"
#define KEY_STATIONS  "plan:stations"
#define KEY_COUNT     "plan:count"
#define KEY_ATTENDING "plan:attending"

// Who asked: kept until the answer, with what the answer is read by.
struct ask {
    struct store *store;
    void (*reply) (void); // the caller's function, under its own type again when it is called
    void *owner;
    int64_t asked_us; // monotonic
    int64_t lease_us;
    int64_t limit;
    char station[STATION_NAME_MAX + 1]; // that an answer named, while replicas are waited for
};

// Redis' clock as an answer told it: it was that time between the question and now.
void store_learn_time (struct ask *ask, int64_t redis_us);

struct ask *ask_new (struct store *self, void (*reply) (void), void *owner);

// The keys of a plan and its entry in the index.
enum { MEMBER_MAX = 9 + STATION_NAME_MAX + 1 + 16 + 1, ENTRY_MAX = 17 + STATION_NAME_MAX + 1 };

struct names {
    char member[MEMBER_MAX]; // plan:msg:STATION:ID
    char work[MEMBER_MAX + 1];
    char wait[MEMBER_MAX];
    char entry[ENTRY_MAX]; // of the index
    char id[IDENT_SIZE];
};

void names_make (struct names *self, struct span station, uint64_t plan_id);

// -- reading answers

bool reply_is_array (const redisReply *reply, size_t elements);
enum store_result reply_result (const redisReply *reply, const char **ret_error);
struct span reply_text (const redisReply *reply);
int64_t reply_number (const redisReply *reply);

// "1763...+?": the exec_id of a run in hand and its marks (store.h, plan:run).
void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_again);
