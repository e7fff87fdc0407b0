// Prefetched plans: claimed shortly before they are due, they wait here until then. When many plans
// are due in quick succession, one claim takes those of the next milliseconds, and each is sent
// when it is due without asking Redis first. When few are due none is prefetched.
//
// Plans also wait here if the station's own lease had expired when their claim was acknowledged,
// for example because Redis stalled: the next heartbeat shows whether it is still the owner.
//
// A plan that waits here is in flight like one that was sent: its lease runs, and commands treat it
// as a running plan.
#pragma once

#include "station_state.h"

struct prefetched_plan {
    struct heap_node node; // ordered by due time, then by arrival
    struct store_claimed claimed;
    struct target *target; // it takes a slot of this target; NULL = none
    uint8_t store[];       // holds the texts of `claimed`
};

// How far claims currently look ahead, in microseconds; 0: not at all.
int64_t prefetch_reach_us (const struct station *self);

// Note that a claim has taken `plans` plans.
void prefetch_count_claimed (struct station *self, size_t plans);

// When to make the next claim, for plans that are due at `due_us`; both in Redis' microseconds.
int64_t prefetch_claim_us (const struct station *self, int64_t due_us);

// Keep a copy of the claimed plan until it is due.
void prefetch_keep (struct station *self, const struct store_claimed *claimed);

// Remove and return the next plan that is due, while the station holds its lease; NULL: none. The
// caller frees it.
struct prefetched_plan *prefetch_take (struct station *self);

// When the first plan can be sent, monotonic; INT64_MAX: there is none.
int64_t prefetch_next_us (const struct station *self);

// Drop a plan that was removed or cancelled, so that it is not sent. False: it does not wait here.
bool prefetch_drop (struct station *self, uint64_t plan_id);

// Remove the target from its waiting plans: each is sent to the target that has the name when the
// plan is due.
void prefetch_forget_target (struct station *self, const struct target *target);

// Drop all plans that wait here, as the station has taken over the plans again. They are due again
// when their lease ends.
void prefetch_drop_all (struct station *self);

// Free all plans that wait here, when the station ends.
void prefetch_stop (struct station *self);
