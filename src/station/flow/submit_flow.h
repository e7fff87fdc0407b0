// What a flow takes of the plans that start it, and what those give it. proto/flows.md 18.11.
#pragma once

#include "station_state.h"

struct flow;

// What a flow takes: at most one JSON frame, its input, which is an object; no fields of others,
// and a batch that is a time. 0, or the error with its reason.
int submit_check_input (const struct message *message, struct reason *reason);
int submit_check_flow (enum vote_need need, const struct policy *policy, struct reason *reason);

// The input of a flow plan, a new reference; NULL: it has none.
json_t *submit_input_of (const struct plan *plan);

// The values for a run of a flow plan outside its schedule: {"batch", "params"}, both optional. A
// new reference, or NULL with a reason.
json_t *submit_read_run_with (struct span text, struct reason *reason);

// Whether what the flow plan gives, and its input, fit the params of the flow; `with`, which may be
// NULL, over it. 0, or the error with its reason.
int submit_check_params (const struct flow *flow, const struct plan *plan, const json_t *with,
                         struct reason *reason);
