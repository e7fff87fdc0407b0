// Cancelling a run in flight: notifying its target, and ending the run.
// Source: features C026, E018; proto 7.8.
#pragma once

#include "apply.h"

// Tell the target of a run in hand that nobody waits for it any more: CLOSE_REQUEST on its mailbox.
// False: the target is not connected, or does not read. Nothing is expected back; what comes is
// late.
bool cancel_tell (const struct held_run *held, const char *reason);

// End a run in hand as a person wants it: its target is told, and it is dropped. Returns whether
// the target was told; `done` when it is written, NULL: nobody waits.
bool cancel_run (struct held_run *held, const char *reason, applied_fn *done, void *owner);
