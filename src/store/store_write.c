// Callers that are answered when the decisions of this turn are written.
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "store_private.h"

enum store_result store_result_of_wait (enum written how)
{
    static const enum store_result results[] = {[WRITTEN] = STORE_DONE,
                                                [WRITTEN_UNKNOWN] = STORE_UNKNOWN,
                                                [WRITTEN_REFUSED] = STORE_ERROR,
                                                [WRITTEN_RESET] = STORE_RESET};
    return results[how];
}

// A caller that waits until a decision is written, or for the end of the turn; freed when it is
// released.
struct written_caller {
    struct waiter waiter;
    struct store *store;
    store_done_fn *reply;
    void *owner;
    enum store_result result; // of store_reply_at_turn_end
    char error[];             // of store_reply_at_turn_end
};

static void on_replicated (void *owner, bool enough)
{
    struct written_caller *caller = owner;
    caller->reply (caller->owner, enough ? STORE_DONE : STORE_UNSURE, "");
    free (caller);
}

static void on_batch_written (struct waiter *waiter, enum written how, const char *error)
{
    struct written_caller *caller = (struct written_caller *)waiter; // it is the first member
    if (how == WRITTEN && waiter_needs_replicas (waiter)) {
        link_replicate (caller->store->link, on_replicated, caller);
        return;
    }
    caller->reply (caller->owner, store_result_of_wait (how), error);
    free (caller);
}

static struct written_caller *written_caller_new (struct store *self, enum waiter_kind kind,
                                                  store_done_fn *reply, void *owner,
                                                  const char *error)
{
    struct written_caller *caller = memory_new (sizeof *caller + strlen (error) + 1);
    *caller = (struct written_caller){.waiter = {.kind = kind, .release = on_batch_written},
                                      .store = self,
                                      .reply = reply,
                                      .owner = owner};
    memcpy (caller->error, error, strlen (error) + 1);
    return caller;
}

void store_reply_when_written (struct store *self, enum waiter_kind kind, store_done_fn *reply,
                               void *owner)
{
    struct written_caller *caller = written_caller_new (self, kind, reply, owner, "");
    writer_wait_batch (self->writer, &caller->waiter, clock_mono_us ());
}

void store_call_when_written (struct store *self, store_done_fn *reply, void *owner)
{
    store_reply_when_written (self, WAITER_SURE, reply, owner);
}

// The calls of this turn have made their decisions: wait until these are written.
static void wait_after_turn (struct waiter *waiter, enum written how, const char *error)
{
    struct written_caller *caller = (struct written_caller *)waiter;
    (void)how, (void)error;
    waiter->release = on_batch_written;
    writer_wait_batch (caller->store->writer, waiter, clock_mono_us ());
}

void store_call_when_settled (struct store *self, store_done_fn *reply, void *owner)
{
    struct written_caller *caller = written_caller_new (self, WAITER_SURE, reply, owner, "");
    caller->waiter.release = wait_after_turn;
    writer_wait_flush (self->writer, &caller->waiter);
}

static void reply_after_turn (struct waiter *waiter, enum written how, const char *error)
{
    struct written_caller *caller = (struct written_caller *)waiter;
    (void)how, (void)error;
    caller->reply (caller->owner, caller->result, caller->error);
    free (caller);
}

void store_reply_at_turn_end (struct store *self, enum store_result result, const char *error,
                              store_done_fn *reply, void *owner)
{
    struct written_caller *caller = written_caller_new (self, WAITER_SURE, reply, owner, error);
    caller->waiter.release = reply_after_turn;
    caller->result = result;
    writer_wait_flush (self->writer, &caller->waiter);
}

void store_put (struct store *self, const struct span *words, size_t count)
{
    core_add_command (self->core, words, count);
}
