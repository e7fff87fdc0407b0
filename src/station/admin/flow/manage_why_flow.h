// why of a step, as RUN/STEP, and of a flow plan whose run is in progress.
#pragma once

#include "manage_flow_step.h"

// What is known of a plan, {"plan_id", "plan_state", "running", "reasons"}, a new object. `ret_run`
// is the run of a flow plan that is in progress, 0 = none: its steps are to be added. NULL: it
// cannot be read, with the reason.
typedef json_t *why_plan_fn (struct station *self, uint64_t plan_id,
                             const struct store_loaded *answer, uint64_t *ret_run,
                             struct reason *reason);

// Reply with this object, which is given away; its reasons get the steps that are in flight.
void why_reply_run (struct station *self, struct peer *peer, uint64_t plan_id, uint64_t run,
                    json_t *object);

void why_step (struct station *self, struct request *request, const struct step_name *name,
               why_plan_fn *of_plan);
