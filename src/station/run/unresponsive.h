// Targets that answer nothing at all: a station that blocks keeps what it was sent, and does all of
// it later. So such a target gets no new runs, and those that it may have are kept, not sent again:
// in progress, their leases extended. One of them, the oldest, is the probe: it is retried as a run
// without a status is, until the target answers anything. Then the others have the time of a status
// once more. Source: proto 7.2.
#pragma once

#include "runs.h"

// No status of this run came in time. True: it is kept for now; false: it is to be retried.
bool unresponsive_keeps (struct station *self, struct active_run *active);

// A target that was unresponsive has answered.
void unresponsive_ends (struct station *self, struct target *target);

// The plan of which an unresponsive target may be sent a run now, ahead of others; 0 = of none.
uint64_t unresponsive_probe (struct station *self, const struct target *target);

// How many more runs a connected target may be sent.
int64_t unresponsive_free_slots (struct station *self, const struct target *target);

// Whether a claimed run of this plan may be sent to it.
bool unresponsive_allows (struct station *self, const struct target *target, uint64_t plan_id);

// A run of this plan was sent to it.
void unresponsive_sent (struct target *target, uint64_t plan_id);
