// The command `why` for a step, RUN/STEP, and for a flow plan whose run is in progress.
#pragma once

#include "manage_flow_step.h"

// Describe a plan: {"plan_id", "plan_state", "running", "reasons"}, a new object. `ret_run` is the
// run in progress of a flow plan, whose steps the caller must add; 0 = none. NULL: the plan cannot
// be read, with the reason.
typedef json_t *why_plan_fn (struct station *self, uint64_t plan_id,
                             const struct store_loaded *answer, uint64_t *ret_run,
                             struct reason *reason);

// Add the steps in flight to the reasons of `object`, then reply with it. Takes over `object`.
void why_reply_run (struct station *self, struct peer *peer, uint64_t plan_id, uint64_t run,
                    json_t *object);

void why_step (struct station *self, struct request *request, const struct step_name *name,
               why_plan_fn *describe_plan);
