// What zplan_client_submit_plan needs of a plan.
#pragma once

#include "zplan_client.h"
#include "zplan_plan.h"

// The plan as a submission, which borrows from it until it is changed. An enum zplan_error; the
// plan has the words.
int plan_builder_submission (struct zplan_plan *self, struct zplan_submission *ret);
