// Commands about plans of steps, and about flow plans whose run is in progress.
#pragma once

#include "inquiry.h"

enum flow_plan_command {
    FLOW_PLAN_CANCEL,
    FLOW_PLAN_CANCEL_STEP, // a plan named as RUN/STEP, which need not have a run in progress
    FLOW_PLAN_REMOVE,
    FLOW_PLAN_CLOSE,
    FLOW_PLAN_DONE
};

// Execute a command about such a plan. True: the command is answered, which ends the inquiry.
// False: it is an ordinary plan, which the caller handles. `remove_plan` removes a flow plan after
// its run was cancelled.
bool manage_flow_plan (struct inquiry *inquiry, const struct store_loaded *answer,
                       enum flow_plan_command command, const char *reason,
                       void (*remove_plan) (struct inquiry *inquiry, const char *station));
