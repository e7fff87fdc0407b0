// The link to Redis: one connection, in the reactor, that reconnects automatically. Calls are
// commands or Lua scripts, each answered once.
//
// hiredis 0.14 has no timeouts and reports a lost connection only by NULL replies, which mean
// "outcome unknown". So the link keeps every call until it is answered. Calls that may be repeated
// (the second time they change nothing) are resent in order when Redis is back; the others are
// answered with NULL.
#pragma once

#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "address.h"
#include "reactor.h"
#include "redis_info.h"
#include "scripts.h"
#include "span.h"

struct commands;
struct link;

enum link_state {
    LINK_DOWN,    // not connected; will try again
    LINK_OPENING, // connecting, or preparing the connection
    LINK_UP,
    LINK_REFUSED // Redis is up, but must not hold plans (it could lose them, is too old or has
                 // another schema), or it rejects the password; will try again
};

// The state as text: "down", "opening", "up" or "refused".
const char *link_state_name (enum link_state state);

// Whether Redis rejected a command because its key has another type. `reply` may be NULL.
static inline bool link_is_wrong_type (const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ERROR && strncmp (reply->str, "WRONGTYPE", 9) == 0;
}

// Redis' clock in an answer to TIME, Unix time in microseconds; 0: it is no valid time.
static inline int64_t link_time_us (const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !reply->element[0]->str || !reply->element[1]->str)
        return 0;
    int64_t seconds = strtoll (reply->element[0]->str, NULL, 10);
    int64_t us = strtoll (reply->element[1]->str, NULL, 10);
    bool valid = seconds > 0 && seconds < INT64_MAX / 1000000 && us >= 0 && us < 1000000;
    return valid ? seconds * 1000000 + us : 0;
}

enum link_repeat { LINK_ONCE, LINK_REPEAT };

struct link_config {
    struct address address;
    int64_t db;
    char user[65];      // name of the ACL user; empty = the default user
    char password[256]; // empty = none; never printed
    bool accept_loss;   // accept a Redis without an append-only file, or one that may evict
    bool durable;       // accept only a Redis that syncs before it answers
    int64_t replicas;   // number of replicas that must have what is acknowledged; 0 = none
    int64_t replica_timeout_ms;
    int64_t window; // number of plans in progress from which on the store is busy
    int schemas[2]; // accepted values of `schema` in plan:meta; with any other, Redis is refused
};

// The answer to a call. `reply` is NULL when the connection was lost or is not up, and has the type
// REDIS_REPLY_ERROR when Redis returned an error; it is valid only during the callback.
typedef void link_reply_fn (void *owner, const redisReply *reply);

// What the link calls. All are required.
struct link_io {
    void *owner;
    void (*changed) (void *owner, enum link_state state); // once per change of state
    void (*gather) (void *owner);  // first in every link_flush: make the calls of this turn
    void (*flushed) (void *owner); // then, after these were passed to the kernel
    // Redis' clock was read (Unix time): at each connecting, and every few seconds. `asked_us` is
    // when it was asked, CLOCK_MONOTONIC.
    void (*time) (void *owner, int64_t asked_us, int64_t redis_us);
};

struct link *link_new (const struct link_config *config, struct reactor *reactor,
                       const struct link_io *io);

// Calls without an answer are answered with NULL, so that their owners can free their data.
void link_destroy (struct link **self);

enum link_state link_state (const struct link *self);

// Why the link is not up, for people; empty when it is.
const char *link_trouble (const struct link *self);

// When Redis syncs: "always", "everysec", "no", "none" (no append-only file), "unknown", or ""
// before the first connection.
const char *link_fsync (const struct link *self);

// Facts about Redis from the last check, made every few seconds while the link is up.
struct link_facts {
    struct redis_facts redis;
    bool clock_known;
    int64_t clock_ahead_ms; // how far the clock of Redis is ahead of this machine's
};

// The facts, which stay valid as long as the link.
const struct link_facts *link_facts (const struct link *self);

struct link_call {
    enum script script;
    const char *command; // a Redis command to send; NULL: run the script
    enum link_repeat repeat;
    size_t keys;             // how many of a script's arguments are keys; keys come first
    const struct span *args; // keys, then arguments; copied
    size_t count;
    link_reply_fn *reply;
    void *owner;
};

// Send a call. While the link is not up a LINK_REPEAT call waits, a LINK_ONCE call is answered
// with NULL before link_call returns.
void link_call (struct link *self, const struct link_call *call);

// Send commands, each of which is answered once, in order; nothing when the link is not up.
void link_send (struct link *self, const struct commands *commands, link_reply_fn *reply,
                void *owner);

// Close the connection, and reconnect.
void link_renew (struct link *self, const char *why);

// `enough`: the configured number of replicas have everything written so far. False also when this
// is unknown, as they were too slow or the link was lost.
typedef void link_replicated_fn (void *owner, bool enough);

// Wait for the replicas. If none are configured, `reply` is called before link_replicate returns.
void link_replicate (struct link *self, link_replicated_fn *reply, void *owner);

// When an answer, or a part of one, last arrived from Redis; monotonic.
int64_t link_received_us (const struct link *self);

// The number of calls without an answer yet.
size_t link_pending (const struct link *self);

// Whether too many bytes are in flight, so that callers should make no new calls.
bool link_busy (const struct link *self);

// Whether, after link_busy, so few bytes are in flight that callers may make new calls.
bool link_idle (const struct link *self);

// Pass all calls to the kernel now; call this at the end of each turn of the reactor. Does nothing
// if `self` is NULL.
void link_flush (struct link *self);
