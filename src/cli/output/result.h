// How a run ended, as watch prints it: a published result, or one of the history.
#pragma once

#include <jansson.h>

#include "verbs.h"
#include "zplan.h"

// A broadcast; `plan` is its plan JSON, or NULL when that is invalid.
void result_print (const struct cli *cli, const struct zplan_result *result, const json_t *plan);

// A run of the history; `epoch` is the one its seq belongs to.
void result_print_run (const struct cli *cli, const json_t *run, const char *epoch);
