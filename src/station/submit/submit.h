// SUBMIT: a PLAN request becomes a stored plan. Source: plan document 3.1 and 3.2; proto 5.
#pragma once

#include "reply.h"
#include "submit_flow.h"

// Check that the frames suit the target: COMMAND or PUB_TITLE as its type needs, and not too many
// frames. `target` NULL: a flow. 0, or the error with its reason.
int submit_check_frames (const struct message *message, const struct target *target,
                         struct reason *reason);

// Check the fields that only plans of some targets may have: those for plans that workers fetch,
// and those of flow plans. `target` NULL: a flow, see submit_check_flow. `policy` may be NULL. 0,
// or the error with its reason.
int submit_check_policy (const struct target *target, const struct policy *policy,
                         struct reason *reason);

// Submit a plan: 0 if the reply follows; else the error for the reply, with request->reason.
int submit_request (struct station *self, struct request *request);

// A copy of the plan, owned by the caller. NULL: its stored text is invalid, with the reason.
struct plan *submit_copy_plan (const struct plan *plan, struct reason *reason);

// Whether the stored plan with this id is the same submission: station, description and frames.
bool submit_repeats (const struct plan *plan, const struct plan *stored);

// Check what a policy (may be NULL) calls at the end of runs: `on_failure`, and callbacks, whose
// target is created if it is missing. `user` as for check_on_failure. 0, or a negative error with a
// reason.
int callback_check (struct station *self, const char *user, const struct policy *policy,
                    struct reason *reason);

// callback_check for callbacks alone.
int callback_check_target (struct station *self, const struct policy *policy,
                           struct reason *reason);
