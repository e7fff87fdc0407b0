// A target station: its DEALER, and whether it is connected. One of type pull has none, and always
// counts as connected: workers fetch its plans (pull.h).
//
// Nothing may be queued for a target that is away: a restarted target must never receive old runs.
// ZMQ_IMMEDIATE would do that, but lets a peer that cuts a message abort this process. So a socket
// monitor reports whether the one connection is up, messages are sent only then, libzmq never
// reconnects by itself, and a lost connection means a new socket, the old one closed with its
// queue.
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
    // `message` was called for all that had come, or a good part of it.
    void (*turned) (void *owner, struct target *target);
    void (*connected) (void *owner, struct target *target);
    // It has answered, and was unresponsive; called before the message.
    void (*responsive) (void *owner, struct target *target);
    // Its identity seems to be that of another connection there: it needs a new one.
    void (*needs_identity) (void *owner, struct target *target);
    void *owner;
    const struct packet_limits *limits; // of its messages; outlives the target
};

enum { TARGET_IDENTITY_SIZE = 64 }; // with its NUL

// The target starts to connect at once, one by identity when it has that, and goes on trying. The
// settings are copied. `context`, of its sockets, and `own` are borrowed for the life of the
// target; `own` are the station's keys, for one with a key.
struct target *target_new (const struct target_settings *settings, void *context,
                           const struct curve_keys *own, struct reactor *reactor,
                           const struct target_events *events);
void target_destroy (struct target **self);

// Take the DEALER of its connection out, with what it has not been read; NULL: it is not connected,
// or by identity. Destroy the target next.
void *target_release (struct target *self);

const struct target_settings *target_settings (const struct target *self);
const char *target_name (const struct target *self);
enum target_type target_type (const struct target *self);

// The identity of its connections from now on, with which it routes its answers: also those of jobs
// that it was sent on an earlier connection. `used`: there was one already. It reconnects.
void target_identify (struct target *self, struct span identity, bool used);

// "" = none yet.
const char *target_identity (const struct target *self);

// It answers nothing: if its connection may be taken for a duplicate of an older one, which a
// ROUTER then ignores, reconnect; and when that was in vain, with a new identity.
void target_try_connection (struct target *self);

// It answers nothing: reconnect if nothing more can be sent to it either.
void target_check_stuck (struct target *self);

// How it answers.
struct response *target_response (const struct target *self);

// Since when it is connected and unresponsive, Unix seconds; 0 = it is not.
int64_t target_unresponsive_since (const struct target *self);

// How it is sent a run; NULL, a flow or no target: the plain way. Borrowed from the target.
const struct dispatch_way *target_way (const struct target *self);

// The number of the present connection, from 1 on; 0 while there is none.
uint64_t target_connection (const struct target *self);

// Leave its messages in the socket for now, and read on: back-pressure while the store is busy.
void target_pause (struct target *self);
void target_resume (struct target *self);
bool target_paused (const struct target *self);

// Runs sent to it that sent no heartbeat yet. Kept here so that a target that does not read takes
// no slots of others.
int target_unanswered (const struct target *self);
void target_count_unanswered (struct target *self, int change);

// When it was connected last, or lost, or made: Unix seconds.
int64_t target_since (const struct target *self);

// What was counted of it since it was made.
struct target_tally {
    uint64_t sent, ended_well, failed; // runs
    uint64_t fresh;                    // runs sent that were no repetition, of plans with a time,
    uint64_t late_ms;                  // and how late these were in all
    struct run_counts runs;
    int64_t no_worker_s; // Unix seconds: since then it answers nothing but NOT_WORKER; 0 = it does
    int64_t asked_s;     // when a worker asked for plans of it last, TARGET_PULL; 0 = never
    int64_t reported_s;  // when a worker that has a plan of it reported last; 0 = never
};

struct target_tally *target_tally (struct target *self);

// What due.c keeps of it; times are monotonic.
struct target_load {
    int64_t pause_us;   // while it is away: until when nothing is tried
    int64_t born_us;    // when it was made
    int64_t prefetched; // plans that were claimed and are not due yet
};

struct target_load *target_load (const struct target *self);

// Hand a message to the connected target. False: it is not connected or does not read, and nothing
// was sent.
bool target_send (struct target *self, const struct message *message);
