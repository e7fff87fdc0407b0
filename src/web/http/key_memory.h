// The memory of used Idempotency-Keys: a plan may have ended, and be gone, before its submission is
// repeated. It keeps about the last 100,000 keys for a day; a restart forgets them. Pure.
// Source: the draft of the IETF on the Idempotency-Key header.
#pragma once

#include <stdint.h>

struct key_memory;

struct key_use {
    uint64_t key;       // made of the user and the key by plan_id_of_key
    uint64_t body_hash; // of what was submitted with it
    uint64_t plan_id;   // the plan that it became
};

struct key_memory *key_memory_new (void);
void key_memory_destroy (struct key_memory **self);

// The use of this key in the last day before `now_s` (monotonic seconds), or NULL. Valid until the
// next key_memory_put.
const struct key_use *key_memory_find (const struct key_memory *self, uint64_t key, int64_t now_s);

// Store a use at `now_s` (monotonic seconds); it replaces the oldest one in its set if that is
// full.
void key_memory_put (struct key_memory *self, const struct key_use *use, int64_t now_s);
