// The format of the rows of a run, for the files that write and read them.
#pragma once

#include "flow_rows.h"

enum {
    FLOW_NODE_SIZE =
        16, // bytes of a node: state, marks, flags (2), generation (2), passes (4), 0 0, ended (4)
    FLOW_MARK_BY_NAME = 1,
    FLOW_MARK_TIMER = 2, // times enum flow_timer
    // Bits in the byte of an item, above its state:
    FLOW_MAP_DISPATCHED = 8,
    FLOW_MAP_STOPPING = 16,
    FLOW_MAP_NAMED = 32,
    FLOW_MAP_TIMER = 64 // times enum flow_timer
};

extern const char *const flow_phase_names[FLOW_ENDED + 1];

// A flag of a run, stored as a word in run.state.
struct flow_run_flag {
    const char *name;
    size_t offset; // offset of the bool in struct flow_run
};
enum { FLOW_RUN_FLAGS = 7 };
extern const struct flow_run_flag flow_run_flags[FLOW_RUN_FLAGS];
#define FLOW_FLAG_UNDO_PLACED "undo_placed"

// Write the text of the field run.head: version, limit and times.
void flow_rows_head_text (struct flow_run *run, char text[sizeof run->head]);
// Write the text of the field run.state: phase, outcome, counters and flags.
void flow_rows_state_text (struct flow_run *run, char text[sizeof run->state]);

// Check a run that was read as a whole, and compute what is not stored. `undo_placed`: an undo is
// in flight. False: not valid, with the reason.
bool flow_rows_complete (const struct flow *flow, struct flow_run *run, bool undo_placed,
                         struct reason *reason);
