// Checks of what plans and kinds ask to be called at the end of runs.
#pragma once

#include "station_state.h"

// Check what a policy (may be NULL) calls at the end of runs: `on_failure`, and callbacks, whose
// target is created if it is missing. `user` as for on_failure_check. 0, or a negative error with a
// reason.
int callback_check (struct station *self, const char *user, const struct policy *policy,
                    struct reason *reason);

// callback_check for callbacks alone.
int callback_check_target (struct station *self, const struct policy *policy,
                           struct reason *reason);
