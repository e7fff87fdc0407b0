// How many more plans each target takes, which is what claims ask for: so a target that takes few
// or none holds up nobody else, however many plans of it are due.
#pragma once

#include "core.h"

// Of all targets, for the next claim; returns how many there are.
size_t rooms_of (struct station *self, struct claim_target out[TARGETS_MAX]);

// Whether a claim for them could take a plan. Without targets: of those that nobody knows.
bool rooms_any (const struct claim_target *targets, size_t count);

// What a claim's answer says of plans that are due and were not taken.
void rooms_learn (struct station *self, const struct store_claim *claim);

// When the next claim has plans to take that are due already, monotonic.
int64_t rooms_next_us (struct station *self);

// Whether this target, which plans may wait for, takes many again.
bool rooms_opened (struct station *self, const struct target *target);

// Whether a connected target takes no more now.
bool rooms_full (struct station *self, const struct target *target);
