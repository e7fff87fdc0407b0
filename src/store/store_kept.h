// What the stations on one Redis keep beside the plans: targets, kinds, limits, who attends, who
// owns; and the numbers of all of it. As in store.h, each call is answered once, and never inside
// itself.
#pragma once

#include "store.h"

// -- stations and numbers

struct store_stations {
    enum store_result result;
    const redisReply *reply; // name, text, ...
    const char *error;
};

typedef void store_stations_fn (void *owner, const struct store_stations *answer);

// Put a station in (`text`), take it out (`text` NULL), or only read them (`name` NULL); all of
// them are answered.
void store_stations (struct store *self, const char *name, const char *text,
                     enum link_repeat repeat, store_stations_fn *reply, void *owner);
bool store_station_at (const struct store_stations *answer, size_t index, struct span *ret_name,
                       struct span *ret_text);

// -- kinds

enum kind_command { KIND_LIST, KIND_GET, KIND_PUT, KIND_REMOVE };

struct store_kinds {
    enum store_result result;
    size_t count; // kinds in the answer; 0 = the one that was asked for is not there, or may not be
    struct span name, json;  // of one that was asked for
    const redisReply *reply; // of the list
    const char *error;
};

typedef void store_kinds_fn (void *owner, const struct store_kinds *answer);

// Read, put in or take out kinds of plans; `json` is for KIND_PUT.
void store_kinds (struct store *self, enum kind_command command, struct span name, const char *json,
                  store_kinds_fn *reply, void *owner);
bool store_kind_at (const struct store_kinds *answer, size_t index, struct span *ret_name,
                    struct span *ret_json);

// -- limits

enum limit_command { LIMIT_LIST, LIMIT_SET, LIMIT_REMOVE };

struct store_limits {
    enum store_result result;
    bool done;    // LIMIT_SET: false = the quota is exceeded; LIMIT_REMOVE: false = none of the
                  // name
    size_t count; // LIMIT_LIST
    const redisReply *reply;
    const char *error;
};

typedef void store_limits_fn (void *owner, const struct store_limits *answer);

// Read all of them, or set or remove that of "s:STATION" or "g:GROUP". They hold at once, for all
// stations on this Redis.
void store_limits (struct store *self, enum limit_command command, const char *name,
                   const struct limit *limit, store_limits_fn *reply, void *owner);
bool store_limit_at (const struct store_limits *answer, size_t index, struct span *ret_name,
                     struct limit *ret);

struct store_attended {
    enum store_result result;
    bool replaced;     // these are other data than those that were there
    bool lost;         // their last writes are gone; the broadcasts go on in a new epoch
    int64_t attending; // stations on this Redis
    int64_t stations;  // revision of the added targets: another one after every change
    struct span wrong; // a key that was of another type and was replaced; empty: none
    const char *error;
};

typedef void store_attended_fn (void *owner, const struct store_attended *answer);

// This station leaves.
void store_leave (struct store *self);

// Report that this station is here, and learn what has become of the data.
void store_attend (struct store *self, store_attended_fn *reply, void *owner);

struct store_owner {
    enum store_result result;
    bool owned;          // a station owns the plans
    struct span name;    // of that, HOST:PID
    struct span request; // where its request socket is bound
    struct span key;     // its public key; empty = without CURVE
};

// Who owns the plans, as Redis has it; also for a standby.
typedef void store_owner_fn (void *owner, const struct store_owner *answer);
void store_owner (struct store *self, store_owner_fn *reply, void *owner);

struct store_identity {
    enum store_result result;
    struct span identity;
    bool used; // before, by this station or one that is gone
    const char *error;
};

typedef void store_identity_fn (void *owner, const struct store_identity *answer);

struct store_identity_wish {
    const char *home;     // where the station runs, the same after its restart
    const char *target;   // the name of the target
    const char *fresh;    // the identity if there is none yet
    const char *replaces; // one that is not to be used any more; "" = none
};

// The identity by which to connect to a target. Repeated by the link.
void store_identity (struct store *self, const struct store_identity_wish *wish,
                     store_identity_fn *reply, void *owner);

struct store_stats {
    enum store_result result;
    int64_t plans, queued, due, running, stopped, dead, outcomes, seq, memory;
    struct span epoch;
    double next; // score of the next plan, 0 = none
    const char *error;
};

typedef void store_stats_fn (void *owner, const struct store_stats *answer);
void store_stats (struct store *self, store_stats_fn *reply, void *owner);
