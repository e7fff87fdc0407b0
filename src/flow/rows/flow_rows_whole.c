// Validates a run that was read as a whole, so that the engine can continue it, and computes what
// is not stored.

#include "flow_rows_private.h"
#include "flow_turn.h"

// Return why a node is not valid; NULL: it is valid.
static const char *node_fault (const struct flow *flow, const struct flow_run *run, uint32_t index)
{
    enum {
        KNOWN = FLOW_BLOCKED | FLOW_BY_PERSON | FLOW_JOINED | FLOW_PLACED | FLOW_END_COUNTED |
                FLOW_STOPPING | FLOW_RESETTING | FLOW_RESET_UNFINISHED | FLOW_READY |
                FLOW_DISPATCHED | FLOW_RETRIED | FLOW_RESET_EVALUATION | FLOW_STARTED |
                FLOW_RAISE_GENERATION
    };
    const struct flow_step *step = &flow->steps[index];
    const struct flow_node *node = &run->nodes[index];
    const struct flow_items *items = flow_items_of (run, index);
    bool ready = node->flags & FLOW_READY, decided = flow_node_is_decided (node),
         placed = node->flags & FLOW_PLACED || (items && items->in_flight > 0),
         waits = flow_step_waits (flow, run, index);
    if (node->state > FLOW_CANCELLED || node->timer > FLOW_TIMER_OVER || node->flags & ~KNOWN)
        return "unknown state or flags";
    if (node->timer && !(node->flags & FLOW_PLACED))
        return "a timer, and it is not in flight";
    if (node->ended > run->sequence)
        return "ended after the last end";
    if (decided ? placed || ready || waits : node->flags & FLOW_END_COUNTED)
        return "both ended and not ended";
    if (node->flags & FLOW_BLOCKED && node->state != FLOW_NONE)
        return "both blocked and not blocked";
    if (node->flags & FLOW_PLACED &&
        (step->kind != FLOW_CALL || step->for_each || node->state != FLOW_NEW))
        return "in flight, and is no call";
    if (ready && node->state != FLOW_NEW && !(node->state == FLOW_RUNNING && items))
        return "ready, and has started";
    if (node->flags & FLOW_RESETTING && !placed)
        return "to be reset, and nothing of it is in flight";
    if (!decided && (node->flags & FLOW_JOINED || node->state != FLOW_NONE) && !ready && !placed &&
        !waits)
        return "begun, and nothing of it is in flight";
    return NULL;
}

// Compute what is not stored about a step, and check that its parts match. False: not valid, with
// the reason.
static bool complete_step (const struct flow *flow, struct flow_run *run, uint32_t index,
                           struct reason *reason)
{
    const struct flow_step *step = &flow->steps[index];
    const struct flow_node *node = &run->nodes[index];
    const char *fault = node_fault (flow, run, index);
    if (!fault && node->state == FLOW_RUNNING && step->kind != FLOW_CALL)
        flow_data_of (run, index);
    struct flow_data *data = run->data[index];
    struct flow_items *items = flow_items_of (run, index);
    for (uint32_t i = 0; items && i < items->count; i++)
        if (items->item[i].ended > run->sequence)
            fault = "an item ended after the last end";
    for (size_t i = 0; data && i < json_array_size (data->signals); i++)
        if (!json_is_object (json_array_get (data->signals, i)))
            fault = "a signal is missing";
    if (fault) {
        reason_set (reason, "node of step %s: %s", step->name, fault);
        return false;
    }
    run->in_flight += !!(node->flags & FLOW_PLACED) + (items ? items->in_flight : 0);
    run->waiting += node->state == FLOW_RUNNING && step->kind != FLOW_CALL;
    run->resetting += !!(node->flags & FLOW_RESETTING);
    if (!data)
        return true;
    data->signals_written = (uint32_t)json_array_size (data->signals);
    run->waiting_signals += data->signals_written;
    run->signals_size += flow_signals_size (data);
    if (flow_value_is_collected (run, index)) {
        json_decref (data->value);
        data->value = flow_collect_items (step, items);
    } else {
        run->data_size += flow_json_size (data->value);
    }
    for (uint32_t i = 0; items && i < items->count; i++)
        run->data_size += flow_json_size (items->item[i].value);
    return true;
}

static bool complete_undo (const struct flow *flow, struct flow_run *run, bool placed,
                           struct reason *reason)
{
    bool undoing = run->phase == FLOW_UNDOING, parked = undoing && run->undo_parked;
    size_t at = run->undo_at;
    if (undoing)
        flow_list_undos (flow, run);
    run->undo_at = at;
    run->in_flight += placed;
    if (at > run->undo_count || ((placed || parked) && at == run->undo_count) ||
        (placed && (!undoing || parked))) {
        reason_set (reason, "run.state: no such undo");
        return false;
    }
    return true;
}

bool flow_rows_complete (const struct flow *flow, struct flow_run *run, bool undo_placed,
                         struct reason *reason)
{
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (!complete_step (flow, run, i, reason))
            return false;
    bool open = run->phase == FLOW_ACTIVE || run->phase == FLOW_FINAL;
    flow_rebuild_ready (flow, run);
    if (!open && (run->in_flight || run->waiting || !flow_heap_empty (run->ready))) {
        reason_set (reason, "run.state: %s, and steps are in flight", flow_phase_names[run->phase]);
        return false;
    }
    const struct flow_node *last = flow->final < 0 ? NULL : &run->nodes[flow->final];
    if (run->phase == FLOW_FINAL && (!last || last->flags & FLOW_RESETTING ||
                                     !(flow_node_is_decided (last) || last->flags & FLOW_JOINED))) {
        reason_set (reason, "run.state: final, and its last step was not begun");
        return false;
    }
    flow_count_edges (flow, run);
    if (open)
        flow_rebuild_todo (flow, run);
    return complete_undo (flow, run, undo_placed, reason);
}
