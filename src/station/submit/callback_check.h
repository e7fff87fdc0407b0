// What plans and kinds may want to be called at the end of runs.
#pragma once

#include "station_state.h"

// Whether what a policy, which may be NULL, calls at the end of runs can be called: `on_failure`,
// and callbacks, whose target is there now. `user` as for on_failure_check. 0, or a negative error
// with a reason.
int callback_check (struct station *self, const char *user, const struct policy *policy,
                    struct reason *reason);

// The same of callbacks alone.
int callback_check_target (struct station *self, const struct policy *policy,
                           struct reason *reason);
