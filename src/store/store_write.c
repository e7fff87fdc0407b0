// Callers that are answered when what was decided in this turn is written.
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "store_private.h"

enum store_result written_result (enum written how)
{
    static const enum store_result results[] = {[WRITTEN] = STORE_DONE,
                                                [WRITTEN_UNKNOWN] = STORE_UNKNOWN,
                                                [WRITTEN_REFUSED] = STORE_ERROR,
                                                [WRITTEN_RESET] = STORE_RESET};
    return results[how];
}

static void on_safe (void *owner, bool enough)
{
    struct written_ask *ask = owner;
    ask->reply (ask->owner, enough ? STORE_DONE : STORE_UNSURE, "");
    free (ask);
}

static void on_written (struct waiter *waiter, enum written how, const char *error)
{
    struct written_ask *ask = (struct written_ask *)waiter; // it is the first member
    if (how == WRITTEN && waiter_needs_replicas (waiter)) {
        link_replicate (ask->store->link, on_safe, ask);
        return;
    }
    ask->reply (ask->owner, written_result (how), error);
    free (ask);
}

static struct written_ask *written_new (struct store *self, store_done_fn *reply, void *owner)
{
    struct written_ask *ask = memory_new (sizeof *ask);
    ask->store = self;
    ask->reply = reply;
    ask->owner = owner;
    return ask;
}

void store_wait (struct store *self, enum waiter_kind kind, store_done_fn *reply, void *owner)
{
    struct written_ask *ask = written_new (self, reply, owner);
    ask->waiter = (struct waiter){.kind = kind, .release = on_written};
    writer_wait (self->writer, &ask->waiter, clock_mono_us ());
}

struct answered {
    struct waiter waiter;
    store_done_fn *reply;
    void *owner;
    enum store_result result;
    char error[];
};

static void on_answered (struct waiter *waiter, enum written how, const char *error)
{
    struct answered *answered = (struct answered *)waiter; // it is the first member
    (void)how, (void)error;
    answered->reply (answered->owner, answered->result, answered->error);
    free (answered);
}

void store_answer (struct store *self, enum store_result result, const char *error,
                   store_done_fn *reply, void *owner)
{
    struct answered *answered = memory_new (sizeof *answered + strlen (error) + 1);
    *answered = (struct answered){
        .waiter = {.release = on_answered}, .reply = reply, .owner = owner, .result = result};
    memcpy (answered->error, error, strlen (error) + 1);
    writer_wait_turn (self->writer, &answered->waiter);
}

void store_write (struct store *self, const struct span *words, size_t count)
{
    core_write (self->core, words, count);
}

struct settling {
    struct store *store;
    store_done_fn *reply;
    void *owner;
};

static void on_turn (void *owner, enum store_result result, const char *error)
{
    struct settling *settling = owner;
    (void)result, (void)error;
    store_wait (settling->store, WAITER_SURE, settling->reply, settling->owner);
    free (settling);
}

void store_settle (struct store *self, store_done_fn *reply, void *owner)
{
    struct settling *settling = memory_new (sizeof *settling);
    *settling = (struct settling){self, reply, owner};
    store_answer (self, STORE_DONE, "", on_turn, settling);
}
