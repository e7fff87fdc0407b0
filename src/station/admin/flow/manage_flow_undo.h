// done and reset of RUN/STEP: resolve an undo that failed permanently, or retry it. proto/flows.md
// 18.8.
#pragma once

#include "inquiry.h"

// False: `name` is not a RUN/STEP, and nothing was done. Else the request is answered. `again`:
// true for reset, false for done.
bool manage_flow_undo (struct station *self, struct request *request, struct span name, bool again);
