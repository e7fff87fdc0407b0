// Starts of ready steps: calls while there are free slots, all others at once.
#include "flow_turn.h"
#include "rfc3339.h"

#define WAIT_MAX INT64_C (10000000000) // maximum seconds of a wait that an expression computes

// The lane of a ready step in run.ready. A for_each needs a free slot only if its list is known and
// items are left.
static enum flow_lane ready_lane (const struct flow *flow, const struct flow_run *run,
                                  uint32_t index)
{
    const struct flow_step *step = &flow->steps[index];
    const struct flow_items *items = flow_items_of (run, index);
    if (step->kind != FLOW_CALL || (step->for_each && !items))
        return FLOW_LANE_FREE;
    return items && items->finished + items->failed == items->count ? FLOW_LANE_FREE
                                                                    : FLOW_LANE_CALLS;
}

static uint32_t passes_of_step (const struct flow_run *run, uint32_t index)
{
    const struct flow_items *items = flow_items_of (run, index);
    return items ? items->passes : 0;
}

static void push_ready (const struct flow *flow, struct flow_run *run, uint32_t index)
{
    flow_heap_push (run->ready, ready_lane (flow, run, index),
                    (uint64_t)passes_of_step (run, index) << 32 | index);
}

void flow_queue_ready (struct flow_turn *turn, uint32_t index)
{
    struct flow_node *node = &turn->run->nodes[index];
    if (node->flags & FLOW_READY)
        return;
    node->flags |= FLOW_READY;
    flow_mark_row (turn->run, index);
    push_ready (turn->flow, turn->run, index);
}

void flow_rebuild_ready (const struct flow *flow, struct flow_run *run)
{
    flow_heap_clear (run->ready);
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (run->nodes[i].flags & FLOW_READY)
            push_ready (flow, run, i);
}

// Replace a JSON scalar by its text. NULL, or the name of a type that has no text.
static const char *convert_to_text (json_t **slot)
{
    struct expr_value value = expr_of_json (*slot);
    char buffer[EXPR_SCALAR_SIZE];
    struct span text;
    if (!expr_text (&value, buffer, &text))
        return expr_type_name (value.type);
    if (value.type != EXPR_STRING) {
        json_decref (*slot);
        *slot = json_stringn ((const char *)text.data, text.size);
    }
    return NULL;
}

// Convert numbers, booleans and times to texts in all frames except JSON. False: a value has no
// text, with the reason.
static bool convert_frames (json_t *frames, struct reason *reason)
{
    static const char *const names[] = {"command", "text"};
    json_t *args = json_object_get (frames, "args");
    const char *bad_type = NULL;
    for (size_t i = 0; i < json_array_size (args) && !bad_type; i++) {
        json_t *arg = json_incref (json_array_get (args, i));
        if ((bad_type = convert_to_text (&arg)))
            reason_set (reason, "args[%zu]: no text of %s", i, bad_type);
        json_array_set_new (args, i, arg);
    }
    for (size_t i = 0; i < 2 && !bad_type; i++) {
        json_t *value = json_incref (json_object_get (frames, names[i]));
        if (value && (bad_type = convert_to_text (&value)))
            reason_set (reason, "%s: no text of %s", names[i], bad_type);
        json_object_set_new (frames, names[i], value); // NULL: there is none
    }
    return !bad_type;
}

// Evaluate the frames of a call, a new reference. NULL: failed, with the reason.
static json_t *evaluate_frames (struct flow_scope *scope, const struct flow_call *call,
                                struct reason *reason)
{
    struct expr_env env = flow_scope_env (scope);
    json_t *evaluated =
        flow_template_evaluate (call->frames, "", &env, FLOW_VALUE_LIST_MAX, reason);
    if (!evaluated)
        return NULL;
    // A copy, as parts without expressions are shared with the definition.
    json_t *frames = json_copy (evaluated);
    json_object_set_new (frames, "args", json_copy (json_object_get (evaluated, "args")));
    json_decref (evaluated);
    bool fits = convert_frames (frames, reason);
    const json_t *input = json_object_get (frames, "json");
    if (fits && call->is_flow && input && !json_is_object (input)) {
        reason_set (reason, "json: must be an object, the input of the flow");
        fits = false;
    }
    if (!fits) {
        json_decref (frames);
        return NULL;
    }
    return frames;
}

// Place the call of a step or item; if its frames cannot be evaluated, fail it.
static void place_step_call (struct flow_turn *turn, uint32_t index, int64_t item)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &run->nodes[index];
    struct flow_items *items = item < 0 ? NULL : run->data[index]->items;
    struct flow_scope scope = flow_scope_of (turn, index, item);
    struct reason reason;
    json_t *frames = NULL;
    if (flow_scope_evaluate_lets (&scope, &reason))
        frames = evaluate_frames (&scope, &step->call, &reason);
    flow_scope_clear (&scope, turn);
    if (!frames && items) {
        items->item[item].state = FLOW_FAILED;
        items->item[item].ended = ++run->sequence;
        items->failed++;
        flow_mark_item (run, index, (uint32_t)item, FLOW_TOUCHED_STATE | FLOW_TOUCHED_ENTRY);
        flow_set_step_error (run, index, reason.text);
        flow_set_item_error (run, index, (uint32_t)item, reason.text);
        return;
    }
    if (!frames) {
        flow_end_step (turn, index, FLOW_FAILED, reason.text);
        return;
    }
    flow_add_effect (turn, (struct flow_effect){.kind = FLOW_PLACE,
                                                .step = index,
                                                .item = item,
                                                .generation = flow_generation_of (run, index, item),
                                                .inner = !!(node->flags & FLOW_RETRIED),
                                                .call = &step->call,
                                                .frames = frames});
    run->in_flight++;
    turn->effects->placed++;
    node->flags |= FLOW_DISPATCHED;
    if (items) {
        items->item[item].state = FLOW_NEW;
        items->item[item].dispatched = true;
        items->in_flight++;
        flow_mark_item (run, index, (uint32_t)item, FLOW_TOUCHED_STATE);
        node->state = FLOW_RUNNING;
    } else {
        node->flags |= FLOW_PLACED;
    }
    if (step->call.total_timeout_s) {
        *(items ? &items->item[item].timer : &node->timer) = FLOW_TIMER_SET;
        flow_add_effect (turn,
                         (struct flow_effect){.kind = FLOW_TIMER,
                                              .step = index,
                                              .item = item,
                                              .at = turn->now + step->call.total_timeout_s * 1000});
    }
    flow_add_changed_step (turn, index);
}

// Evaluate the list of a for_each and make its items.
static void start_for_each (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_scope scope = flow_scope_of (turn, index, -1);
    struct expr_env env = flow_scope_env (&scope);
    struct reason reason = {""};
    json_t *list =
        flow_template_evaluate (step->for_each, "for_each", &env, FLOW_VALUE_LIST_MAX, &reason);
    flow_scope_clear (&scope, turn);
    int64_t count = flow_item_count (list);
    if (list && count < 0)
        reason_set (&reason, "for_each: must be a list or a count");
    else if (count > step->max_items)
        reason_set (&reason, "for_each: %lld items, at most %u", (long long)count, step->max_items);
    if (reason.text[0]) {
        json_decref (list);
        flow_end_step (turn, index, FLOW_FAILED, reason.text);
        return;
    }
    struct flow_data *data = flow_data_of (turn->run, index);
    data->items = flow_items_new (list);
    flow_mark_data (turn->run, index, FLOW_TOUCHED_LIST);
    for (int64_t i = 0; i < count; i++)
        data->items->item[i].generation = turn->run->nodes[index].generation;
    if (count == 0)
        flow_continue_for_each (turn, index);
    else
        flow_queue_ready (turn, index);
}

// Run a step without a call: its value is its output, or its lets.
static void compute_step (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_scope scope = flow_scope_of (turn, index, -1);
    struct reason reason = {""};
    json_t *value = NULL;
    if (flow_scope_evaluate_lets (&scope, &reason)) {
        struct expr_env env = flow_scope_env (&scope);
        if (step->output) {
            value =
                flow_template_evaluate (step->output, "output", &env, FLOW_VALUE_LIST_MAX, &reason);
        } else {
            value = json_object ();
            for (size_t i = 0; i < step->let_count; i++)
                json_object_set_new_nocheck (value, step->lets[i].name,
                                             flow_value_json (&scope.lets[i]));
        }
    }
    flow_scope_clear (&scope, turn);
    if (value)
        flow_end_with_value (turn, index, value, NULL);
    else
        flow_end_step (turn, index, FLOW_FAILED, reason.text);
}

// The end of a wait, in ms; -1: failed, with the reason.
static int64_t wait_end_ms (struct flow_turn *turn, uint32_t index, struct reason *reason)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_scope scope = flow_scope_of (turn, index, -1);
    struct expr_env env = flow_scope_env (&scope);
    struct flow_value value = {.json = NULL};
    int64_t at = -1, instant;
    bool ok = flow_scope_evaluate_lets (&scope, reason) &&
              flow_template_evaluate_value (step->wait, "wait", &env, &value, reason);
    double seconds = json_is_number (value.json) ? json_number_value (value.json) : -1;
    flow_scope_clear (&scope, turn);
    if (value.is_time) {
        instant = turn->run->zone ? zone_instant (turn->run->zone, value.local) : value.local;
        at = instant < 0 ? 0 : instant * 1000;
    } else if (seconds >= 0 && seconds <= WAIT_MAX) {
        at = turn->now + (int64_t)(seconds * 1000);
    } else if (json_is_string (value.json)) {
        if (rfc3339_parse (span_text (json_string_value (value.json)), &instant, reason) == 0)
            at = instant * 1000;
    } else if (ok) {
        reason_set (reason, "wait: must be seconds from 0 to %lld, or a time", (long long)WAIT_MAX);
    }
    json_decref (value.json);
    return at;
}

// Start a wait or a signal step, with its timer.
static void start_wait (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_run *run = turn->run;
    struct flow_data *data = flow_data_of (run, index);
    struct reason reason = {""};
    flow_mark_data (run, index, FLOW_TOUCHED_ENTRY);
    if (step->kind == FLOW_WAIT && !data->at)
        data->at = wait_end_ms (turn, index, &reason);
    else if (step->kind == FLOW_SIGNAL)
        data->at = step->signal_timeout_s ? turn->now + step->signal_timeout_s * 1000 : 0;
    if (data->at < 0) {
        data->at = 0;
        flow_end_step (turn, index, FLOW_FAILED, reason.text);
        return;
    }
    if (step->kind == FLOW_WAIT && data->at <= turn->now) {
        flow_end_wait (turn, index);
        return;
    }
    run->nodes[index].state = FLOW_RUNNING;
    run->waiting++;
    flow_add_changed_step (turn, index);
    if (step->kind == FLOW_SIGNAL && flow_end_if_signalled (turn, index))
        return;
    if (data->at)
        flow_add_effect (turn, (struct flow_effect){
                                   .kind = FLOW_TIMER, .step = index, .item = -1, .at = data->at});
}

// Start a step that needs no free slot.
static void start_without_slot (struct flow_turn *turn, uint32_t index)
{
    switch (turn->flow->steps[index].kind) {
    case FLOW_CALL: // a for_each: evaluate its list, or end it if no item is left
        if (flow_items_of (turn->run, index))
            flow_continue_for_each (turn, index);
        else
            start_for_each (turn, index);
        break;
    case FLOW_COMPUTE:
        compute_step (turn, index);
        break;
    case FLOW_WAIT:
    case FLOW_SIGNAL:
        start_wait (turn, index);
        break;
    }
}

// Place the call of a step, or of the next item of a for_each.
static void start_next_call (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_items *items = step->for_each ? turn->run->data[index]->items : NULL;
    if (!items) {
        place_step_call (turn, index, -1);
        return;
    }
    uint32_t next = flow_next_item (step, items);
    if (next < items->count && (!step->parallel || items->in_flight < step->parallel)) {
        items->passes++;
        items->item[next].named = false;
        place_step_call (turn, index, next);
    }
    flow_continue_for_each (turn, index);
}

void flow_start_ready_steps (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    struct flow_effects *effects = turn->effects;
    uint64_t key;
    for (;;) {
        flow_make_decisions (turn);
        if (!flow_heap_empty (run->todo) || effects->placed >= FLOW_PLACED_MAX ||
            effects->decisions >= FLOW_DECISIONS_MAX || effects->steps >= FLOW_RUN_STEPS_MAX)
            break;
        if (run->suspended || run->phase == FLOW_UNDOING)
            return;
        bool slot = !run->parallel || run->in_flight < run->parallel;
        enum flow_lane lane = FLOW_LANE_FREE;
        if (!flow_heap_pop (run->ready, FLOW_LANE_FREE, &key)) {
            lane = FLOW_LANE_CALLS;
            if (!slot || !flow_heap_pop (run->ready, FLOW_LANE_CALLS, &key))
                return;
        }
        uint32_t index = (uint32_t)key;
        // A stale entry: the step is no longer ready, or is in the heap twice.
        if (!(run->nodes[index].flags & FLOW_READY) || passes_of_step (run, index) != key >> 32)
            continue;
        flow_mark_row (run, index);
        run->nodes[index].flags &= (uint16_t)~FLOW_READY;
        run->nodes[index].flags |= FLOW_STARTED;
        effects->decisions++;
        if (lane == FLOW_LANE_FREE)
            start_without_slot (turn, index);
        else
            start_next_call (turn, index);
    }
    effects->more = true;
}

void flow_place_undo (struct flow_turn *turn, const struct flow_undo *undo)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[undo->step];
    const struct flow_data *data = run->data[undo->step];
    const struct flow_item *item = flow_item_of (run, undo->step, undo->item);
    struct flow_scope scope = flow_scope_of (turn, undo->step, undo->item);
    struct reason reason = {""};
    json_t *frames = step->undo_inner ? json_object () : NULL;
    unsigned generation = flow_generation_of (run, undo->step, undo->item);
    scope.self = item ? item->value : data ? data->value : NULL;
    if (!frames && flow_scope_evaluate_lets (&scope, &reason))
        frames = evaluate_frames (&scope, &step->undo, &reason);
    flow_scope_clear (&scope, turn);
    run->undo_parked = turn->effects->parked = !frames;
    turn->effects->run_changed = true;
    if (!frames) {
        flow_set_run_error (run, reason.text);
        return;
    }
    flow_add_effect (turn,
                     (struct flow_effect){.kind = FLOW_PLACE,
                                          .step = undo->step,
                                          .item = undo->item,
                                          .generation = generation,
                                          .undo = true,
                                          .inner = step->undo_inner,
                                          .call = step->undo_inner ? &step->call : &step->undo,
                                          .frames = frames});
    run->in_flight++;
}
