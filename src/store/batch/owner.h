// Which station owns the database, and which of its batches were applied. Pure: a state machine. It
// returns what to send on the connection that is used for all writes, and is given the answers.
//
// plan:owner is a hash: `token` of the owner, EPOCH.NONCE, and `batch`, the number of its last
// applied batch. Both are watched when a batch is sent, so it is applied only after the one before
// it, by its owner, and once. If the answer to a batch is lost, the batch number shows whether to
// resend it. What is sent:
//
//     CHECK      UNWATCH; WATCH plan:owner; HMGET plan:owner token batch
//     TAKE       MULTI; HSET plan:owner token TOKEN batch 0 ...; EXEC; CHECK
//     SEND       MULTI; rows; HSET plan:owner batch N; TIME; EXEC; CHECK
//     RELEASE    MULTI; HSET plan:owner token EPOCH.free; EXEC; CHECK
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
    OWNER_MARGIN_US = 250000, // the owner stops this long before its lease ends
    OWNER_POLL_US = 50000,
    OWNER_RETRY_US = 100000
};

struct owner;

struct owner_config {
    uint64_t seed; // seed of nonces: must differ between processes
    bool alone;    // the database is private: there is no standby, and no lease
    bool yields; // this station handed over: for one lease time it leaves a free database to others
    const char *stored; // token of the last takeover, from the state folder that this process has
                        // locked; or NULL
};

struct owner *owner_new (const struct owner_config *config);
void owner_destroy (struct owner **self);

// Why Redis did not apply what was sent.
enum owner_refusal {
    OWNER_NOT_REFUSED, // not refused: Redis applied it, or whether it did is unknown
    OWNER_NO_MEMORY,   // OOM
    OWNER_READ_ONLY,   // READONLY, MASTERDOWN: another Redis is the master
    OWNER_NOT_NOW,     // LOADING, BUSY, MISCONF, NOREPLICAS and others
};

enum owner_event_type {
    OWNER_OPENED,         // the connection is up
    OWNER_CLOSED,         // the connection was lost, or closed here
    OWNER_CHECKED,        // a check was answered with token and batch
    OWNER_CHECK_REJECTED, // Redis rejected the HMGET of a check
    OWNER_BATCH,          // there is something to write; only while owner_may_send_batch
    OWNER_HANDOVER,       // let another station take over
    OWNER_RETAKE, // the data were read only in part: take over with a new token and read them again
    OWNER_TICK    // the time of owner_next_us was reached
};

struct owner_event {
    enum owner_event_type type;
    struct span token;          // OWNER_CHECKED: the stored token; empty = there is no owner
    int64_t batch;              // OWNER_CHECKED: the stored batch number
    enum owner_refusal refusal; // OWNER_CHECKED: why the commands before the check were not
                                // applied; OWNER_CHECK_REJECTED: why the check was rejected
};

// What to do now.
enum owner_action {
    OWNER_WAIT,   // nothing, until an event or owner_next_us
    OWNER_OPEN,   // close the open connection, if any, and connect to the master
    OWNER_CHECK,  // read who owns the database
    OWNER_TAKE,   // take over with owner_token
    OWNER_SEND,   // send batch owner_batch; if it was sent before, with the same rows
    OWNER_RELEASE // release the database
};

// What changed with an event.
enum owner_change {
    OWNER_UNCHANGED,
    OWNER_TOOK_OVER, // this station became the owner and must read everything; owner_loss says what
                     // was lost
    OWNER_ACKED,     // the batch owner_acked was applied
    OWNER_REFUSED,   // the batch in flight was not applied, and may be rebuilt under its number
    OWNER_STANDBY,   // it is not the owner any more: drop all data, close the sockets
    OWNER_STILL_OWNS, // reconnected, and still the owner; only the writer reports this
    OWNER_IMPOSSIBLE  // more batches were applied than sent: a copy of this process is running, or
                      // there is a bug
};

struct owner_step {
    enum owner_action action;
    enum owner_change change;
};

// Process an event; `boot_us` is CLOCK_BOOTTIME.
struct owner_step owner_event (struct owner *self, const struct owner_event *event,
                               int64_t boot_us);

// When to send the next OWNER_TICK, CLOCK_BOOTTIME; INT64_MAX = never.
int64_t owner_next_us (const struct owner *self);

// Whether a batch may be sent: this station is the owner and is not handing over, knows which batch
// was applied last, and has none in flight.
bool owner_may_send_batch (const struct owner *self);

// Whether this station is the owner with a valid lease: only then may it send dispatches and answer
// commands that read.
bool owner_is_leased (const struct owner *self, int64_t boot_us);

// Whether this station owns the database as far as it knows, even without a valid lease.
bool owner_is_owner (const struct owner *self);

// The owner's token or, before a takeover is confirmed, the token that it sets. "" = neither.
const char *owner_token (const struct owner *self);

// Whether batches must be sent by the script, as Redis' memory is full.
bool owner_uses_script (const struct owner *self);

// The token and batch number that the last check found, and that the script compares; "" = no
// owner.
const char *owner_found_token (const struct owner *self, int64_t *ret_batch);

// Whether this token marks the database as released.
bool owner_is_free (struct span token);

// The number of the batch in flight, 0 = none.
int64_t owner_batch (const struct owner *self);

// The number of the last applied batch; 0 right after a takeover.
int64_t owner_acked (const struct owner *self);

// What Redis lost before the last takeover, as far as this station saw it.
enum owner_loss {
    OWNER_LOST_NOTHING,
    OWNER_LOST_TAIL, // the last writes: its data are of an earlier time
    OWNER_LOST_ALL   // all data: it was emptied, or replaced
};
enum owner_loss owner_loss (const struct owner *self);
