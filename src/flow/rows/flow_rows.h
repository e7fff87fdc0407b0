// Convert a run to and from its rows in Redis: proto/redis.md, Flow runs. What can be computed is
// not stored: decisions that are due, ready steps, edge counters and all other counts are
// recomputed. Pure.
#pragma once

#include "flow_run.h"

enum flow_key {
    FLOW_KEY_RUN,   // plan:flow:run:RUN, a hash, in which other code has fields, too
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
    uint32_t step;     // FLOW_KEY_MAP: INDEX in the key
    uint32_t offset;   // FLOW_ROW_RANGE: offset in bytes
    struct span field; // FLOW_ROW_SET, FLOW_ROW_DEL: field of the hash
    struct span value;
};

typedef void flow_row_fn (void *owner, const struct flow_row *row);

// Pass the rows of what changed to `put`: since the last call, or since the run was created or
// read. They must be applied in this order, atomically.
void flow_rows_write (const struct flow *flow, struct flow_run *run, flow_row_fn *put, void *owner);

struct flow_stored_map {
    uint32_t step;
    struct span bytes;
};

// The rows of a run as read from Redis. A hash is field, value, field, value, ... in any order.
struct flow_stored {
    const struct span *run, *data;
    size_t run_count, data_count; // numbers of spans, two for each field
    struct span nodes, input;     // bytes of the nodes; the input, empty: none
    const struct flow_stored_map *maps;
    size_t map_count;
};

// Whether this field of plan:flow:data:RUN implies that its step has a map; `ret_step`: the step.
bool flow_rows_has_map (struct span field, uint32_t *ret_step);

// Make a run from its rows. NULL: not valid, with a reason that names the row. `flow` is the
// version of the run; `id` is borrowed. The caller sets the zone. A FLOW_CHECK then continues the
// work if the last call had set `more`; else it does nothing.
struct flow_run *flow_rows_read (const struct flow *flow, const char *id,
                                 const struct flow_stored *stored, struct reason *reason);
