// Plans that were claimed a moment before they are due, and wait for it here: when many are due one
// after the other, one claim takes those of the next milliseconds, and each is sent when it is due,
// with nothing to ask of Redis first. Where few are due none is prefetched.
//
// Those wait here too whose claim was acknowledged when the station's own lease was over, as after
// a Redis that stalled: the next heartbeat shows whether it is still the owner.
//
// A plan that waits here is in flight, as one that was sent: its lease runs, and commands treat it
// as a running plan.
#pragma once

#include "station_state.h"

struct prefetched_plan {
    struct heap_node node; // by when it is due; those of one moment in the order in which they came
    struct store_claimed claimed;
    struct target *target; // it takes a slot of this target; NULL = of none
    uint8_t store[];       // of the texts in `claimed`
};

// How far claims look ahead now, in microseconds. 0: not at all.
int64_t prefetch_reach_us (const struct station *self);

// A claim has taken `plans` plans.
void prefetch_count (struct station *self, size_t plans);

// When the next claim is to be for plans that are due then; both in Redis' microseconds.
int64_t prefetch_claim_us (const struct station *self, int64_t due_us);

// Keep a copy until it is due.
void prefetch_keep (struct station *self, const struct store_claimed *claimed);

// The next that is due, taken out, while the station has its lease; NULL: there is none. Free it.
struct prefetched_plan *prefetch_take (struct station *self);

// When the first can be fired, monotonic; INT64_MAX: there is none.
int64_t prefetch_next_us (const struct station *self);

// The plan was removed, or its run cancelled: it is not to be sent. False: it does not wait here.
bool prefetch_drop (struct station *self, uint64_t plan_id);

// A target is taken away: its plans meet the target that has its name when they are due.
void prefetch_forget_target (struct station *self, const struct target *target);

// The plans were taken over again: what was claimed before is due when its lease ends.
void prefetch_forget (struct station *self);

void prefetch_stop (struct station *self);
