// Data in Redis other than plans, shared by all stations on it: targets, kinds, limits, the
// stations present and the owner; and statistics. As in store.h, each call is answered once, never
// before it returns.
#pragma once

#include "store.h"

// -- named texts: targets that were added, kinds of plans, limits

struct store_named {
    enum store_result result;
    // How many names the answer has. 0 after a change that failed: too many names, or no such name.
    size_t count;
    struct span name, text;  // of the entry changed or requested; name empty = all of `reply`
    const redisReply *reply; // read it with store_named_at
    const char *error;
};

typedef void store_named_fn (void *owner, const struct store_named *answer);

// The name at this index of the answer, with its text. False: there are no more.
bool store_named_at (const struct store_named *answer, size_t index, struct span *ret_name,
                     struct span *ret_text);

// Add a target (with its `text`), remove it (`text` NULL), or only read (`name` NULL). The answer
// lists all added targets.
void store_stations (struct store *self, const char *name, const char *text,
                     enum link_repeat repeat, store_named_fn *reply, void *owner);

enum kind_command { KIND_LIST, KIND_GET, KIND_PUT, KIND_REMOVE };

// Read, add or remove kinds of plans; `json` is for KIND_PUT.
void store_kinds (struct store *self, enum kind_command command, struct span name, const char *json,
                  store_named_fn *reply, void *owner);

enum limit_command { LIMIT_LIST, LIMIT_SET, LIMIT_REMOVE };

// Read all limits (their texts with limit_read), or set or remove the limit of "s:STATION" or
// "g:GROUP". A change applies at once, for all stations on this Redis.
void store_limits (struct store *self, enum limit_command command, const char *name,
                   const struct limit *limit, store_named_fn *reply, void *owner);

// -- stations present

struct store_presence {
    enum store_result result;
    bool replaced;     // Redis was emptied, or holds other data than before
    bool lost;         // the last writes are lost; broadcasts continue in a new epoch
    int64_t attending; // number of stations on this Redis
    int64_t stations;  // revision of the added targets: differs after every change
    struct span wrong; // name of a key of a wrong type that was replaced; empty: none
    const char *error;
};

typedef void store_presence_fn (void *owner, const struct store_presence *answer);

// Remove this station from the list of stations present.
void store_leave_presence (struct store *self);

// Enter this station, with the time, in the list of stations present. The answer also says whether
// data were lost or replaced since the last call.
void store_enter_presence (struct store *self, store_presence_fn *reply, void *owner);

struct store_owner {
    enum store_result result;
    bool owned;          // a station owns the plans
    struct span name;    // the owner's name, HOST:PID
    struct span request; // the endpoint of its request socket
    struct span key;     // its public key; empty = without CURVE
};

typedef void store_owner_fn (void *owner, const struct store_owner *answer);

// Read from Redis who owns the plans; also possible on a standby.
void store_owner (struct store *self, store_owner_fn *reply, void *owner);

struct store_identity {
    enum store_result result;
    struct span identity;
    bool used; // the identity was used before, by this station or one that has ended
    const char *error;
};

typedef void store_identity_fn (void *owner, const struct store_identity *answer);

struct store_identity_wish {
    const char *home;     // identifies where the station runs: unchanged by a restart
    const char *target;   // the name of the target
    const char *fresh;    // new identity, used if none can be reused
    const char *replaces; // an identity that must not be used any more; "" = none
};

// Get the identity with which to connect to a target. The call waits while Redis is away.
void store_identity (struct store *self, const struct store_identity_wish *wish,
                     store_identity_fn *reply, void *owner);

struct store_stats {
    enum store_result result;
    int64_t plans, queued, due, running, stopped, outcomes; // numbers of plans, and of outcomes
    int64_t dead;                                           // plans that failed permanently
    int64_t seq;                                            // number of the last broadcast
    int64_t memory;                                         // used by Redis, bytes
    struct span epoch;                                      // epoch of the numbers of broadcasts
    double next; // queue score of the next plan, Unix seconds, 0 = none
    const char *error;
};

typedef void store_stats_fn (void *owner, const struct store_stats *answer);

// Count what is stored, in Redis.
void store_stats (struct store *self, store_stats_fn *reply, void *owner);
