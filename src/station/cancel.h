// Ending a run that is out: what its target is told, and the word of management.
// Source: features C026, E018; proto 7.8.
#pragma once

#include "runs.h"

// Tell the target of a run in hand that nobody waits for it any more: CLOSE_REQUEST on its mailbox.
// False: the target is not connected, or does not read. Nothing is expected back; what comes is
// late.
bool cancel_tell (const struct held_run *held, const char *reason);
