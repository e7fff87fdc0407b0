// Calls in flight that flows need no more.
#pragma once

#include "flow_live.h"

// Its run is cancelled as by a command; that of a sub-flow is notified, and undoes first what it
// has done.
void flow_cancel_call (struct station *self, const struct flow_cancel *cancel);
