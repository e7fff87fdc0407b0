// Plans that workers fetch: offers, the team of workers of each run, and its outcome. Each function
// makes a call of the core (core_pull.h) and answers once when its changes are written. Texts are
// copied; `found` is filled in here. Specification: proto 7.9.
#pragma once

#include "core_pull.h"
#include "store.h"

struct store_pulled {
    enum store_result result;
    const char *error;
    union { // by the call
        struct core_offered offered;
        struct {
            struct core_pull_taken taken;
            const struct core_job *jobs; // the jobs given to the worker
        };
        struct core_alive alive;
        struct core_reported reported;
        struct core_team team;
    };
};

typedef void store_pulled_fn (void *owner, const struct store_pulled *answer);

// Offer a claimed run to the workers of its target (`offered`). A repeated call does nothing.
// STORE_HELD: the run is not the current one.
void store_offer (struct store *self, const struct core_offer *offer, store_pulled_fn *reply,
                  void *owner);

// Give the worker the jobs it may have (`taken`, `jobs`). `limit` is that of the target in the
// settings.
void store_take_jobs (struct store *self, const struct core_pull_take *take,
                      const struct limit *limit, store_pulled_fn *reply, void *owner);

// Process a heartbeat of a worker, or its release of the plan (`alive`).
void store_report_worker (struct store *self, const struct core_worker *worker,
                          const struct core_heartbeat *heartbeat, store_pulled_fn *reply,
                          void *owner);

// Process a worker's report that it has finished (`reported`). A duplicate report is accepted but
// not counted, even when the run or the plan has ended.
void store_report (struct store *self, const struct core_worker *worker,
                   const struct core_report *report, store_pulled_fn *reply, void *owner);

// Read the team of workers of a plan's run (`team`); `station` is the target it must have, "" =
// any.
void store_team (struct store *self, uint64_t plan_id, const char *station, store_pulled_fn *reply,
                 void *owner);
