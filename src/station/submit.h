// SUBMIT: a PLAN request becomes a stored plan. Source: plan document 3.1 and 3.2; contract 3.1.
#pragma once

#include "reply.h"

// What a target must be sent, and can be: COMMAND or PUB_TITLE, and not too many frames; `target`
// NULL: a flow. 0, or the error with its reason.
int submit_check_frames (const struct message *message, const struct target *target,
                         struct reason *reason);

// Only plans of pull stations say who fetches them. `target` and `policy` may be NULL. 0, or the
// error with its reason.
int submit_check_workers (const struct target *target, const struct policy *policy,
                          struct reason *reason);

// What a flow takes: at most one JSON frame, its input, which is an object; and no fields of
// others. 0, or the error with its reason.
int submit_check_input (const struct message *message, struct reason *reason);
int submit_check_flow (enum vote_need need, const struct policy *policy, struct reason *reason);

void submit_request (struct station *self, struct request *request);

// A new id for a plan: the time in the high bits, so that ids grow, and a random start of the low
// ones, so that two stations do not make the same. The store refuses the rest of the chance.
uint64_t submit_new_id (struct station *self);

// Whether what stands under the id is this very submission: station, description and frames.
bool submit_repeats (const struct plan *plan, const struct plan *held);
