#include "key_memory.h"

#include <stdlib.h>

#include "memory.h"

// Keys are hashes, so sets fill evenly: with 100,000 keys hardly any is dropped early.
enum { SETS = 1 << 14, WAYS = 16, DAY_S = 86400 };

struct key_slot {
    struct key_use use;
    int64_t at_s; // 0: free
};

struct key_memory {
    struct key_slot places[SETS][WAYS];
};

struct key_memory *key_memory_new (void)
{
    return memory_new (sizeof (struct key_memory));
}

void key_memory_destroy (struct key_memory **self_p)
{
    free (*self_p);
    *self_p = NULL;
}

const struct key_use *key_memory_find (const struct key_memory *self, uint64_t key, int64_t now_s)
{
    const struct key_slot *set = self->places[key % SETS];
    for (int i = 0; i < WAYS; i++)
        if (set[i].at_s && set[i].use.key == key && now_s - set[i].at_s < DAY_S)
            return &set[i].use;
    return NULL;
}

void key_memory_put (struct key_memory *self, const struct key_use *use, int64_t now_s)
{
    struct key_slot *set = self->places[use->key % SETS], *place = set;
    for (int i = 0; i < WAYS && place->use.key != use->key; i++)
        if (set[i].use.key == use->key || set[i].at_s < place->at_s)
            place = &set[i];
    *place = (struct key_slot){.use = *use, .at_s = now_s};
}
