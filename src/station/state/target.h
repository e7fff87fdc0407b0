// A target: its DEALER socket, and whether it is connected. A target of type pull has no socket and
// always counts as connected: workers fetch its plans (pull.h).
//
// Nothing may be queued for a target that is away: a restarted target must never receive old runs.
// ZMQ_IMMEDIATE would ensure that, but with it a peer that truncates a message can abort this
// process. So a socket monitor reports whether the one connection is up, and messages are sent only
// then. libzmq never reconnects on its own: after a lost connection the socket is closed with its
// queue, and a new one is made.
#pragma once

#include "engine.h"
#include "packet.h"
#include "response.h"
#include "run_counts.h"
#include "watch.h"
#include "target_settings.h"

struct target;

struct target_events {
    // A message came on the connection of this number; it is borrowed for the call.
    void (*message) (void *owner, struct target *target, const struct packet *packet);
    // A turn of messages is over: `message` was called for all, or for as many as a turn allows.
    void (*turn_ended) (void *owner, struct target *target);
    void (*connected) (void *owner, struct target *target);
    // An unresponsive target has answered; called before `message`.
    void (*responsive) (void *owner, struct target *target);
    // The target seems to have another connection with this identity: a new one is needed.
    void (*needs_identity) (void *owner, struct target *target);
    void *owner;
    const struct packet_limits *limits; // sizes of its messages; outlives the target
};

enum { TARGET_IDENTITY_SIZE = 64 }; // with its NUL

// The target starts to connect at once and keeps trying; a target by identity starts when it has
// its identity. The settings are copied. `context` (for its sockets) and `own` (the station's keys,
// for a target with a key) are borrowed for the life of the target.
struct target *target_new (const struct target_settings *settings, void *context,
                           const struct curve_keys *own, struct reactor *reactor,
                           const struct target_events *events);
void target_destroy (struct target **self);

// Release the DEALER with its unread messages to the caller; NULL: the target is not connected, or
// it is by identity. Destroy the target next.
void *target_release (struct target *self);

const struct target_settings *target_settings (const struct target *self);
const char *target_name (const struct target *self);
enum target_type target_type (const struct target *self);

// Set the identity of its connections, and reconnect. The target routes its answers by it, also
// those to jobs from an earlier connection. `used`: the identity was used before.
void target_identify (struct target *self, struct span identity, bool used);

// The identity of its connections; "" = none yet.
const char *target_identity (const struct target *self);

// Handle a target that answers nothing: reconnect if its ROUTER may ignore the connection as a
// duplicate of an older one; if that has not helped, use a new identity.
void target_try_connection (struct target *self);

// Reconnect a target that answers nothing if nothing more can be sent to it either.
void target_check_stuck (struct target *self);

// The record of how the target answers.
struct response *target_response (const struct target *self);

// Since when the target is connected but unresponsive, Unix seconds; 0 = it is not.
int64_t target_unresponsive_since (const struct target *self);

// How runs are sent to the target. `self` NULL (a flow or no target): the default way. Borrowed
// from the target.
const struct dispatch_way *target_dispatch_way (const struct target *self);

// The number of the present connection, from 1; 0 while there is none.
uint64_t target_connection (const struct target *self);

// Stop reading its messages: back-pressure while the store is busy.
void target_pause (struct target *self);
// Read its messages again.
void target_resume (struct target *self);
bool target_paused (const struct target *self);

// The number of runs sent to it that have no heartbeat yet. Counted per target so that one that
// does not read takes no slots of others.
int target_unanswered (const struct target *self);
// Add `change` to that number.
void target_count_unanswered (struct target *self, int change);

// When it was last connected, lost or created, Unix seconds.
int64_t target_state_since (const struct target *self);

// Counters of the target since it was created.
struct target_tally {
    uint64_t sent, ended_well, failed; // numbers of runs
    uint64_t fresh;                    // sent runs that were no retries and had a due time
    uint64_t late_ms;                  // sum of the lateness of the fresh runs
    struct run_counts runs;            // how its runs ended
    int64_t no_worker_s; // since when it answers only NOT_WORKER, Unix seconds; 0 = it does not
    int64_t asked_s;     // TARGET_PULL: when a worker last asked for its plans; 0 = never
    int64_t reported_s;  // when a worker with one of its plans last reported; 0 = never
};

struct target_tally *target_tally (struct target *self);

// The state that due.c keeps per target; times are monotonic.
struct target_load {
    int64_t pause_us;   // while it is away: do not try before this time
    int64_t created_us; // when it was created
    int64_t prefetched; // plans that are claimed and not due yet
};

struct target_load *target_load (const struct target *self);

// Hand a message to the connected target. False: it is not connected or does not read, and nothing
// was sent.
bool target_send (struct target *self, const struct message *message);
