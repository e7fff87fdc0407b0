// Cancels calls in flight that flows no longer need.
#pragma once

#include "flow_live.h"

// Cancel the run of a call as a command would. The run of a sub-flow is only notified, as it first
// undoes what it has done.
void flow_cancel_call (struct station *self, const struct flow_cancel *cancel);
