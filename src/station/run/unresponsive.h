// Targets that answer nothing at all. A target that blocks keeps what it was sent and runs all of
// it later. So it gets no new runs, and its unanswered runs are kept instead of being
// resent: they stay in progress, and their leases are extended. Only one of them, the oldest, is
// the probe: it is retried like any run without a status until the target answers. Then the
// deadline for a status restarts for the others. Source: proto 7.2.
#pragma once

#include "runs.h"

// No status of this run came in time. True: the run is kept for now; false: retry it.
bool unresponsive_keeps (struct station *self, struct active_run *active);

// An unresponsive target of `owner`, the station, has answered.
void unresponsive_ends (void *owner, struct target *target);

// The plan whose run may be sent to an unresponsive target now, before others; 0 = none.
uint64_t unresponsive_probe (struct station *self, const struct target *target);

// How many more runs may be sent to a connected target.
int64_t unresponsive_free_slots (struct station *self, const struct target *target);

// Whether a claimed run of this plan may be sent to the target.
bool unresponsive_allows (struct station *self, const struct target *target, uint64_t plan_id);

// A run of this plan was sent to the target.
void unresponsive_sent (struct target *target, uint64_t plan_id);
