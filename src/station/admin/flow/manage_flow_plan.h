// Commands about plans that flows have made, or whose run is a flow's.
#pragma once

#include "inquiry.h"

enum flow_plan_command {
    FLOW_PLAN_CANCEL,
    FLOW_PLAN_CANCEL_STEP, // by its RUN/STEP: also of a plan that has no run
    FLOW_PLAN_REMOVE,
    FLOW_PLAN_CLOSE,
    FLOW_PLAN_DONE
};

// True: it is such a plan, the command is carried out and answered, and the inquiry ends with it.
// False: the plan is as any other. `go_on` then carries out the removal of a flow plan whose run
// was cancelled first.
bool manage_flow_plan (struct inquiry *inquiry, const struct store_loaded *answer,
                       enum flow_plan_command command, const char *reason,
                       void (*go_on) (struct inquiry *inquiry, const char *station));
