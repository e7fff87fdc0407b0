// The call of a flow's step that a plan is. The plan's record has it as one text, and the PLAN
// frame of its dispatches as an object: RUN, step, item, generation and undo are the key by which
// its target knows a call that it has had. Source: proto/flows.md.
#pragma once

#include "json_text.h"

enum plan_step_kind {
    STEP_CALL = 'c',
    STEP_UNDO = 'u',
    STEP_FLOW = 'f', // of a sub-flow: the plan is its flow plan
    STEP_TIMER = 't' // a wait, or the timeout of a signal: it is sent to nobody
};

struct plan_step {
    uint64_t run;
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    enum plan_step_kind kind;
    int version;            // of the flow
    struct span flow, name; // of the step
    // STEP_FLOW: what its run inherits; wall clock, as the flow's (flow_run.h)
    int64_t fire, created, batch;
    int depth; // of its run
};

enum { PLAN_STEP_SIZE = 400 };

// Write the text. Returns its size.
size_t plan_step_text (const struct plan_step *self, char out[PLAN_STEP_SIZE]);

// False: invalid. `ret` borrows from it.
bool plan_step_parse (struct span text, struct plan_step *ret);

// The call that the stored message of a plan is of, found in its text; false: none.
bool plan_step_stored (struct span message, struct plan_step *ret);

// {"name", "version", "run", "step", "item", "generation", "undo"}
void plan_step_write (const struct plan_step *self, struct json_text *text);
