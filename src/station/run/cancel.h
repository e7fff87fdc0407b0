// Cancelling a run in flight: notifying its target, and ending the run.
// Source: features C026, E018; proto 7.8.
#pragma once

#include "apply.h"

// Notify the target of a run in flight that it is cancelled: CLOSE_REQUEST on its mailbox. False:
// the target is not connected, or does not read. No answer is expected; one that comes is late.
bool cancel_notify (const struct active_run *active, const char *reason);

// End a run in flight by a command: its target is notified, and it is dropped. Returns whether the
// target was notified; `done` is called when it is written, unless it is NULL.
bool cancel_run (struct active_run *active, const char *reason, applied_fn *done, void *owner);
