// SUBMIT: a PLAN request becomes a stored plan. Source: plan document 3.1 and 3.2; contract 3.1.
#pragma once

#include "reply.h"

struct flow;

// What a target must be sent, and can be: COMMAND or PUB_TITLE, and not too many frames; `target`
// NULL: a flow. 0, or the error with its reason.
int submit_check_frames (const struct message *message, const struct target *target,
                         struct reason *reason);

// Fields that only plans of some targets have: who fetches them, and those of flow plans. `target`
// NULL: a flow, see submit_check_flow. `policy` may be NULL. 0, or the error with its reason.
int submit_check_policy (const struct target *target, const struct policy *policy,
                         struct reason *reason);

// What a flow takes: at most one JSON frame, its input, which is an object; no fields of others,
// and a batch that is a time. 0, or the error with its reason.
int submit_check_input (const struct message *message, struct reason *reason);
int submit_check_flow (enum vote_need need, const struct policy *policy, struct reason *reason);

// The input of a flow plan, a new reference; NULL: it has none.
json_t *submit_input_of (const struct plan *plan);

// What a run of a flow plan besides its schedule is given: {"batch", "params"}, both optional. A
// new reference, or NULL with a reason.
json_t *submit_read_run_with (struct span text, struct reason *reason);

// Whether what the flow plan gives, and its input, fit the params of the flow; `with`, which may be
// NULL, over it. 0, or the error with its reason.
int submit_check_params (const struct flow *flow, const struct plan *plan, const json_t *with,
                         struct reason *reason);

void submit_request (struct station *self, struct request *request);

// A new id for a plan: the time in the high bits, so that ids grow, and a random start of the low
// ones, so that two stations do not make the same. The store refuses the rest of the chance.
uint64_t submit_new_id (struct station *self);

// Whether what stands under the id is this very submission: station, description and frames.
bool submit_repeats (const struct plan *plan, const struct plan *held);
