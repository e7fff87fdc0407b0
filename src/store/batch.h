// Calls of one kind that go out together: one script that takes many items. A lone item leaves at
// the end of the turn in which it came; while calls are under way the next ones gather, so that
// load makes its own batches, and nobody waits for a clock but who may wait. With a Redis that
// syncs each write this is the group commit.
#pragma once

#include "link.h"

struct batch;

// The arguments that stand before those of the items: keys first, their number is answered.
typedef size_t batch_head_fn (void *owner, struct batch *batch);

// The answer of a call; batch_size and batch_owner tell what it is of. `reply` as in link_reply_fn.
typedef void batch_answer_fn (void *owner, struct batch *batch, const redisReply *reply);

// Adds the arguments of an item that were left for later.
typedef void batch_late_fn (void *item_owner, struct batch *batch);

struct batch_kind {
    enum script script;
    enum link_repeat repeat;
    batch_head_fn *head;
    batch_answer_fn *answer;
    batch_late_fn *late; // of batch_is_late
    int64_t patience_ms; // of batch_may_wait
};

// One kind's calls: one that gathers, and those under way.
struct batches;

struct batches *batches_new (const struct batch_kind *kind, struct link *link,
                             struct reactor *reactor, void *owner);

// What was not sent is answered as lost.
void batches_destroy (struct batches **self);

// A new item at the end of the call that gathers; its arguments follow by batch_add. `key` is for
// batches_find.
struct batch *batches_item (struct batches *self, uint64_t key, void *owner);

// The owner of the item with this key that is still gathering; NULL: there is none.
void *batches_find (const struct batches *self, uint64_t key);

// The last item may wait for the kind's patience, as it will likely be dropped: a call of nothing
// else, and of few, leaves only then.
void batch_may_wait (struct batch *self);

// It is not to be called any more. Its owner gets no answer.
void batches_drop (struct batches *self, uint64_t key);

// An argument; the bytes are copied.
void batch_add (struct batch *self, struct span argument);
void batch_add_text (struct batch *self, const char *text);
void batch_add_number (struct batch *self, int64_t number);

// All of the last item's arguments are made when the call goes out, by the kind's `late`: it may
// be dropped before.
void batch_is_late (struct batch *self);

// For a batch_head_fn: the items' arguments go out by columns, as a script passes them on to
// commands of Redis without looking at each. "0|01" is the first argument of every item, and then
// the first two of each; an item that has no such argument is left out. Else they go out item by
// item.
void batch_columns (struct batch *self, const char *columns);

// What a batch_head_fn may have in the place of the kind's script: another one, and a command of
// Redis before it, in one step with it (link_call). The texts last as long as the call.
struct batch_before {
    enum script script;
    const char *command;
    const char *columns; // the items' arguments for the command
    struct span last[2]; // two more behind them
};

void batch_before (struct batch *self, const struct batch_before *before);

// The script that was called.
enum script batch_script (const struct batch *self);

// Send what gathers if it is time: nothing is under way, or there is much of it.
void batches_flush (struct batches *self);

// Send it now: what comes next must come after it.
void batches_send (struct batches *self);

// Items without an answer.
size_t batches_pending (const struct batches *self);

size_t batch_size (const struct batch *self);
void *batch_owner (const struct batch *self, size_t item);
int64_t batch_asked_us (const struct batch *self); // when it was sent, monotonic

// An item's arguments, as they were added; borrowed.
size_t batch_arguments (const struct batch *self, size_t item);
struct span batch_argument (const struct batch *self, size_t item, size_t argument);
