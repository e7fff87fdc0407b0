// Plans that were claimed a moment before they are due, and wait for it here: when many are due one
// after the other, one claim takes those of the next milliseconds, and each is sent when its time
// has come, with nothing to ask of Redis first. Where few are due none is claimed early.
//
// A plan that waits here is in hand, as one that was sent: its lease runs, and what is done to it
// is done to a running plan.
#pragma once

#include "core.h"

// How far claims look ahead now, in microseconds. 0: not at all.
int64_t ahead_reach_us (const struct station *self);

// A claim has taken so many plans.
void ahead_count (struct station *self, size_t plans);

// When the next claim is to be for plans that are due then; both in Redis' microseconds.
int64_t ahead_claim_us (const struct station *self, int64_t due_us);

// Keep a copy until it is due.
void ahead_keep (struct station *self, const struct store_claimed *claimed);

// Fire those that are due.
void ahead_fire (struct station *self);

// When the first is due, monotonic; INT64_MAX: there is none.
int64_t ahead_next_us (const struct station *self);

// Whether another is due within moments. Only then a result may wait for that of others: where
// each run begins because another has ended, it would wait for nothing.
bool ahead_soon (const struct station *self);

// The plan was removed, or its run cancelled: it is not to be sent. False: it does not wait here.
bool ahead_drop (struct station *self, uint64_t plan_id);

// A target is taken away: its plans meet whoever has its name when they are due.
void ahead_forget_target (struct station *self, const struct target *target);

void ahead_stop (struct station *self);
