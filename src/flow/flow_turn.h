// One call of flow_step, shared by the files of the engine.
#pragma once

#include "flow_heap.h"
#include "flow_run.h"

struct flow_turn {
    const struct flow *flow;
    struct flow_run *run;
    struct flow_effects *effects;
    int64_t now; // ms
};

// -- state

struct flow_data *flow_data_of (struct flow_run *run, uint32_t step);
void flow_add_changed_step (struct flow_turn *turn, uint32_t step);

// Mark the row of a node to be written; with these parts of its data; these parts of an item.
void flow_touch (struct flow_run *run, uint32_t step);
void flow_touch_data (struct flow_run *run, uint32_t step, unsigned what);
void flow_touch_item (struct flow_run *run, uint32_t step, uint32_t item, unsigned what);

// Set the error of a step to a copy of the text; NULL: none.
void flow_set_step_error (struct flow_run *run, uint32_t step, const char *text);
// The same for an item. flow_adopt_item_error takes over a text from malloc; NULL: the item has no
// error.
void flow_adopt_item_error (struct flow_run *run, struct flow_item *item, char *text);
void flow_set_item_error (struct flow_run *run, uint32_t step, uint32_t item, const char *text);
void flow_clear_data (struct flow_run *run, uint32_t step);
void flow_clear_signals (struct flow_run *run, uint32_t step);
struct flow_items *flow_items_new (uint32_t count);
void flow_items_free (struct flow_run *run, uint32_t step);

// Store a value and take over its reference; NULL: none. False: it was too large, and is dropped.
bool flow_store_value (struct flow_run *run, json_t **slot, json_t *value, size_t max);

// The size of a value as JSON, 0 for NULL; the size of the signals that a step has not taken.
size_t flow_json_size (const json_t *value);
size_t flow_signals_size (const struct flow_data *data);

static inline bool flow_node_is_decided (const struct flow_node *node)
{
    return node->state >= FLOW_FINISHED || node->flags & FLOW_BLOCKED;
}

// -- decisions: flow_decide.c

// The kind of an edge once its source is decided.
enum flow_edge_kind { FLOW_EDGE_LIVE, FLOW_EDGE_DEAD, FLOW_EDGE_BROKEN };
enum flow_edge_kind flow_edge_kind (const struct flow *flow, const struct flow_run *run,
                                    uint32_t source, uint8_t on);

// Whether the run continues after a failure of the step: by its on_error, or by the default of the
// run for steps without one.
bool flow_goes_on (const struct flow *flow, const struct flow_run *run, uint32_t step);

// End the step in this state; its targets are decided next.
void flow_end_step (struct flow_turn *turn, uint32_t step, enum flow_state state,
                    const char *error);

// Make the targets of a step no longer count its end.
void flow_uncount_end (struct flow_turn *turn, uint32_t step);

// Note that the join of a step must be decided.
void flow_queue_join (struct flow_turn *turn, uint32_t step);

// Make all decisions that are due, within the budget.
void flow_make_decisions (struct flow_turn *turn);

// Recompute from the nodes which decisions are due, and the counts of edges.
void flow_rebuild_todo (const struct flow *flow, struct flow_run *run);
void flow_count_edges (const struct flow *flow, struct flow_run *run);

// The join of a step has passed.
void flow_pass_join (struct flow_turn *turn, uint32_t step);

// -- starts: flow_start.c

void flow_make_ready (struct flow_turn *turn, uint32_t step);
void flow_rebuild_ready (const struct flow *flow, struct flow_run *run);
void flow_start_ready_steps (struct flow_turn *turn);

// Place the call of an undo.
void flow_place_undo (struct flow_turn *turn, const struct flow_undo *undo);

// -- ends: flow_items.c, flow_finish.c

void flow_handle_call_end (struct flow_turn *turn, const struct flow_event *event);
// Whether more items have failed than the step tolerates.
bool flow_exceeds_tolerance (const struct flow_step *step, const struct flow_items *items);
void flow_continue_for_each (struct flow_turn *turn, uint32_t step);
// The value of a for_each that has finished. flow_value_is_collected: whether the value of a step
// is that one, not one that an operator set.
json_t *flow_collect_items (const struct flow_step *step, const struct flow_items *items);
bool flow_value_is_collected (const struct flow_run *run, uint32_t step);
void flow_handle_signal (struct flow_turn *turn, const struct flow_event *event);
bool flow_end_if_signalled (struct flow_turn *turn, uint32_t step);
void flow_end_wait (struct flow_turn *turn, uint32_t step);
void flow_handle_timer (struct flow_turn *turn, const struct flow_event *event);

// A call is no longer in flight: stop its timer. True: its total_timeout ended it.
bool flow_release_call_slot (struct flow_turn *turn, uint32_t step, int64_t item);

// The next item of a for_each to start: if more have failed than is tolerated, only an item that a
// retry has named. items->count: there is none.
uint32_t flow_next_item (const struct flow_step *step, struct flow_items *items);

// Cancel what a step has in flight; waits end at once.
void flow_stop_step (struct flow_turn *turn, uint32_t step);
void flow_stop_item (struct flow_turn *turn, uint32_t step, uint32_t item);
void flow_stop_all_steps (struct flow_turn *turn);

// End the run, phase by phase, if there is nothing else to do.
void flow_advance_phases (struct flow_turn *turn);
void flow_list_undos (const struct flow *flow, struct flow_run *run);
void flow_undo_run (struct flow_turn *turn);
void flow_handle_undo_end (struct flow_turn *turn, const struct flow_event *event);

// Steps with a failure that nothing handles, as a list of names.
json_t *flow_uncaught_steps (const struct flow *flow, const struct flow_run *run);

// -- retries and skips: flow_retry_skip.c

void flow_retry_steps (struct flow_turn *turn, const struct flow_event *event);
void flow_skip_step (struct flow_turn *turn, const struct flow_event *event);
void flow_reset_step (struct flow_turn *turn, uint32_t step);

// -- another version: flow_version.c

// Whether the flow of this call has the same steps and edges as the former one; else reject it.
bool flow_same_steps_and_edges (struct flow_turn *turn, const struct flow *was);
bool flow_step_differs (const struct flow *flow, const struct flow *was, uint32_t step);

// Renew the params for a retry: recorded ones are kept unless it is fresh, new ones are evaluated.
// False: the retry is rejected, and nothing has changed.
bool flow_reevaluate_params (struct flow_turn *turn, const struct flow_event *event);

// -- values: flow_scope.c

struct flow_scope {
    const struct flow *flow;
    const struct flow_run *run;
    uint32_t step; // UINT32_MAX: the scope of the flow
    int64_t item;
    struct flow_value *lets;
    size_t let_count;
    json_t *result, *self; // borrowed
    json_t *made;          // values created for references; freed with the scope
    uint32_t steps;
};

struct flow_scope flow_scope_of (const struct flow_turn *turn, uint32_t step, int64_t item);
void flow_scope_clear (struct flow_scope *self, struct flow_turn *turn);
struct expr_env flow_scope_env (struct flow_scope *self);
// The value of an expression; a time is not converted to JSON.
bool flow_scope_evaluate (struct flow_scope *self, const struct expr *expr, struct flow_value *ret,
                          struct reason *reason);
bool flow_scope_evaluate_lets (struct flow_scope *self, struct reason *reason);
// Evaluate the params that have no value: flow_params.c.
bool flow_evaluate_params (struct flow_turn *turn, const struct flow_event *event,
                           struct reason *reason);

// Evaluate a condition: 1, 0, or -1 with a reason.
int flow_scope_test_condition (struct flow_scope *self, const struct expr *expr,
                               struct reason *reason);

const char *flow_outcome_name (enum flow_outcome outcome);

void flow_effect (struct flow_turn *turn, struct flow_effect effect);
void flow_set_run_error (struct flow_run *run, const char *text);
