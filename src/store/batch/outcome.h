// What the history keeps of a run, packed. Pure.
#pragma once

#include "engine.h"
#include "rows.h"

// The outcome of a run.
struct outcome_record {
    struct span title;
    struct span key; // the plan's name, empty = none
    int64_t nominal; // Unix seconds
    uint8_t status;
    enum plan_state state; // of the plan afterwards
    uint64_t exec_id;
    struct span worker;
    size_t size; // of the result's frames
    struct span reason;
    struct missed missed; // if it is of occurrences that did not run
    const char *missed_why;
    uint64_t flow_run; // of a flow plan its run, of a step's plan that of the step; 0 = none
    struct span trace; // the traceparent of the run, empty = none
    struct span step;  // STEP or STEP.ITEM, empty = none
    bool undo;         // the undo of that step
    uint64_t callback; // the plan that sends it, 0 = none
};

// Fill in what it has of flows. `room` is for the step, and has to last as long as the record.
enum { OUTCOME_STEP_SIZE = 96 };
void outcome_set_flow (struct outcome_record *self, const struct plan *plan,
                       char room[OUTCOME_STEP_SIZE]);

// Packed for a commit. Free it.
char *store_record (const struct outcome_record *record, size_t *ret_size);

// Several outcomes as one entry of the history: msgpack {plan, station, record} of each. Free it.
char *outcomes_pack (const struct outcome_row *rows, size_t count, size_t *ret_size);
