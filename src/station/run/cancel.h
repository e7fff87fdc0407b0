// Cancels runs in flight: notifies the target and ends the run. Source: features C026, E018; proto
// 7.8.
#pragma once

#include "apply.h"
#include "flow_live.h"

// Notify the target that its run is cancelled, with CLOSE_REQUEST on the run's mailbox. False: the
// target is not connected or does not read. No answer is expected; if one comes, it counts as late.
bool cancel_notify (const struct active_run *active, const char *reason);

// Cancel a run in flight by a command: notify its target and drop the run. Returns whether the
// target was notified. `done` (may be NULL) is called when the outcome is written.
bool cancel_run (struct active_run *active, const char *reason, applied_fn *done, void *owner);

// Cancel the run of a call as a command would. The run of a sub-flow is only notified, as it first
// undoes what it has done.
void flow_cancel_call (struct station *self, const struct flow_cancel *cancel);
