// A run to and from its rows in Redis: proto/redis.md, Flow runs. Only what cannot be computed is
// stored: decisions that are due, ready steps, edge counts of nodes and all other counts are
// recomputed. Pure.
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

// The spans are valid during the callback.
struct flow_row {
    enum flow_key key;
    enum flow_row_kind kind;
    uint32_t step;     // INDEX of a map
    uint32_t offset;   // of FLOW_ROW_RANGE
    struct span field; // of a hash
    struct span value;
};

typedef void flow_row_fn (void *owner, const struct flow_row *row);

// The rows of what changed since the last call, or since the run was created or read. They must be
// applied in this order, atomically.
void flow_rows_write (const struct flow *flow, struct flow_run *run, flow_row_fn *put, void *owner);

struct flow_stored_map {
    uint32_t step;
    struct span bytes;
};

// What was read from Redis. A hash is field, value, field, value, ... in any order.
struct flow_stored {
    const struct span *run, *data;
    size_t run_count, data_count; // of the spans
    struct span nodes, input;     // `input` may be empty: none
    const struct flow_stored_map *maps;
    size_t map_count;
};

// Whether this field of plan:flow:data:RUN implies a map, and of which step.
bool flow_rows_has_map (struct span field, uint32_t *ret_step);

// The run, or NULL with a reason that names the row. `flow` is the version of the run; `id` is
// borrowed. The caller sets the zone. A FLOW_CHECK then continues the work if the last call had set
// `more`; else it does nothing.
struct flow_run *flow_rows_read (const struct flow *flow, const char *id,
                                 const struct flow_stored *stored, struct reason *reason);
