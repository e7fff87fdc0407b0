// What the files of the store share; nobody else includes it.
#pragma once

#include "store.h"

struct store {
    struct link *link;
    int64_t offset_us;   // Redis' clock minus our monotonic one
    char claims_key[48]; // plan:claim:INSTANCE
    char sent_key[48];   // plan:sent:INSTANCE
    uint64_t claims;     // made so far
    uint64_t commits;
};

#define KEY_TIME_SET "plan:time:set"
#define KEY_INDEX    "plan:ids"
#define KEY_RUNS     "plan:run"
#define KEY_META     "plan:meta"
#define KEY_TOLD     "plan:told"

// Who asked: kept until the answer, with what the answer is read by.
struct ask {
    struct store *store;
    void (*reply) (void); // the caller's function, under its own type again when it is called
    void *owner;
    int64_t asked_us; // monotonic
    int64_t lease_us;
    int64_t limit;
};

// Redis' clock as an answer told it: it was that time between the question and now.
void store_learn_time (struct ask *ask, int64_t redis_us);

struct ask *ask_new (struct store *self, void (*reply) (void), void *owner);

// -- reading answers

bool reply_is_array (const redisReply *reply, size_t elements);
enum store_result reply_result (const redisReply *reply, const char **ret_error);
struct span reply_text (const redisReply *reply);
int64_t reply_number (const redisReply *reply);

// "1763...+?": the exec_id of a run in hand and its marks (store.h, plan:run).
void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_again);
