// What `zplan watch` prints: how runs ended, and events.
#pragma once

#include <jansson.h>

#include "verbs.h"
#include "zplan.h"

// Print a published result; `plan` is its plan JSON, or NULL if that is invalid.
void result_print (const struct cli *cli, const struct zplan_result *result, const json_t *plan);

// Print a run of the history; `epoch` is the one that its seq belongs to.
void result_print_run (const struct cli *cli, const json_t *run, const char *epoch);

// Print an event of a plan or of a flow run.
void event_print (const struct cli *cli, const struct zplan_event *event);
