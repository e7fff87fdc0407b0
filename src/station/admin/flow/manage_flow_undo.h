// done and reset of RUN/STEP: an undo that failed permanently is resolved by an operator, or
// retried. proto/flows.md 18.8.
#pragma once

#include "inquiry.h"

// False: `name` is no RUN/STEP, and nothing was done. Else the request is replied to. `again`:
// reset, else done.
bool manage_flow_undo (struct station *self, struct request *request, struct span name, bool again);
