// The state of one call of flow_step, and the internals that the engine's files share.
#pragma once

#include "flow_run.h"

struct flow_turn {
    const struct flow *flow;
    struct flow_run *run;
    struct flow_effects *effects;
    int64_t now; // ms
};

// -- queues: flow_heap.c

// A priority queue of ready steps (run.ready) or of due decisions (run.todo). It has two lanes; in
// each the smallest key is first. The order depends on the keys alone, so a run that was read from
// Redis continues in the same order.
struct flow_heap;
struct flow_heap *flow_heap_new (void);
void flow_heap_destroy (struct flow_heap **self);
void flow_heap_clear (struct flow_heap *self);
enum flow_lane {
    FLOW_LANE_FREE,     // ready steps that need no free slot
    FLOW_LANE_CALLS,    // ready steps that need a free slot
    FLOW_LANE_ENDS = 0, // decisions: ends to be counted at their targets
    FLOW_LANE_JOINS = 1 // decisions: joins to be decided
};
void flow_heap_push (struct flow_heap *self, enum flow_lane lane, uint64_t key);
// Remove the smallest key. False: the lane is empty.
bool flow_heap_pop (struct flow_heap *self, enum flow_lane lane, uint64_t *ret);
// Whether both lanes are empty.
bool flow_heap_empty (const struct flow_heap *self);

// -- state

// The data of a step; created if it has none.
struct flow_data *flow_data_of (struct flow_run *run, uint32_t step);
// Add a step to effects.changed, and mark its row.
void flow_add_changed_step (struct flow_turn *turn, uint32_t step);

// Mark the row of a node to be written to Redis.
void flow_mark_row (struct flow_run *run, uint32_t step);
// Mark parts of a step's data, FLOW_TOUCHED_..., and its row to be written.
void flow_mark_data (struct flow_run *run, uint32_t step, unsigned what);
// Mark parts of an item, FLOW_TOUCHED_..., and its step's row to be written.
void flow_mark_item (struct flow_run *run, uint32_t step, uint32_t item, unsigned what);

// Set the error of a step to a copy of the text; NULL: no error.
void flow_set_step_error (struct flow_run *run, uint32_t step, const char *text);
// Set the error of an item to a text from malloc, which the item then owns; NULL: no error. The
// rows are not marked.
void flow_adopt_item_error (struct flow_run *run, struct flow_item *item, char *text);
// Set the error of an item to a copy of the text; NULL: no error.
void flow_set_item_error (struct flow_run *run, uint32_t step, uint32_t item, const char *text);
// Drop the data that a restart does not keep: all but the list of a for_each and a recorded time.
void flow_clear_data (struct flow_run *run, uint32_t step);
// Drop the signals of a step.
void flow_clear_signals (struct flow_run *run, uint32_t step);
// The number of items of a for_each, given its list or count; -1: it is neither.
int64_t flow_item_count (const json_t *list);
// Make the items of a for_each from its list or count, which is taken over.
struct flow_items *flow_items_new (json_t *list);
// Free the items of a step, and mark their rows to be deleted.
void flow_items_free (struct flow_run *run, uint32_t step);

// Replace the value in `slot`, and take over the reference; NULL: no value. Counts its bytes in
// data_size. False: it was larger than `max` bytes, and is dropped.
bool flow_store_value (struct flow_run *run, json_t **slot, json_t *value, size_t max);

// The bytes of a value as JSON; 0 for NULL.
size_t flow_json_size (const json_t *value);
// The bytes of the signals that a step has not used yet.
size_t flow_signals_size (const struct flow_data *data);

// Whether the end of a node is known: it has ended or is blocked.
static inline bool flow_node_is_decided (const struct flow_node *node)
{
    return node->state >= FLOW_FINISHED || node->flags & FLOW_BLOCKED;
}

// -- decisions: flow_decide.c

// The kind of an edge once its source is decided: live, dead if its branch is not taken, broken if
// a failure stops it.
enum flow_edge_kind { FLOW_EDGE_LIVE, FLOW_EDGE_DEAD, FLOW_EDGE_BROKEN };
enum flow_edge_kind flow_edge_kind (const struct flow *flow, const struct flow_run *run,
                                    uint32_t source, uint8_t on);

// Whether the run continues after a failure of the step: by its on_error, else by the run's
// default.
bool flow_continues_after_failure (const struct flow *flow, const struct flow_run *run,
                                   uint32_t step);

// End the step in this state, and queue the count of its end at its targets.
void flow_end_step (struct flow_turn *turn, uint32_t step, enum flow_state state,
                    const char *error);

// Remove the end of a step from the edge counters of its targets.
void flow_retract_end (struct flow_turn *turn, uint32_t step);

// Make all decisions that are due, within the limits of one call.
void flow_make_decisions (struct flow_turn *turn);

// Recompute from the nodes which decisions are due.
void flow_rebuild_todo (const struct flow *flow, struct flow_run *run);
// Recompute the edge counters of all nodes.
void flow_count_edges (const struct flow *flow, struct flow_run *run);

// Let the join of a step pass: evaluate its condition, and make the step ready, or skip it.
void flow_pass_join (struct flow_turn *turn, uint32_t step);

// -- starts: flow_start.c

// Add a step to run.ready, unless it is a member already.
void flow_queue_ready (struct flow_turn *turn, uint32_t step);
// Recompute run.ready from the flags of the nodes.
void flow_rebuild_ready (const struct flow *flow, struct flow_run *run);
// Start ready steps within the limits of one call, each after all decisions that are due.
void flow_start_ready_steps (struct flow_turn *turn);

// Place the call of an undo; if its frames cannot be evaluated, park it.
void flow_place_undo (struct flow_turn *turn, const struct flow_undo *undo);

// -- ends: flow_items.c, flow_finish.c

// Handle FLOW_CALL_ENDED: end the step, item or undo of the call.
void flow_handle_call_end (struct flow_turn *turn, const struct flow_event *event);
// Continue a for_each: make it ready for its next item, or end it.
void flow_continue_for_each (struct flow_turn *turn, uint32_t step);
// The value of a for_each that has finished, a new reference.
json_t *flow_collect_items (const struct flow_step *step, const struct flow_items *items);
// Whether the value of a step was collected from its items, not set by an operator.
bool flow_value_is_collected (const struct flow_run *run, uint32_t step);
// Handle a signal or a rejection: store it, and end its step if it was the last one needed.
void flow_handle_signal (struct flow_turn *turn, const struct flow_event *event);
// End the step if a signal rejects it, or enough signals have arrived. Returns whether it has
// ended.
bool flow_end_if_signalled (struct flow_turn *turn, uint32_t step);
// Finish a step with this value, which is taken over; NULL: fail the step with the reason.
void flow_end_with_value (struct flow_turn *turn, uint32_t step, json_t *value,
                          const struct reason *reason);
// End a wait with its value.
void flow_end_wait (struct flow_turn *turn, uint32_t step);
// Handle FLOW_TIMER_DUE: a wait, a signal's timeout or a call's total_timeout has expired.
void flow_handle_timer (struct flow_turn *turn, const struct flow_event *event);

// A call is no longer in flight: release its slot and remove its timer. Returns whether its
// total_timeout had expired.
bool flow_release_call_slot (struct flow_turn *turn, uint32_t step, int64_t item);

// The next item of a for_each to start; items->count: there is none. If more items have failed than
// is tolerated, only those that a retry named are started.
uint32_t flow_next_item (const struct flow_step *step, struct flow_items *items);

// Request the cancel of the calls of a step; a wait ends at once.
void flow_stop_step (struct flow_turn *turn, uint32_t step);
// Request the cancel of the call of an item, if it is in flight.
void flow_stop_item (struct flow_turn *turn, uint32_t step, uint32_t item);
// Cancel all steps that have begun and not ended.
void flow_stop_all_steps (struct flow_turn *turn);

// Advance the run phase by phase while nothing is in flight or due: undos, `finally`, end.
void flow_advance_phases (struct flow_turn *turn);
// List the undos of a run, in reverse order of ends.
void flow_list_undos (const struct flow *flow, struct flow_run *run);
// Begin to undo a run that has ended. Its outcome does not change, and `finally` does not run
// again.
void flow_undo_run (struct flow_turn *turn);
// Handle the end of the undo in flight: continue with the next one, or park it if it failed.
void flow_handle_undo_end (struct flow_turn *turn, const struct flow_event *event);

// The names of the steps with a failure that nothing handles, a new list.
json_t *flow_uncaught_steps (const struct flow *flow, const struct flow_run *run);

// -- retries and skips: flow_retry_skip.c

// Handle FLOW_RETRY: reset the named or failed steps and all later ones.
void flow_retry_steps (struct flow_turn *turn, const struct flow_event *event);
// Handle FLOW_SKIP: an operator skips a step or an item.
void flow_skip_step (struct flow_turn *turn, const struct flow_event *event);
// Reset a step, so that it runs again: none of its calls may be in flight, and its end must not be
// counted at its targets.
void flow_reset_step (struct flow_turn *turn, uint32_t step);

// -- values: flow_scope.c

struct flow_scope {
    const struct flow *flow;
    const struct flow_run *run;
    uint32_t step; // UINT32_MAX: the scope of the flow
    int64_t item;
    struct flow_value *lets;
    size_t let_count;
    json_t *result, *self; // the values of `result` and `self`; borrowed
    json_t *created;       // values created for references, owned
    uint32_t steps;
};

// The scope of a step or item (-1: no item), for flow_scope_clear.
struct flow_scope flow_scope_of (const struct flow_turn *turn, uint32_t step, int64_t item);
// Free what the scope owns, and count its steps in the effects.
void flow_scope_clear (struct flow_scope *self, struct flow_turn *turn);
// The environment of expressions in the scope, which it borrows.
struct expr_env flow_scope_env (struct flow_scope *self);
// Evaluate an expression; the caller frees ret->json. A time is not converted to JSON. False:
// failed, with the reason.
bool flow_scope_evaluate (struct flow_scope *self, const struct expr *expr, struct flow_value *ret,
                          struct reason *reason);
// Evaluate the lets of the step into the scope. False: failed, with the reason.
bool flow_scope_evaluate_lets (struct flow_scope *self, struct reason *reason);
// Evaluate the params that have no value yet: flow_params.c. False: failed, with the reason.
bool flow_evaluate_params (struct flow_turn *turn, const struct flow_event *event,
                           struct reason *reason);

// Evaluate a condition. Returns 1: true, 0: false, -1: failed, with the reason.
int flow_scope_test_condition (struct flow_scope *self, const struct expr *expr,
                               struct reason *reason);

// Append an effect; it takes over the frames.
void flow_add_effect (struct flow_turn *turn, struct flow_effect effect);
// Set the error of the run to a copy of the text.
void flow_set_run_error (struct flow_run *run, const char *text);
