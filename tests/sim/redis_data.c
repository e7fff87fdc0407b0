// Keys and their fields, and the way back.
#include "redis_data_private.h"

#include <stdlib.h>

#include "memory.h"

// -- memory of answers

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t bytes[];
};

void *arena_take (struct arena *self, size_t size)
{
    enum { BLOCK = 2000, ALIGN = sizeof (max_align_t) };
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (!self->first || self->first->size - self->first->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        struct arena_block *block = memory_resize (NULL, sizeof *block + room);
        *block = (struct arena_block){.next = self->first, .size = room};
        self->first = block;
    }
    void *at = (uint8_t *)self->first->bytes + self->first->used;
    self->first->used += size;
    return at;
}

struct span arena_copy (struct arena *self, struct span text)
{
    uint8_t *copy = arena_take (self, text.size + 1);
    if (text.size)
        memcpy (copy, text.data, text.size);
    copy[text.size] = '\0';
    return span_of (copy, text.size);
}

void arena_free (struct arena *self)
{
    for (struct arena_block *block = self->first, *next; block; block = next) {
        next = block->next;
        free (block);
    }
    self->first = NULL;
}

// -- keys and fields

struct key *key_find (const struct redis_data *self, struct span name)
{
    struct table_node *node = table_find (&self->keys, table_hash (name));
    for (; node; node = table_next (node)) {
        struct key *key = (struct key *)node; // it is the first member
        if (span_equal (name, span_of (key->name, key->name_size)))
            return key;
    }
    return NULL;
}

static uint64_t hash_of (const struct key *key, struct span name)
{
    return table_hash_number (key->node.hash ^ table_hash (name) * 31);
}

struct entry *entry_find (const struct redis_data *self, const struct key *key, struct span name)
{
    struct table_node *node = key ? table_find (&self->entries, hash_of (key, name)) : NULL;
    for (; node; node = table_next (node)) {
        struct entry *entry = (struct entry *)node; // it is the first member
        if (entry->key == key && span_equal (name, span_of (entry->name, entry->name_size)))
            return entry;
    }
    return NULL;
}

static struct key *key_make (struct redis_data *self, struct span name, enum kind kind)
{
    struct key *key = memory_resize (NULL, sizeof *key + name.size + 1);
    *key = (struct key){.kind = kind, .name_size = name.size};
    memcpy (key->name, name.data, name.size);
    key->name[name.size] = '\0';
    table_add (&self->keys, &key->node, table_hash (name));
    return key;
}

static void entry_remove (struct redis_data *self, struct entry *entry)
{
    struct key *key = entry->key;
    *entry->at = entry->next;
    if (entry->next)
        entry->next->at = entry->at;
    else
        key->end = entry->at;
    table_remove (&self->entries, &entry->node);
    free (entry->value);
    free (entry);
    if (--key->count == 0) {
        table_remove (&self->keys, &key->node);
        free (key);
    }
}

static void value_set (struct entry *entry, struct span value)
{
    entry->value = memory_resize (entry->value, value.size + 1);
    if (value.size)
        memcpy (entry->value, value.data, value.size);
    entry->value[value.size] = '\0';
    entry->value_size = value.size;
}

static struct entry *entry_make (struct redis_data *self, struct key *key, struct span name)
{
    struct entry *entry = memory_resize (NULL, sizeof *entry + name.size + 1);
    *entry = (struct entry){.key = key, .name_size = name.size};
    if (name.size)
        memcpy (entry->name, name.data, name.size);
    entry->name[name.size] = '\0';
    table_add (&self->entries, &entry->node, hash_of (key, name));
    if (!key->first)
        key->end = &key->first;
    entry->at = key->end;
    *key->end = entry;
    key->end = &entry->next;
    key->count++;
    return entry;
}

// -- the way back: each step has what was there before

struct undone { // then come key, name and value
    size_t key_size, name_size, value_size;
    int64_t score_us;
    uint8_t kind;
    bool there;
};

static void append (struct step *step, const void *bytes, size_t size)
{
    if (step->size + size > step->room) {
        step->room = 2 * step->room + size + 256;
        step->bytes = memory_resize (step->bytes, step->room);
    }
    if (size)
        memcpy (step->bytes + step->size, bytes, size);
    step->size += size;
}

static void remember (struct redis_data *self, struct span key, struct span name, enum kind kind,
                      const struct entry *entry)
{
    struct step *step = &self->steps[self->step % STEPS];
    struct undone undone = {.key_size = key.size,
                            .name_size = name.size,
                            .value_size = entry ? entry->value_size : 0,
                            .score_us = entry ? entry->score_us : 0,
                            .kind = (uint8_t)kind,
                            .there = entry != NULL};
    if (step->count == step->starts_room) {
        step->starts_room = 2 * step->starts_room + 16;
        step->starts = memory_resize (step->starts, step->starts_room * sizeof *step->starts);
    }
    step->starts[step->count++] = step->size;
    append (step, &undone, sizeof undone);
    append (step, key.data, key.size);
    append (step, name.data, name.size);
    if (entry)
        append (step, entry->value, entry->value_size);
}

static void undo_one (struct redis_data *self, const struct step *step, size_t at)
{
    struct undone undone;
    memcpy (&undone, step->bytes + at, sizeof undone);
    const uint8_t *texts = step->bytes + at + sizeof undone;
    struct span name = span_of (texts + undone.key_size, undone.name_size);
    struct span key_name = span_of (texts, undone.key_size);
    struct key *key = key_find (self, key_name);
    struct entry *entry = entry_find (self, key, name);
    if (!undone.there) {
        if (entry)
            entry_remove (self, entry);
        return;
    }
    if (!key)
        key = key_make (self, key_name, undone.kind);
    if (!entry)
        entry = entry_make (self, key, name);
    value_set (entry, span_of (texts + undone.key_size + undone.name_size, undone.value_size));
    entry->score_us = undone.score_us;
}

uint64_t redis_data_begin (struct redis_data *self)
{
    self->step++;
    self->kept += self->kept < STEPS;
    self->steps[self->step % STEPS].size = self->steps[self->step % STEPS].count = 0;
    return self->step;
}

size_t redis_data_steps (const struct redis_data *self)
{
    return self->kept;
}

void redis_data_back (struct redis_data *self, size_t steps)
{
    for (; steps && self->kept; steps--) {
        const struct step *step = &self->steps[self->step % STEPS];
        for (size_t i = step->count; i > 0; i--)
            undo_one (self, step, step->starts[i - 1]);
        self->step--;
        self->kept--;
    }
}

// -- writes

void entry_set (struct redis_data *self, struct span key_name, enum kind kind, struct span name,
                struct span value, int64_t score_us)
{
    struct key *key = key_find (self, key_name);
    struct entry *entry = entry_find (self, key, name);
    remember (self, key_name, name, kind, entry);
    if (!key)
        key = key_make (self, key_name, kind);
    if (!entry)
        entry = entry_make (self, key, name);
    value_set (entry, value);
    entry->score_us = score_us;
}

bool entry_drop (struct redis_data *self, struct span key_name, struct span name)
{
    struct key *key = key_find (self, key_name);
    struct entry *entry = entry_find (self, key, name);
    if (!entry)
        return false;
    remember (self, key_name, name, key->kind, entry);
    entry_remove (self, entry);
    return true;
}

bool key_drop (struct redis_data *self, struct span name)
{
    struct key *key = key_find (self, name);
    if (!key)
        return false;
    for (size_t left = key->count; left; left--) {
        remember (self, name, span_of (key->first->name, key->first->name_size), key->kind,
                  key->first);
        entry_remove (self, key->first);
    }
    return true;
}

void redis_data_flush (struct redis_data *self)
{
    for (struct table_node *node; (node = table_any (&self->entries));)
        entry_remove (self, (struct entry *)node);
    self->kept = 0;
}

// -- life

struct redis_data *redis_data_new (void)
{
    return memory_new (sizeof (struct redis_data));
}

void redis_data_destroy (struct redis_data **self_p)
{
    struct redis_data *self = *self_p;
    redis_data_flush (self);
    for (size_t i = 0; i < STEPS; i++) {
        free (self->steps[i].bytes);
        free (self->steps[i].starts);
    }
    table_free (&self->keys);
    table_free (&self->entries);
    free (self);
    *self_p = NULL;
}

// -- looks

bool redis_data_get (const struct redis_data *self, struct span key, struct span field,
                     struct span *ret)
{
    const struct entry *entry = entry_find (self, key_find (self, key), field);
    *ret = entry ? span_of (entry->value, entry->value_size) : (struct span){0};
    return entry != NULL;
}

int64_t redis_data_score (const struct redis_data *self, struct span key, struct span member)
{
    const struct entry *entry = entry_find (self, key_find (self, key), member);
    return entry ? entry->score_us : -1;
}

size_t redis_data_count (const struct redis_data *self, const char *name)
{
    const struct key *key = key_find (self, span_text (name));
    return key ? key->count : 0;
}

static void call_for (const struct entry *entry, struct span name, redis_data_fn *call, void *owner)
{
    call (owner, name, span_of (entry->value, entry->value_size), entry->score_us);
}

void redis_data_each (const struct redis_data *self, const char *name, redis_data_fn *call,
                      void *owner)
{
    const struct key *key = key_find (self, span_text (name));
    for (const struct entry *entry = key ? key->first : NULL; entry; entry = entry->next)
        call_for (entry, span_of (entry->name, entry->name_size), call, owner);
}

struct each_string {
    struct span prefix;
    redis_data_fn *call;
    void *owner;
};

static void on_key (struct table_node *node, void *owner)
{
    const struct key *key = (struct key *)node;
    const struct each_string *each = owner;
    if (key->kind == KIND_STRING && key->name_size >= each->prefix.size &&
        memcmp (key->name, each->prefix.data, each->prefix.size) == 0)
        call_for (key->first, span_of (key->name, key->name_size), each->call, each->owner);
}

void redis_data_each_string (const struct redis_data *self, const char *prefix, redis_data_fn *call,
                             void *owner)
{
    struct each_string each = {span_text (prefix), call, owner};
    table_each (&self->keys, on_key, &each);
}
