// Checks of the plans that start flows, and the values that they pass to them.
// proto/flows.md 18.11.
#pragma once

#include "station_state.h"

struct flow;

// Check the frames of a submission for a flow: at most one JSON frame, the input, which must be an
// object. Returns 0, or the error with its reason.
int submit_check_input (const struct message *message, struct reason *reason);
// Check the fields of a submission for a flow: none for vote or pull targets; `batch` must be a
// time. Returns 0, or the error with its reason.
int submit_check_flow (enum vote_need need, const struct policy *policy, struct reason *reason);

// The input of a flow plan, a new reference; NULL: it has none.
json_t *submit_input_of (const struct plan *plan);

// Parse the values for a run outside the schedule of a flow plan: {"batch", "params"}, both
// optional. A new reference, or NULL with a reason.
json_t *submit_read_run_with (struct span text, struct reason *reason);

// Check the params and the input of a flow plan against the params of the flow. `with`, if not
// NULL, overrides the plan's params. Returns 0, or the error with its reason.
int submit_check_params (const struct flow *flow, const struct plan *plan, const json_t *with,
                         struct reason *reason);
