// A step of a run as commands name it: RUN/STEP or RUN/STEP.ITEM.
#pragma once

#include "flow_runs_private.h"
#include "inquiry.h"

struct step_name {
    uint64_t run;
    char step[FLOW_NAME_MAX + 1];
    int64_t item; // -1: none
};

// Split STEP or STEP.ITEM. False: the step is empty, or the item is no number of an item.
bool step_item_parse (struct span text, struct span *ret_step, int64_t *ret_item);

bool step_name_parse (struct span text, struct step_name *ret);

// Read the run, and find the step. `live` is NULL if it was not found or the peer may not see it:
// the request was rejected then. `command`: the name of the command, for error texts.
typedef void step_found_fn (void *owner, struct flow_live *live, uint32_t step);
void step_find (struct station *self, struct peer *peer, const char *command,
                const struct step_name *name, step_found_fn *found, void *owner);

// done and reset of RUN/STEP: resolve an undo that failed permanently, or retry it (proto/flows.md
// 18.8). False: `name` is not a RUN/STEP, and nothing was done. Else the request is answered.
// `reset`: true for reset, false for done.
bool manage_flow_undo (struct station *self, struct request *request, struct span name, bool reset);
