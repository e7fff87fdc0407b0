// Open addressing; it is doubled when it is half full.
#include "target.h"

#include <stdlib.h>

#include "memory.h"

static size_t place_of (const struct book *self, uint64_t plan_id)
{
    uint64_t hash = plan_id * UINT64_C (0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 20) & (self->room - 1);
    while (self->entries[at].plan_id && self->entries[at].plan_id != plan_id)
        at = (at + 1) & (self->room - 1);
    return at;
}

void book_open (struct book *self, int64_t plans)
{
    *self = (struct book){.room = 1024};
    while (self->room < (size_t)plans * 2 + 2)
        self->room *= 2;
    self->entries = memory_new (self->room * sizeof *self->entries);
}

void book_close (struct book *self)
{
    free (self->entries);
    *self = (struct book){0};
}

static void grow (struct book *self)
{
    struct book old = *self;
    self->room *= 2;
    self->entries = memory_new (self->room * sizeof *self->entries);
    for (size_t i = 0; i < old.room; i++)
        if (old.entries[i].plan_id)
            self->entries[place_of (self, old.entries[i].plan_id)] = old.entries[i];
    free (old.entries);
}

struct book_entry *book_entry (struct book *self, uint64_t plan_id)
{
    size_t at = place_of (self, plan_id);
    if (self->entries[at].plan_id)
        return &self->entries[at];
    if (++self->plans * 2 > self->room) {
        grow (self);
        at = place_of (self, plan_id);
    }
    self->entries[at].plan_id = plan_id;
    return &self->entries[at];
}
