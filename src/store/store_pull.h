// Plans that workers fetch: offers, the team of workers of each run, and its outcome. Each function
// makes a call of the core and answers once when it is written. Specification: proto 7.9.
#pragma once

#include "core_pull.h"
#include "store.h"

// -- offer

struct store_offer {
    struct span key_station;
    uint64_t plan_id;
    uint64_t exec_id;
    bool already_offered; // the run was offered before: its lease has expired, and it continues
    int64_t lease_s;
};

struct store_offered {
    enum store_result result; // STORE_HELD: the run is not the current one
    struct core_offered offered;
    const char *error;
};

typedef void store_offered_fn (void *owner, const struct store_offered *answer);

// Offer a claimed run to the workers of its target. The call may be repeated: the second time it
// does nothing.
void store_offer (struct store *self, const struct store_offer *offer, store_offered_fn *reply,
                  void *owner);

// -- take

struct store_take {
    const char *station;
    const char *worker;
    int64_t limit; // number of jobs at most
    int64_t from;  // where to continue the search, 0 = at the start
    int64_t lease_s;
    bool alone;                 // no other worker asks for plans of this target
    struct limit station_limit; // the target's limit in the settings
    const struct span *members; // the plan must have these members, as in store_filter
    size_t member_count;
};

struct store_taken {
    enum store_result result;
    struct core_pull_taken taken;
    const struct core_job *jobs; // the jobs given to the worker
    const char *error;
};

typedef void store_taken_fn (void *owner, const struct store_taken *answer);

// Give the worker the jobs it may have, in the order of the offers. At most 256 offers are
// examined.
void store_take_jobs (struct store *self, const struct store_take *take, store_taken_fn *reply,
                      void *owner);

// How many plans are offered for this target.
int64_t store_offers (const struct store *self, const char *station);

// -- messages of a worker

struct store_worker {
    uint64_t plan_id;
    const char *station; // target that the plan must have, "" = any
    const char *worker;
    uint64_t exec_id; // the run that it was given, 0 = not specified
    int64_t lease_s;
};

struct store_alive {
    enum store_result result;
    struct core_alive alive;
    const char *error;
};

typedef void store_report_worker_fn (void *owner, const struct store_alive *answer);

// A heartbeat or a release.
struct store_heartbeat {
    struct span progress; // empty = nothing new
    bool release;         // the worker returns the plan without having begun
};

// Process a heartbeat of a worker, or its release of the plan.
void store_report_worker (struct store *self, const struct store_worker *worker,
                          const struct store_heartbeat *heartbeat, store_report_worker_fn *reply,
                          void *owner);

struct store_reported {
    enum store_result result;
    struct core_reported reported;
    const char *error;
};

typedef void store_reported_fn (void *owner, const struct store_reported *answer);

// Process a worker's report that it has finished. A duplicate report is accepted but not counted,
// even when the run or the plan has ended.
void store_report (struct store *self, const struct store_worker *worker,
                   const struct core_report *report, store_reported_fn *reply, void *owner);

// -- the team

struct store_team {
    enum store_result result;
    struct core_team team;
    const char *error;
};

typedef void store_team_fn (void *owner, const struct store_team *answer);

// Read the team of workers of a plan's run; `station` is the target it must have, "" = any.
void store_team (struct store *self, uint64_t plan_id, const char *station, store_team_fn *reply,
                 void *owner);
