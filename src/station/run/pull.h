// Plans that workers fetch: a claimed run is offered, workers take it by admin commands
// (manage_pull.c), and the run ends when the last of its team has. Source: proto 7.9.
//
// The station keeps nothing of an offered run: the core has it (core_pull.h), Redis its team, with
// a lease that ends when something is due - a worker sent no heartbeat, nobody took it, it timed
// out. The owner then claims and offers it again.
#pragma once

#include "station_state.h"
#include "store_pull.h"
#include "workers_rule.h"

// Offer a claimed run; takes the plan. `already_offered`: it is offered already.
void pull_offer (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                 bool already_offered);

// All workers of the run have ended: the run ends as any other. The plan is changed, and stays the
// caller's.
void pull_end (struct station *self, struct span key_station, struct plan *plan, struct run run,
               const struct team_outcome *outcome);

// -- takes, and those that wait (pull_wait.c)

enum { TAKE_MEMBERS = 4, TAKE_MEMBER_ROOM = 2 * POLICY_TEXT_MAX + 32, TAKE_BYTES_MAX = 4096 };

struct take {
    struct station *station;
    struct peer *peer;
    char name[STATION_NAME_MAX + 1]; // of the target whose plans are wanted
    char worker[WORKER_NAME_MAX + 1];
    int64_t limit;
    char members[TAKE_MEMBERS][TAKE_MEMBER_ROOM]; // that a plan must have, as it is stored
    size_t member_count;
    int64_t until_us; // it waits for an offer until then, monotonic; 0 = it does not

    int64_t from;      // where to look on
    int pages;         // looked at
    bool waits;        // it is in the queue
    bool asking;       // a call of the store is in flight
    struct take *next; // in the queue
};

// Ask for plans; answered at once, or when something is offered, or at the timeout. Takes it.
void pull_take (struct take *take);

// Answer the takes of this worker that wait for plans of this target, and this one: with no jobs.
// Takes it.
void pull_leave (struct take *take);

// Whether one more may wait.
bool pull_may_wait (const struct station *self);

// A worker that has a plan of this target reported on it.
void pull_worker_reported (struct station *self, struct span target);

// Whether it matters of which target a plan is whose worker reports: there is a target of type pull
// with no recent trace of a worker. Else the plan need not be read for it.
bool pull_misses_workers (struct station *self);

// Since when no worker is there for a target of type pull, Unix seconds; 0 = one is: it has asked
// for plans a while ago, or waits for some, or reports that it is at work on one.
int64_t pull_no_worker (struct station *self, struct target *target);

// Up to `places` workers may get a plan of this target now.
void pull_wake (struct station *self, const char *name, int64_t places);

// A run has ended: takes that waited for a limit are asked again.
void pull_freed (struct station *self);

// What becomes of those that wait as time passes: call it every 100 ms.
void pull_tick (struct station *self);

// Answer all that wait: nothing comes any more.
void pull_stop (struct station *self);

// The same at the end, when the store is gone.
void pull_destroy (struct station *self);
