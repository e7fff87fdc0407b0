// The one writer of a database: what the core decides goes to Redis in numbered batches, fenced by
// the owner's token (owner.h), and callers that wait for a batch are released when it was applied.
// One batch is in flight, the next gathers meanwhile: a lone change leaves at once, load makes its
// own batches. Pure: commands go out and answers come in through the functions of writer_io.
#pragma once

#include <hiredis/hiredis.h>

#include "commands.h"
#include "core.h"
#include "owner.h"

struct writer;

struct writer_io {
    void *owner;
    // Hand these commands over in one write, on the open connection; each is answered by
    // writer_answer, in order. They are borrowed.
    void (*send) (void *owner, const struct commands *commands);
    // Close the connection if there is one, and connect to the master: then writer_opened. `why`:
    // what Redis said.
    void (*open) (void *owner, const char *why);
    // It serves, was fenced off, what it must not go on with (owner.h); OWNER_ACKED: when all who
    // waited for the batch are released.
    void (*news) (void *owner, enum owner_news news);
    // Redis' clock, as the batch that was sent at `asked_us` (monotonic) read it.
    void (*time) (void *owner, int64_t asked_us, int64_t redis_us);
    // A key that could not be written to, mostly as it had another type, was replaced.
    void (*wrong_key) (void *owner, struct span key);
    // The token that is about to be taken: it is kept where a restart finds it.
    void (*taking) (void *owner, const char *token);
};

struct writer_config {
    struct owner_config owner;
    const char *name, *endpoints; // of this station, for people and other stations; borrowed
    const char *key;              // the same: its public key; NULL = without CURVE
    int64_t outcomes;             // that the history keeps; 0 = none
};

// `core` and `config`'s texts are borrowed.
struct writer *writer_new (struct core *core, const struct writer_config *config,
                           const struct writer_io *io);

// Waiters that are left are released as lost.
void writer_destroy (struct writer **self);

void writer_keep_outcomes (struct writer *self, int64_t outcomes);

// -- who waits

enum written {
    WRITTEN,         // the write was applied
    WRITTEN_UNKNOWN, // the connection was lost, or Redis took too long: it may still be applied
    WRITTEN_REFUSED, // Redis rejected it: it is not applied, and will not be
    WRITTEN_RESET,   // the data it was decided on are lost, or another station owns the plans
    WRITTEN_HOWS
};

// Embedded by the waiting caller, which keeps the memory until it is released.
struct waiter {
    struct waiter *next;
    enum waiter_kind {
        WAITER_SURE,      // waits until it is known
        WAITER_CLIENT,    // a client's change: not for longer than Redis is there
        WAITER_SUBMISSION // the same, and it may be refused
    } kind;
    int64_t since_us; // monotonic
    // `error` is the refusal's text, or "". May free the waiter, and decide further things.
    void (*release) (struct waiter *self, enum written how, const char *error);
};

// Whether who waited waits for the replicas as well: replies to clients do; dispatches and
// broadcasts do not.
bool waiter_needs_replicas (const struct waiter *waiter);

// Wait for the batch that gathers, or if it is empty for the one in flight: call after what was
// decided.
void writer_wait (struct writer *self, struct waiter *waiter, int64_t mono_us);

// Wait for nothing: it is released at the next writer_flush, so that no callback runs within the
// call that asked for it.
void writer_wait_turn (struct writer *self, struct waiter *waiter);

// -- events; clocks in microseconds: `boot_us` is CLOCK_BOOTTIME, `mono_us` CLOCK_MONOTONIC

void writer_opened (struct writer *self, int64_t boot_us);

// The connection is gone: commands without an answer will get none.
void writer_closed (struct writer *self, int64_t boot_us);

// What was read of the data is incomplete, and the connection closed: the next one takes over anew,
// which no batch of before can outlive.
void writer_begin_anew (struct writer *self, int64_t boot_us);

// The answer of the next command that was sent and not answered yet.
void writer_answer (struct writer *self, const redisReply *reply, int64_t boot_us);

// Let a standby take over, or another station that waits.
void writer_hand_over (struct writer *self, int64_t boot_us);

// Redis answered something then: it is there, and what is in flight will be answered.
void writer_redis_answered (struct writer *self, int64_t mono_us);

// The end of a turn: send what gathers if nothing is in flight, and what the owner's protocol asks.
void writer_flush (struct writer *self, int64_t boot_us, int64_t mono_us);

// Release the memory of batches while there is none.
void writer_trim (struct writer *self);

// When writer_flush is wanted though nothing happens, CLOCK_BOOTTIME; INT64_MAX = never.
int64_t writer_next_us (const struct writer *self);

// -- questions

bool writer_serves (const struct writer *self); // it is the owner, as far as it knows
bool writer_is_leased (const struct writer *self, int64_t boot_us);

// ROWS_ flags of the batch in flight.
unsigned writer_kinds (const struct writer *self);

// Why Redis refuses what is in flight, "" = it does not.
const char *writer_refusal (const struct writer *self);

// Waiters, without those that wait for nothing.
size_t writer_pending (const struct writer *self);

// Whether nothing is gathered, in flight, or waited for.
bool writer_is_idle (const struct writer *self);

const struct owner *writer_owner (const struct writer *self);
