// Convert a plan for zplan_client_submit_plan.
#pragma once

#include "zplan_client.h"
#include "zplan_plan.h"

// The plan as a submission, which borrows from it until it is changed. Returns an enum zplan_error;
// the text of an error is in zplan_plan_error.
int plan_builder_submission (struct zplan_plan *self, struct zplan_submission *ret);
