// The outcome of a run as packed for the history. Pure.
#pragma once

#include "engine.h"
#include "rows.h"

// The outcome of a run.
struct outcome_record {
    struct span title;
    struct span key; // the plan's name, empty = none
    int64_t nominal; // when the run was due, Unix seconds
    uint8_t status;
    enum plan_state state; // the plan's state after the run
    uint64_t exec_id;
    struct span worker;
    size_t size; // bytes in the result's frames
    struct span reason;
    struct missed missed; // occurrences that did not run, which the record reports; count 0 = none
    const char *missed_why;
    uint64_t flow_run; // the flow run of a flow plan or of a step's plan; 0 = none
    struct span trace; // the traceparent of the run, empty = none
    struct span step;  // STEP or STEP.ITEM, empty = none
    bool undo;         // the run was the undo of that step
    uint64_t callback; // id of the plan that sends the callback for this outcome, 0 = none
};

// Fill in flow_run, step and undo from the plan. The caller's buffer `room` receives the text of
// `step`, and must live as long as the record.
enum { OUTCOME_STEP_SIZE = 96 };
void outcome_set_flow (struct outcome_record *self, const struct plan *plan,
                       char room[OUTCOME_STEP_SIZE]);

// Pack a record as a msgpack map, as the history stores it. Free the result.
char *store_record (const struct outcome_record *record, size_t *ret_size);

// Pack several outcomes as one entry of the history: a msgpack array of arrays [plan, station,
// record]. Free the result.
char *outcomes_pack (const struct outcome_row *rows, size_t count, size_t *ret_size);
