// Plans that workers fetch, in Redis: what is offered, the team of workers of each run, and what
// came of it. Every call is one script, and answered once. Source: issue of workers; proto 7.9.
#pragma once

#include "store.h"

// What became of a run whose workers have all ended.
struct team_outcome {
    bool complete; // else nothing of the rest is known
    int64_t ended, failed;
    struct span worker; // the last that failed, else the last of all
    struct span reason; // its words
    struct span result; // as JSON
};

// -- offer

struct store_offer {
    struct span key_station;
    uint64_t plan_id;
    uint64_t exec_id;
    bool stands; // it is offered already: the lease has ended, the run goes on
    int64_t lease_s;
};

struct store_offered {
    enum store_result result; // STORE_HELD: the run is not the current one
    int64_t free;             // so many workers may take it
    bool over;                // the plan's timeout has passed since it was offered first
    struct team_outcome outcome;
    const char *error;
};

typedef void store_offered_fn (void *owner, const struct store_offered *answer);

// Offer a claimed run to the workers of its station. Repeated by the link: the second time it does
// nothing.
void store_offer (struct store *self, const struct store_offer *offer, store_offered_fn *reply,
                  void *owner);

// -- take

struct store_take {
    const char *station;
    const char *worker;
    int64_t limit;
    int64_t from; // where to look on, 0 = from the start
    int64_t lease_s;
    bool alone;                 // no other worker asks this station for plans of the target
    const char *station_limit;  // by the settings, as limit_write has it; "" = none
    const struct span *members; // as in store_filter
    size_t member_count;
};

struct store_taken {
    enum store_result result;
    int64_t next;    // where to look on, 0 = that was all
    bool limited;    // limits of the station or of groups keep some from being taken
    int64_t wait_ms; // then: until a rate allows the next; 0 = until a run ends
    size_t count;
    const redisReply *reply;
    const char *error;
};

// A plan that the worker has now.
struct store_job {
    struct span station;
    uint64_t plan_id, exec_id;
    int64_t ping_s, timeout_s;
    struct span message;
};

typedef void store_taken_fn (void *owner, const struct store_taken *answer);

// Give the worker what it may have, the first offered first. At most 256 offers are looked at.
void store_take (struct store *self, const struct store_take *take, store_taken_fn *reply,
                 void *owner);

// One of them. False: it is broken, and passed over.
bool store_job_at (const struct store_taken *answer, size_t index, struct store_job *ret);

typedef void store_offers_fn (void *owner, enum store_result result, int64_t count);

// How many plans are offered for this station.
void store_offers (struct store *self, const char *station, store_offers_fn *reply, void *owner);

// -- a worker's words

struct store_worker {
    uint64_t plan_id;
    const char *station; // the plan must be of, "" = any
    const char *worker;
    uint64_t exec_id; // that it was given, 0 = it does not say
    int64_t lease_s;
};

struct store_alive {
    enum store_result result;
    struct span stop;          // why the work is to end, empty = it goes on
    int64_t ping_s, timeout_s; // as they are now
    const char *error;
};

typedef void store_alive_fn (void *owner, const struct store_alive *answer);

// What a worker that is at work says.
struct store_sign {
    struct span progress; // empty = nothing new
    bool release;         // it gives the plan back, and has not begun
};

// The worker works on it still, or gives it back.
void store_alive (struct store *self, const struct store_worker *worker,
                  const struct store_sign *sign, store_alive_fn *reply, void *owner);

struct store_report {
    bool success;
    bool repeat;                // accept it only as the repeat of one that was accepted
    struct span reason, result; // the result as JSON; both may be empty
};

struct store_reported {
    enum store_result result;
    struct span refused; // why, empty = it counts
    struct team_outcome outcome;
    struct span station, message; // of the plan, when the outcome is complete
    uint64_t exec_id;             // of the run in hand
    bool again;
    const char *error;
};

typedef void store_reported_fn (void *owner, const struct store_reported *answer);

// The worker has ended its work. The same report again counts once and is accepted again, also when
// the run or the plan is over.
void store_report (struct store *self, const struct store_worker *worker,
                   const struct store_report *report, store_reported_fn *reply, void *owner);

// -- the team

struct store_team {
    enum store_result result;
    struct span station;
    bool current; // its run is out
    size_t count;
    const redisReply *reply;
    const char *error;
};

struct team_member {
    struct span name, state; // running, timeout, success, fail, out
    int64_t started_ms, heard_ms, ended_ms;
    struct span exec_id, reason, result, progress;
};

typedef void store_team_fn (void *owner, const struct store_team *answer);

void store_team (struct store *self, uint64_t plan_id, const char *station, store_team_fn *reply,
                 void *owner);

// False: it is broken, and passed over.
bool store_member_at (const struct store_team *answer, size_t index, struct team_member *ret);
