// done and reset of RUN/STEP: an undo that failed for good is resolved by a person, or tried again.
// proto/flows.md 18.8.
#pragma once

#include "inquiry.h"

// False: `name` is no RUN/STEP, and nothing was done. Else the request is replied to. `again`:
// reset, else done.
bool manage_flow_undo (struct station *self, struct request *request, struct span name, bool again);
