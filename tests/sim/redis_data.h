// The data of a Redis for simulated stations: strings, hashes, sorted sets, lists and streams, with
// the commands that a station sends, and a way back to any earlier step of late. Of a stream it
// knows the last id and how many entries there are.
#pragma once

#include <hiredis/hiredis.h>

#include "span.h"

// Memory that is freed all at once.
struct arena {
    struct arena_block *first;
};

void *arena_take (struct arena *self, size_t size);
struct span arena_copy (struct arena *self, struct span text);
void arena_free (struct arena *self);

struct redis_data;

struct redis_data *redis_data_new (void);
void redis_data_destroy (struct redis_data **self);

// Whether Redis counts it as a write.
bool redis_data_writes (struct span command);

// The key that PEXPIRE named last, when its time has come; empty = not yet.
struct span redis_data_expired (const struct redis_data *self, int64_t now_us);

// Run a command; its answer lives in the arena.
redisReply *redis_data_run (struct redis_data *self, const struct span *words, size_t count,
                            int64_t now_us, struct arena *arena);
redisReply *reply_new (struct arena *arena, int type);
redisReply *reply_error (struct arena *arena, const char *text);

// What is written from now on is one step. Its number.
uint64_t redis_data_begin (struct redis_data *self);

// How many steps it can go back, and do so.
size_t redis_data_steps (const struct redis_data *self);
void redis_data_back (struct redis_data *self, size_t steps);
void redis_data_flush (struct redis_data *self);

// -- looks from outside: a string is the field "" of its key

bool redis_data_get (const struct redis_data *self, struct span key, struct span field,
                     struct span *ret);
int64_t redis_data_score (const struct redis_data *self, struct span key, struct span member);
size_t redis_data_count (const struct redis_data *self, const char *key);

typedef void redis_data_fn (void *owner, struct span name, struct span value, int64_t score_us);
void redis_data_each (const struct redis_data *self, const char *key, redis_data_fn *call,
                      void *owner);

// The string keys that begin so.
void redis_data_each_string (const struct redis_data *self, const char *prefix, redis_data_fn *call,
                             void *owner);
