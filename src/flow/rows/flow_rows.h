// The rows of a run in Redis, and the run that was read from there: proto/redis.md, Flow runs. Only
// what cannot be computed from the rest is stored: which decisions are due, what is ready, the
// edges of each node and all counts are found again. Pure.
#pragma once

#include "flow_run.h"

enum flow_key {
    FLOW_KEY_RUN,   // plan:flow:run:RUN, a hash; fields of others are left alone
    FLOW_KEY_NODE,  // plan:flow:node:RUN, a string
    FLOW_KEY_DATA,  // plan:flow:data:RUN, a hash
    FLOW_KEY_INPUT, // plan:flow:input:RUN, a string
    FLOW_KEY_MAP    // plan:flow:map:RUN:INDEX, a string
};

enum flow_row_kind {
    FLOW_ROW_SET,   // set a field of a hash
    FLOW_ROW_DEL,   // delete a field of a hash
    FLOW_ROW_RANGE, // SETRANGE
    FLOW_ROW_DROP   // delete the key
};

// Spans live as long as the call that has them.
struct flow_row {
    enum flow_key key;
    enum flow_row_kind kind;
    uint32_t step;     // INDEX of a map
    uint32_t offset;   // of a range
    struct span field; // of a hash
    struct span value;
};

typedef void flow_row_fn (void *owner, const struct flow_row *row);

// The rows of what changed since this was called last, or since the run was made or read. They are
// to be applied in this order, and as a whole.
void flow_rows_write (const struct flow *flow, struct flow_run *run, flow_row_fn *put, void *owner);

struct flow_stored_map {
    uint32_t step;
    struct span bytes;
};

// What was read. Of a hash: field, value, field, value, ... in any order.
struct flow_stored {
    const struct span *run, *data;
    size_t run_count, data_count; // of the spans
    struct span nodes, input;     // the second one is empty where there is none
    const struct flow_stored_map *maps;
    size_t map_count;
};

// Whether this field of plan:flow:data:RUN says that there is a map, and of which step.
bool flow_rows_has_map (struct span field, uint32_t *ret_step);

// The run, or NULL with a reason that names the row. `flow` is the version that the run has; `id`
// is borrowed. Its zone is the caller's to set. A FLOW_CHECK then goes on where `more` was not
// answered; it does nothing otherwise.
struct flow_run *flow_rows_read (const struct flow *flow, const char *id,
                                 const struct flow_stored *stored, struct reason *reason);
