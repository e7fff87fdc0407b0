// What the files of the simulated Redis' data share.
#pragma once

#include <stddef.h>

#include "redis_data.h"
#include "table.h"

enum kind { KIND_STRING, KIND_HASH, KIND_SORTED, KIND_LIST, KIND_STREAM };

enum { STEPS = 256 }; // that can be gone back

struct entry {
    struct table_node node; // by key and name
    struct key *key;
    struct entry *next, **at; // of its key, in the order in which they came
    char *value;
    size_t value_size;
    int64_t score_us;
    size_t name_size;
    char name[];
};

struct key {
    struct table_node node; // by name
    enum kind kind;
    struct entry *first, **end;
    size_t count, name_size;
    char name[];
};

struct step {
    uint8_t *bytes;
    size_t size, room;
    size_t *starts; // of what was there before, in its order
    size_t count, starts_room;
};

struct redis_data {
    struct table keys, entries;
    struct step steps[STEPS];
    uint64_t step;
    size_t kept;
    char expiring[32]; // the one key that expires; "" = none does
    int64_t expires_us;
};

struct key *key_find (const struct redis_data *self, struct span name);
struct entry *entry_find (const struct redis_data *self, const struct key *key, struct span name);
void entry_set (struct redis_data *self, struct span key, enum kind kind, struct span name,
                struct span value, int64_t score_us);
bool entry_drop (struct redis_data *self, struct span key, struct span name);
bool key_drop (struct redis_data *self, struct span name);
