// Plans that workers fetch. A claimed run is offered, workers take it by admin commands
// (manage_pull.c), and the run ends when the last worker of its team has finished. Source: proto
// 7.9.
//
// The station keeps no state of an offered run: the core has the run (core_pull.h), and Redis has
// its team. The lease ends when something has to be done: a worker sent no heartbeat, nobody took
// the run, or it timed out. The owner then claims and offers it again.
#pragma once

#include "station_state.h"
#include "store_pull.h"
#include "workers_rule.h"

// Offer a claimed run; takes ownership of the plan. `already_offered`: the run has been offered
// before.
void pull_offer (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                 bool already_offered);

// All workers of the run have finished: end it like any other run. The plan is changed; the caller
// keeps its ownership.
void pull_end (struct station *self, struct span key_station, struct plan *plan, struct run run,
               const struct team_outcome *outcome);

// -- takes, and the queue of waiting takes (pull_wait.c)

enum { TAKE_MEMBERS = 4, TAKE_MEMBER_SIZE = 2 * POLICY_TEXT_MAX + 32, TAKE_BYTES_MAX = 4096 };

struct take {
    struct station *station;
    struct peer *peer;
    char name[STATION_NAME_MAX + 1]; // the target whose plans are wanted
    char worker[WORKER_NAME_MAX + 1];
    int64_t limit;
    char members[TAKE_MEMBERS][TAKE_MEMBER_SIZE]; // stored JSON members that a plan must have
    size_t member_count;
    int64_t until_us; // waits for an offer until then, monotonic; 0 = does not wait

    struct take_queue *queue; // of its target
    int64_t from;             // where to continue
    int pages;                // pages read so far
    bool waits;               // it is in the queue of waiting takes
    bool asking;              // a call of the store is in flight
    struct take *next;        // in the queue
};

// Ask for plans; answered at once, when something is offered, or at the timeout. Takes ownership.
void pull_take (struct take *take);

// Answer the waiting takes of this worker for this target, and this take itself, with no jobs.
// Takes ownership.
void pull_end_takes (struct take *take);

// Whether one more take may wait: the queues are not full.
bool pull_may_wait (const struct station *self);

// Note that a worker reported on a plan of this target.
void pull_worker_reported (struct station *self, struct span target);

// Whether some pull target has had no contact from a worker recently. Only then the plan of a
// worker's report needs to be read, to learn its target.
bool pull_lacks_worker_contact (struct station *self);

// Unix seconds since when a pull target has no worker. 0: a worker has asked or reported recently
// or waits for plans, or the target was added just now.
int64_t pull_no_worker (struct station *self, struct target *target);

// Plans of this target are offered now, for up to `places` workers.
void pull_wake (struct station *self, const char *name, int64_t places);

// A run has ended: retry the takes that were held back by a limit.
void pull_retry_limited (struct station *self);

// Handle timeouts of waiting takes; call it every 100 ms.
void pull_tick (struct station *self);

// Answer all waiting takes, as nothing is offered any more.
void pull_stop (struct station *self);

// Free the queues; call it when the store is destroyed.
void pull_destroy (struct station *self);
