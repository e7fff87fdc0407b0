// The one writer of a database: what the core decides goes to Redis in numbered batches, fenced by
// the owner's token (owner.h), and callers that wait for a batch are released when it is applied.
// One batch is in flight while the next one is collected: a single change is sent at once, and
// batches grow with the load. Pure: commands are sent through writer_io, and answers passed to
// writer_answer.
#pragma once

#include <hiredis/hiredis.h>

#include "commands.h"
#include "core.h"
#include "owner.h"

struct writer;

struct writer_io {
    void *owner;
    // Send these commands, which are borrowed, in one write on the open connection. Pass the answer
    // to each to writer_answer, in order.
    void (*send) (void *owner, const struct commands *commands);
    // Close the connection if there is one, connect to the master, then call writer_opened. `why`
    // is the error of Redis for which it is closed.
    void (*open) (void *owner, const char *why);
    // A change in the owner's protocol (owner.h). OWNER_ACKED is reported after all waiters of the
    // batch were released.
    void (*owner_changed) (void *owner, enum owner_change change);
    // Redis' clock, Unix time, as read by the batch that was sent at `asked_us` (monotonic).
    void (*time) (void *owner, int64_t asked_us, int64_t redis_us);
    // A key that could not be written was replaced, usually because it had a wrong type.
    void (*wrong_key) (void *owner, struct span key);
    // This token is about to be taken: store it where a restart finds it.
    void (*taking) (void *owner, const char *token);
};

struct writer_config {
    struct owner_config owner;
    const char *name, *endpoints; // this station's, shown to people and other stations; borrowed
    const char *key;              // this station's public key, borrowed; NULL = without CURVE
    int64_t outcomes;             // number of outcomes that the history keeps; 0 = none
};

// `core` and the texts in `config` are borrowed.
struct writer *writer_new (struct core *core, const struct writer_config *config,
                           const struct writer_io *io);

// Releases remaining waiters with WRITTEN_UNKNOWN.
void writer_destroy (struct writer **self);

// Set how many outcomes the history keeps, from the next batch on.
void writer_set_outcomes (struct writer *self, int64_t outcomes);

// -- waiters

enum written {
    WRITTEN,         // the write was applied
    WRITTEN_UNKNOWN, // the connection was lost, or Redis took too long: it may still be applied
    WRITTEN_REFUSED, // Redis rejected it: it is not applied, and will not be
    WRITTEN_RESET,   // the data it was based on are lost, or another station owns the plans
    WRITTEN_COUNT
};

// Embedded in the data of a waiting caller, which keeps it until it is released.
struct waiter {
    struct waiter *next;
    enum waiter_kind {
        WAITER_SURE,      // waits until the outcome is known, but not for replicas
        WAITER_CLIENT,    // a client's change: waits only while Redis is connected and answers
        WAITER_SUBMISSION // a client's new plan: as WAITER_CLIENT, but Redis may reject it
    } kind;
    int64_t since_us; // start of the wait, monotonic
    // Called once, at the end of the wait. `error` is the text with which Redis rejected the write,
    // or "". The callback may free the waiter, and may make further decisions.
    void (*release) (struct waiter *self, enum written how, const char *error);
};

// Whether the write must also have reached the replicas: true for replies to clients, false for
// dispatches and broadcasts.
bool waiter_needs_replicas (const struct waiter *waiter);

// Make the waiter wait for the batch being collected or, if that is empty, for the one in flight.
// Call this after the decision has added its rows.
void writer_wait_batch (struct writer *self, struct waiter *waiter, int64_t mono_us);

// Release the waiter at the next writer_flush, so that no callback runs within the caller's call.
void writer_wait_flush (struct writer *self, struct waiter *waiter);

// -- events; clocks in microseconds: `boot_us` is CLOCK_BOOTTIME, `mono_us` CLOCK_MONOTONIC

// The connection is up: read first who owns the database.
void writer_opened (struct writer *self, int64_t boot_us);

// The connection was lost: commands without an answer will get none.
void writer_closed (struct writer *self, int64_t boot_us);

// The data were read only in part before the connection closed: the next connection takes over
// again with a new token, so no earlier batch can be applied after it.
void writer_retake (struct writer *self, int64_t boot_us);

// Process the answer to the oldest command without one.
void writer_answer (struct writer *self, const redisReply *reply, int64_t boot_us);

// Release the database once no batch is in flight, so that a standby can take over.
void writer_hand_over (struct writer *self, int64_t boot_us);

// Call at the end of a turn, and at the time of owner_next_us: sends what the owner's protocol
// requires, and the collected batch if none is in flight. `answered_us` is when Redis last sent an
// answer (monotonic): while it answers, waiters of clients are not timed out.
void writer_flush (struct writer *self, int64_t boot_us, int64_t mono_us, int64_t answered_us);

// Release the memory for batches if none is in use.
void writer_trim (struct writer *self);

// -- queries

// ROWS_ flags: which kinds of rows the batch in flight has.
unsigned writer_row_kinds (const struct writer *self);

// The error with which Redis rejects the batch in flight, "" = none.
const char *writer_refusal (const struct writer *self);

// The number of waiters, without those of writer_wait_flush.
size_t writer_waiter_count (const struct writer *self);

// Whether no row is pending or in flight, and no waiter waits for a batch.
bool writer_is_idle (const struct writer *self);

const struct owner *writer_owner (const struct writer *self);
