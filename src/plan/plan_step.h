// A plan can be the call of a flow's step. The plan's record stores the call as one text, the PLAN
// frame of its dispatches as an object. RUN, step, item, generation and undo form the key by which
// the target recognizes a duplicate call. Source: proto/flows.md.
#pragma once

#include "json_text.h"

enum plan_step_kind {
    STEP_CALL = 'c',
    STEP_UNDO = 'u',
    STEP_FLOW = 'f', // of a sub-flow: the plan is its flow plan
    STEP_TIMER = 't' // a wait, or the timeout of a signal: it is never sent
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

// Find the call in the text of a plan's stored message. False: there is none.
bool plan_step_stored (struct span message, struct plan_step *ret);

// {"name", "version", "run", "step", "item", "generation", "undo"}
void plan_step_write (const struct plan_step *self, struct json_text *text);
