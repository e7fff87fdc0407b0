// Retries of steps, and skips by an operator.
#include <stdlib.h>

#include "flow_turn.h"
#include "flow_why.h"
#include "memory.h"

// Reopen a run that has ended, or is in its last phases.
static void reopen_run (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    run->phase = FLOW_ACTIVE;
    run->outcome = FLOW_OPEN;
    run->stop = run->fast = run->forced = run->undo_parked = false;
    json_decref (run->output);
    json_decref (run->uncaught);
    free (run->error);
    run->output = run->uncaught = NULL;
    run->error = NULL;
    run->touched_fields |= FLOW_TOUCHED_OUTPUT | FLOW_TOUCHED_UNCAUGHT | FLOW_TOUCHED_ERROR;
    flow_rebuild_todo (turn->flow, run);
    turn->effects->run_changed = true;
}

// Whether a reset of its step keeps an item and its state.
static bool reset_keeps_item (const struct flow_node *node, const struct flow_items *items,
                              const struct flow_item *item)
{
    if (!(node->flags & FLOW_RESET_UNFINISHED) || item->named)
        return false;
    return items->by_name || item->state == FLOW_FINISHED || item->state == FLOW_SKIPPED;
}

static void reset_items (struct flow_run *run, uint32_t index)
{
    struct flow_node *node = &run->nodes[index];
    struct flow_items *items = run->data[index]->items;
    bool fresh = node->flags & FLOW_RESET_EVALUATION && !(node->flags & FLOW_RESET_UNFINISHED);
    unsigned generation = node->generation;
    items->next = items->passes = items->failed = items->finished = 0;
    for (uint32_t i = 0; i < items->count; i++) {
        struct flow_item *item = &items->item[i];
        bool done = item->state == FLOW_FINISHED || item->state == FLOW_SKIPPED;
        if (item->stopping)
            flow_mark_item (run, index, i, FLOW_TOUCHED_STATE);
        item->stopping = false;
        if (reset_keeps_item (node, items, item)) {
            items->finished += done;
            items->failed += !done && item->state != FLOW_NONE;
            continue;
        }
        if (item->state == FLOW_FINISHED || node->flags & FLOW_RAISE_GENERATION)
            item->generation++;
        if (item->generation >= generation)
            generation = item->generation;
        flow_mark_item (run, index, i, FLOW_TOUCHED_STATE | FLOW_TOUCHED_ENTRY);
        item->state = FLOW_NONE;
        item->dispatched = false;
        item->named = item->named && items->by_name && node->flags & FLOW_RESET_UNFINISHED;
        flow_set_item_error (run, index, i, NULL);
        flow_store_value (run, &item->value, NULL, 0);
    }
    items->by_name = false;
    if (fresh) {
        flow_items_free (run, index);
        node->generation = (uint16_t)generation;
    }
}

void flow_reset_step (struct flow_turn *turn, uint32_t index)
{
    struct flow_run *run = turn->run;
    struct flow_node *node = &run->nodes[index];
    struct flow_data *data = run->data[index];
    if (node->flags & FLOW_RESETTING)
        run->resetting--;
    if (data) {
        if (node->flags & FLOW_RESET_EVALUATION)
            data->at = 0;
        flow_clear_data (run, index);
    }
    if (flow_items_of (run, index))
        reset_items (run, index);
    else if (node->state == FLOW_FINISHED || node->flags & FLOW_RAISE_GENERATION)
        node->generation++;
    bool retries_inner = turn->flow->steps[index].call.is_flow && node->state == FLOW_FAILED &&
                         node->flags & FLOW_DISPATCHED && node->flags & FLOW_RESET_UNFINISHED;
    node->state = FLOW_NONE;
    node->flags = (uint16_t)(retries_inner ? FLOW_RETRIED : 0) |
                  (node->flags & (FLOW_CHANGED | FLOW_TOUCHED));
    node->ended = 0;
    flow_add_changed_step (turn, index);
    flow_heap_push (run->todo, FLOW_LANE_JOINS, index);
}

// Cancel the calls of a step, and reset the step once none of them is in flight.
static void reset_once_idle (struct flow_turn *turn, uint32_t index, unsigned flags)
{
    struct flow_run *run = turn->run;
    struct flow_node *node = &run->nodes[index];
    const struct flow_items *items = flow_items_of (run, index);
    flow_retract_end (turn, index);
    flow_mark_row (run, index);
    node->flags &=
        (uint16_t) ~(FLOW_RESET_UNFINISHED | FLOW_RESET_EVALUATION | FLOW_RAISE_GENERATION);
    node->flags |= (uint16_t)flags;
    bool by_name = flags & FLOW_RESET_UNFINISHED && items && items->by_name;
    for (uint32_t i = 0; by_name && i < items->count; i++)
        if (items->item[i].named)
            flow_stop_item (turn, index, i);
    if (!by_name && !flow_node_is_decided (node))
        flow_stop_step (turn, index);
    if (node->flags & FLOW_PLACED || (items && items->in_flight > 0)) {
        if (!(node->flags & FLOW_RESETTING))
            run->resetting++;
        node->flags |= FLOW_RESETTING;
    } else {
        flow_reset_step (turn, index);
    }
}

// Marks of steps that a retry resets: it begins with roots, and resets all steps after them.
enum { ROOT = 1, DOWNSTREAM = 2 };

// The steps of a retry that names none: those that failed uncaught, or that a cancel, a timeout or
// fail_fast cancelled.
static json_t *default_roots (const struct flow *flow, const struct flow_run *run)
{
    json_t *names = flow_uncaught_steps (flow, run);
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (run->nodes[i].state == FLOW_CANCELLED && !(run->nodes[i].flags & FLOW_BY_PERSON))
            json_array_append_new (names, json_string (flow->steps[i].name));
    return names;
}

// Parse the name STEP or STEP.ITEM. False: there is no such step or item.
static bool find_named_root (const struct flow_turn *turn, const char *text, uint32_t *ret_step,
                             int64_t *ret_item)
{
    char name[FLOW_NAME_MAX + 1], *end;
    const char *dot = strchr (text, '.');
    size_t size = dot ? (size_t)(dot - text) : strlen (text);
    if (size > FLOW_NAME_MAX)
        return false;
    snprintf (name, sizeof name, "%.*s", (int)size, text);
    int64_t step = flow_find (turn->flow, name);
    if (step < 0)
        return false;
    *ret_step = (uint32_t)step;
    *ret_item = -1;
    if (!dot)
        return true;
    unsigned long item = dot[1] >= '0' && dot[1] <= '9' ? strtoul (dot + 1, &end, 10) : 0;
    if (dot[1] < '0' || dot[1] > '9' || *end || item > FLOW_ITEMS_MAX)
        return false;
    *ret_item = (int64_t)item;
    return flow_item_of (turn->run, *ret_step, *ret_item);
}

// Mark the steps that a retry begins with. False: rejected, with the reason.
static bool mark_roots (struct flow_turn *turn, const struct flow_event *event, uint8_t *marks)
{
    struct reason *reason = &turn->effects->rejected;
    size_t index;
    uint32_t step;
    int64_t item;
    json_t *value;
    json_t *names =
        event->steps ? json_incref ((json_t *)event->steps) : default_roots (turn->flow, turn->run);
    json_array_foreach (names, index, value)
    {
        const char *text = json_string_value (value);
        if (!find_named_root (turn, text ? text : "", &step, &item)) {
            reason_set (reason, "no such step: %s", quoted (span_text (text ? text : "")));
            break;
        }
        if (marks[step] != DOWNSTREAM)
            marks[step] = ROOT;
    }
    if (!json_array_size (names) &&
        !(event->former && memchr (marks, DOWNSTREAM, turn->flow->step_count)))
        reason_set (reason, "nothing has failed: name the steps to retry");
    json_decref (names);
    return !reason->text[0];
}

// Mark the items that a retry names. If it also names their step, all its failed items restart.
static void mark_named_items (struct flow_turn *turn, const struct flow_event *event)
{
    size_t index;
    uint32_t step;
    int64_t item;
    json_t *value;
    for (int whole = 0; whole < 2; whole++)
        json_array_foreach (event->steps, index, value)
        {
            find_named_root (turn, json_string_value (value), &step, &item);
            struct flow_items *items = flow_items_of (turn->run, step);
            if (!items || (item < 0) != whole)
                continue;
            for (uint32_t i = 0; !whole && !items->by_name && i < items->count; i++)
                if (items->item[i]
                        .named) { // named by an earlier retry, but cancelled before it ran
                    items->item[i].named = false;
                    flow_mark_item (turn->run, step, i, FLOW_TOUCHED_STATE);
                }
            items->by_name = !whole;
            if (whole) {
                flow_mark_row (turn->run, step);
                continue;
            }
            items->item[item].named = true;
            flow_mark_item (turn->run, step, (uint32_t)item, FLOW_TOUCHED_STATE);
        }
}

static void mark_downstream (const struct flow *flow, uint8_t *marks)
{
    if (flow->final >= 0)
        marks[flow->final] = DOWNSTREAM;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[flow->order[i]];
        for (uint32_t j = 0; marks[flow->order[i]] && j < step->out_count; j++)
            marks[flow->out[step->out_first + j].step] = DOWNSTREAM;
    }
}

// Whether all roots can start. Rejects those that are blocked or were skipped by sources that the
// retry does not reset.
static bool roots_can_start (struct flow_turn *turn, const uint8_t *marks)
{
    struct reason *reason = &turn->effects->rejected;
    char why[REASON_MAX];
    for (uint32_t i = 0; i < turn->flow->step_count; i++) {
        const struct flow_node *node = &turn->run->nodes[i];
        const char *name = turn->flow->steps[i].name;
        if (marks[i] != ROOT)
            continue;
        if (node->flags & FLOW_BLOCKED) {
            flow_why_blocked (turn->flow, turn->run, i, why, sizeof why);
            reason_set (reason, "%s is blocked, and cannot run: %.200s", name, why);
        } else if (node->state == FLOW_SKIPPED && !(node->flags & (FLOW_JOINED | FLOW_BY_PERSON))) {
            reason_set (reason, "%s was skipped by rule, and cannot run: no edge to it is live",
                        name);
        }
    }
    return !reason->text[0];
}

// -- another version: it must have the same steps in the same order, with the same edges

static bool is_same_step (const struct flow *flow, const struct flow *former, uint32_t index)
{
    const struct flow_step *step = &flow->steps[index], *old = &former->steps[index];
    bool same = strcmp (step->name, old->name) == 0 && step->kind == old->kind &&
                !step->for_each == !old->for_each && step->in_count == old->in_count;
    for (uint32_t i = 0; same && i < step->in_count; i++) {
        const struct flow_edge *edge = &flow->in[step->in_first + i],
                               *old_edge = &former->in[old->in_first + i];
        same = edge->step == old_edge->step && edge->on == old_edge->on;
    }
    return same;
}

// Whether the flow of this call has the same steps and edges as the former one. If not, the event
// is rejected.
static bool check_same_graph (struct flow_turn *turn, const struct flow *former)
{
    const struct flow *flow = turn->flow;
    bool same = flow->step_count == former->step_count && flow->final == former->final;
    for (uint32_t i = 0; same && i < flow->step_count; i++)
        same = is_same_step (flow, former, i);
    if (!same)
        reason_set (&turn->effects->rejected,
                    "the version has other steps, kinds of steps or edges");
    return same;
}

// Evaluate the params for a retry. Recorded ones are kept unless the retry is fresh. False: the
// retry is rejected, and nothing has changed.
static bool reevaluate_params (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    const struct flow *flow = turn->flow, *former = event->former ? event->former : flow;
    struct flow_value *old = run->params;
    run->params = memory_new ((flow->param_count + 1) * sizeof *run->params);
    for (size_t i = 0; i < flow->param_count && !event->fresh; i++)
        for (size_t j = 0; j < former->param_count; j++)
            if (strcmp (flow->params[i].name, former->params[j].name) == 0) {
                run->params[i] = old[j];
                json_incref (old[j].json);
            }
    const struct flow_event begin = {.value = run->input, .params = event->params};
    bool ok = flow_evaluate_params (turn, &begin, &turn->effects->rejected);
    struct flow_value *unused = ok ? old : run->params;
    size_t count = ok ? former->param_count : flow->param_count;
    for (size_t i = 0; i < count; i++)
        json_decref (unused[i].json);
    free (unused);
    if (!ok)
        run->params = old;
    run->touched_fields |= FLOW_TOUCHED_PARAMS;
    if (ok && event->former) {
        run->version = event->version;
        if (flow->has_own_parallel || former->has_own_parallel)
            run->parallel = flow->parallel;
    }
    return ok;
}

// -- retries

void flow_retry_steps (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    const struct flow *flow = turn->flow;
    unsigned fresh =
        (event->fresh ? FLOW_RESET_EVALUATION : 0) | (event->restart ? FLOW_RAISE_GENERATION : 0);
    if (run->phase == FLOW_UNDOING || (run->undone && !event->restart)) {
        reason_set (&turn->effects->rejected, run->phase == FLOW_UNDOING
                                                  ? "the run is being undone"
                                                  : "the run was undone: restart is left");
        return;
    }
    uint8_t *marks = memory_new (flow->step_count + 1);
    bool fits = !event->former || check_same_graph (turn, event->former);
    for (uint32_t i = 0; fits && i < flow->step_count; i++)
        if (event->restart || // with another version, steps whose text differs restart
            (event->former && !json_equal (flow->steps[i].json, event->former->steps[i].json)))
            marks[i] = DOWNSTREAM;
    fits = fits && (event->restart || mark_roots (turn, event, marks));
    mark_downstream (flow, marks);
    if (fits && roots_can_start (turn, marks) &&
        (!(event->former || event->fresh) || reevaluate_params (turn, event))) {
        reopen_run (turn);
        if (!event->restart)
            mark_named_items (turn, event);
        run->undone = run->undone && !event->restart;
        // The ends were counted with the edges of the former definition.
        struct flow_turn old = *turn;
        old.flow = event->former ? event->former : flow;
        for (uint32_t i = 0; i < flow->step_count; i++)
            if (marks[i])
                flow_retract_end (&old, i);
        for (uint32_t i = 0; i < flow->step_count; i++)
            if (marks[i])
                reset_once_idle (turn, i, (marks[i] == ROOT ? FLOW_RESET_UNFINISHED : 0) | fresh);
        flow_rebuild_ready (turn->flow, run);
    }
    free (marks);
}

// Revoke what was decided about the steps after a skipped one, as far as they have not started, and
// queue them again.
static void redecide_downstream (struct flow_turn *turn, uint32_t index)
{
    struct flow_run *run = turn->run;
    const struct flow *flow = turn->flow;
    uint8_t *marks = memory_new (flow->step_count + 1);
    marks[index] = 1;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        uint32_t at = flow->order[i];
        const struct flow_step *step = &flow->steps[at];
        struct flow_node *node = &run->nodes[at];
        bool skipped_by_rule =
            node->state == FLOW_SKIPPED && !(node->flags & (FLOW_BY_PERSON | FLOW_STARTED));
        bool open = node->state == FLOW_NONE && !(node->flags & FLOW_RESETTING);
        if (!marks[at] || (at != index && !skipped_by_rule && !open))
            continue;
        if (at != index && (skipped_by_rule || node->flags & FLOW_BLOCKED)) {
            flow_retract_end (turn, at);
            node->flags |= FLOW_RESET_UNFINISHED; // skipped items stay skipped
            flow_reset_step (turn, at);
        }
        for (uint32_t j = 0; j < step->out_count; j++)
            marks[flow->out[step->out_first + j].step] = 1;
    }
    free (marks);
}

// Reopen a run after a skip: the steps that the skip lets start run first, then `finally` once
// more.
static void reopen_for_skip (struct flow_turn *turn, uint32_t index)
{
    int64_t final = turn->flow->final;
    bool final_over = final >= 0 && turn->run->phase != FLOW_ACTIVE && index != (uint32_t) final;
    if (turn->run->phase == FLOW_ENDED || turn->run->phase == FLOW_FINAL)
        reopen_run (turn);
    if (final_over)
        reset_once_idle (turn, (uint32_t) final, 0);
}

static void skip_item (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    struct flow_node *node = &run->nodes[event->step];
    struct flow_items *items = flow_items_of (run, event->step);
    struct flow_item *item = flow_item_of (run, event->step, event->item);
    if (!item || item->state == FLOW_FINISHED || item->state == FLOW_SKIPPED ||
        node->state == FLOW_FINISHED || node->state == FLOW_SKIPPED) {
        reason_set (&turn->effects->rejected, "%s",
                    item ? "the item or its step has finished" : "no such item");
        return;
    }
    if (item->state == FLOW_NEW) {
        flow_add_effect (turn, (struct flow_effect){
                                   .kind = FLOW_REMOVE, .step = event->step, .item = event->item});
        items->in_flight--;
        flow_release_call_slot (turn, event->step, event->item);
    } else if (item->state != FLOW_NONE) {
        items->failed--;
    }
    flow_mark_item (run, event->step, (uint32_t)event->item,
                    FLOW_TOUCHED_STATE | FLOW_TOUCHED_ENTRY);
    flow_set_item_error (run, event->step, (uint32_t)event->item, NULL);
    item->state = FLOW_SKIPPED;
    item->named = false;
    item->ended = ++run->sequence;
    items->finished++;
    flow_store_value (run, &item->value, event->value ? json_incref (event->value) : NULL,
                      FLOW_VALUE_MAX);
    if (!(node->flags &
          FLOW_JOINED)) // the step continues with its other items once its join passes
        return;
    reopen_for_skip (turn, event->step);
    if (flow_node_is_decided (node)) {
        flow_retract_end (turn, event->step);
        redecide_downstream (turn, event->step);
        node->flags &= (uint16_t)~FLOW_BY_PERSON;
        flow_set_step_error (run, event->step,
                             NULL); // its text has the former count of failed items
    }
    node->state = FLOW_RUNNING;
    flow_add_changed_step (turn, event->step);
    flow_continue_for_each (turn, event->step);
}

void flow_skip_step (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    struct flow_node *node = &run->nodes[event->step];
    struct flow_data *data = flow_data_of (run, event->step);
    struct reason *reason = &turn->effects->rejected;
    if (run->phase == FLOW_UNDOING || run->undone)
        reason_set (reason, "the run was undone");
    else if (event->item < 0 && (node->state == FLOW_FINISHED || node->state == FLOW_SKIPPED))
        reason_set (reason, "%s is %s", turn->flow->steps[event->step].name,
                    flow_state_name (node->state));
    else if (node->flags & FLOW_RESETTING ||
             (event->item < 0 && data->items && data->items->in_flight))
        reason_set (reason, "%s is running: cancel it first", turn->flow->steps[event->step].name);
    if (reason->text[0])
        return;
    if (event->item >= 0) {
        skip_item (turn, event);
        return;
    }
    if (!flow_node_is_decided (node)) {
        flow_stop_step (turn, event->step);
        if (node->flags & FLOW_PLACED)
            flow_release_call_slot (turn, event->step, -1);
    }
    reopen_for_skip (turn, event->step);
    flow_retract_end (turn, event->step);
    redecide_downstream (turn, event->step);
    flow_set_step_error (run, event->step, NULL);
    node->flags &= (uint16_t)~FLOW_BLOCKED;
    node->flags |= FLOW_BY_PERSON;
    flow_store_value (run, &data->value, event->value ? json_incref (event->value) : NULL,
                      FLOW_VALUE_MAX);
    flow_mark_data (run, event->step, FLOW_TOUCHED_ENTRY);
    flow_end_step (turn, event->step, FLOW_SKIPPED, NULL);
    flow_rebuild_ready (turn->flow, run);
}
