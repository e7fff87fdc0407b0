// A plan can be the call of a flow's step. The plan's record stores the call as one text; the PLAN
// frame of a dispatch has it as an object. The run, step, item, generation and undo form the key by
// which the target recognizes a duplicate call. Source: proto/flows.md.
#pragma once

#include "json_text.h"

enum plan_step_kind {
    STEP_CALL = 'c',
    STEP_UNDO = 'u',
    STEP_FLOW = 'f', // starts a sub-flow: the plan is its flow plan
    STEP_TIMER = 't' // a wait, or the timeout of a signal: it is never dispatched
};

struct plan_step {
    uint64_t run;
    uint32_t step;
    int64_t item; // index in a for_each; -1: the step has none
    unsigned generation;
    enum plan_step_kind kind;
    int version;      // version of the flow
    struct span flow; // name of the flow
    struct span name; // name of the step
    // STEP_FLOW: what the sub-flow's run inherits; local seconds, as in struct flow_run
    int64_t fire, created, batch;
    int depth; // nesting depth of the sub-flow's run
};

enum { PLAN_STEP_SIZE = 400 };

// Write the call as the stored text, without a NUL. Returns its size.
size_t plan_step_text (const struct plan_step *self, char out[PLAN_STEP_SIZE]);

// Parse the stored text of a call. False: invalid. `ret` borrows from `text`.
bool plan_step_parse (struct span text, struct plan_step *ret);

// Find the call in the text of a plan's stored message, which `ret` borrows from. False: none.
bool plan_step_stored (struct span message, struct plan_step *ret);

// Append the object {"name", "version", "run", "step", "item", "generation", "undo"}.
void plan_step_write (const struct plan_step *self, struct json_text *text);
