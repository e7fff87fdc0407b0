// Which station owns the database, and which of its batches were applied. Pure: a state machine
// that says what to send on the only connection for writes, and evaluates what was read there.
//
// plan:owner is a hash: `token` of the owner, EPOCH.NONCE, and `batch`, the number of its last
// applied batch. Both are watched when a batch is sent, so it is applied only after the one before
// it, by its owner, and once. If the answer to a batch is lost, the batch number shows whether to
// resend it. What is sent:
//
//     LOOK       UNWATCH; WATCH plan:owner; HMGET plan:owner token batch
//     TAKE       MULTI; HSET plan:owner token TOKEN batch 0 ...; EXEC; LOOK
//     SEND       MULTI; rows; HSET plan:owner batch N; TIME; EXEC; LOOK
//     RELEASE    MULTI; HSET plan:owner token EPOCH.free; EXEC; LOOK
//
// While its memory is full, Redis rejects MULTI. Then the same rows are sent by a script that is
// allowed to write, and that checks itself that token and batch have not changed, in place of
// WATCH.
//
// Each station measures the lease by its own clock: an owner writes at least once per quarter of
// the lease, and a standby takes over when it has seen no change for a whole lease.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

enum {
    OWNER_TOKEN_SIZE = 40, // 20 digits, a point, 16 hex digits and NUL
    OWNER_LEASE_US = 2000000,
    OWNER_MARGIN_US = 250000, // the owner stops so long before the lease ends
    OWNER_POLL_US = 50000,
    OWNER_RETRY_US = 100000
};

struct owner;

struct owner_config {
    uint64_t seed; // seed of nonces: must differ between processes
    bool alone;    // the database is private: there is no standby, and no lease
    bool yields;   // it handed over: for the time of a lease, others may take a free database first
    const char *stored; // token of the last takeover, from the state folder that this process has
                        // locked; or NULL
};

struct owner *owner_new (const struct owner_config *config);
void owner_destroy (struct owner **self);

// Why Redis did not apply what was sent.
enum owner_refusal {
    OWNER_TAKEN_UP,  // no refusal: Redis applied it, or the outcome is unknown
    OWNER_NO_MEMORY, // OOM
    OWNER_READ_ONLY, // READONLY, MASTERDOWN: another Redis is the master
    OWNER_NOT_NOW,   // LOADING, BUSY, MISCONF, NOREPLICAS and others
};

enum owner_event_type {
    OWNER_OPENED,   // the connection is up
    OWNER_CLOSED,   // the connection was lost, or closed here
    OWNER_FOUND,    // the HMGET after a WATCH was answered: token and batch
    OWNER_UNFOUND,  // that HMGET was rejected
    OWNER_BATCH,    // there is something to write; only while owner_may_send
    OWNER_HANDOVER, // let another station take over
    OWNER_ANEW, // what was read is incomplete: take over from itself, so that everything is read
                // again
    OWNER_TICK  // owner_next_us has come
};

struct owner_event {
    enum owner_event_type type;
    struct span token;          // of OWNER_FOUND; empty = there is no owner
    int64_t batch;              // of FOUND
    enum owner_refusal refusal; // the refusal of what was sent before the look, or of the look
};

// What to do now.
enum owner_do {
    OWNER_WAIT, // until an event, or owner_next_us
    OWNER_OPEN, // close what is open, connect to the master
    OWNER_LOOK,
    OWNER_TAKE, // with owner_token
    OWNER_SEND, // the batch owner_batch, its rows as before if it was sent before
    OWNER_RELEASE
};

// What has happened.
enum owner_news {
    OWNER_NOTHING,
    OWNER_SERVES,    // this station became the owner and must read everything; owner_loss says what
                     // was lost
    OWNER_ACKED,     // the batch owner_acked was applied
    OWNER_REFUSED,   // the batch in flight was not applied, and may be rebuilt under its number
    OWNER_STANDBY,   // it is not the owner any more: drop all data, close the sockets
    OWNER_HOLDS,     // from the writer: reconnected, and still the owner
    OWNER_IMPOSSIBLE // more batches were applied than sent: a copy of this process is running, or a
                     // bug
};

struct owner_step {
    enum owner_do what;
    enum owner_news news;
};

// Process an event; `boot_us` is CLOCK_BOOTTIME.
struct owner_step owner_event (struct owner *self, const struct owner_event *event,
                               int64_t boot_us);

// When a tick is wanted; INT64_MAX = never.
int64_t owner_next_us (const struct owner *self);

// Whether a batch may be sent: it is the owner, knows what was applied, and none is in flight.
bool owner_may_send (const struct owner *self);

// Whether the lease is valid, as needed to send dispatches and to answer commands that read.
bool owner_is_leased (const struct owner *self, int64_t boot_us);

// Whether it owns the database as far as it knows; and its token, or the token it is about to take.
bool owner_holds (const struct owner *self);
const char *owner_token (const struct owner *self);

// Whether batches must be sent by the script; and the token and batch the script must find, "" = no
// owner.
bool owner_uses_script (const struct owner *self);
const char *owner_found (const struct owner *self, int64_t *ret_batch);

// Whether this token marks the database as released.
bool owner_is_free (struct span token);

// The number of the batch in flight, 0 = none; and of the last applied one.
int64_t owner_batch (const struct owner *self);
int64_t owner_acked (const struct owner *self);

// What Redis lost before the last takeover, as far as this station saw it.
enum owner_loss {
    OWNER_LOST_NOTHING,
    OWNER_LOST_TAIL, // its data are of an earlier time
    OWNER_LOST_ALL   // it was emptied, or replaced
};
enum owner_loss owner_loss (const struct owner *self);
