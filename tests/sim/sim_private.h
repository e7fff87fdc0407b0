// What the parts of the simulation know of each other.
#pragma once

#include <inttypes.h>

#include "../unit/rows.h"

#include "sim.h"

#define SIM_CHECK(self, sim_plan, condition)                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg ("%s: at %" PRId64 " us, plan %" PRIx64 ": not so: %s", (self)->name,         \
                      (self)->now_us - SIM_START_TIME * SIM_S, (sim_plan)->id, #condition);        \
    } while (0)

// -- the store: each call is what the script of this name does

enum { SIM_BATCH = 256 };

void store_submit (struct sim *self, struct sim_plan *sim_plan, struct plan *plan);

// The plans that are due, at most SIM_BATCH.
size_t store_claim (struct sim *self, struct sim_plan *claimed[SIM_BATCH]);

// CHANGED: the plan is not the one that was decided on; it is to be decided anew.
enum committed { COMMITTED, NOT_CURRENT, CHANGED };

enum committed store_commit (struct sim *self, struct sim_plan *sim_plan, struct plan *plan,
                             uint64_t exec_id, const struct decision *decision);

void store_change (struct sim *self, struct sim_plan *sim_plan, struct plan *plan,
                   enum requeue requeue);

void store_wake (struct sim *self);

// -- the checks

// A stored plan, after every step.
void check_plan (struct sim *self, struct sim_plan *sim_plan);

// A dispatch, before it is sent.
void check_fire (struct sim *self, struct sim_fire *fire);

// What was committed of a run.
void check_committed (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan,
                      uint64_t exec_id, const struct decision *decision);

// What management did, before check_plan looks at the plan that it made.
void check_managed (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan,
                    const struct manage_request *request);
