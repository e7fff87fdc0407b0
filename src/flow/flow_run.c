#include "flow_run.h"

#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"

const char *flow_state_name (enum flow_state state)
{
    static const char *const names[] = {"none",   "new",     "running",  "finished",
                                        "failed", "skipped", "cancelled"};
    return names[state];
}

const char *const flow_outcome_names[] = {"running", "finished", "failed", "cancelled", "timeout"};

struct flow_run *flow_run_new (const struct flow *flow, const char *id)
{
    struct flow_run *run = memory_new (sizeof *run);
    run->id = id;
    run->version = 1;
    run->batch = INT64_MIN;
    run->parallel = flow->parallel;
    run->nodes = memory_new ((flow->step_count + 1) * sizeof *run->nodes);
    run->data = memory_new ((flow->step_count + 1) * sizeof *run->data);
    run->params = memory_new ((flow->param_count + 1) * sizeof *run->params);
    run->ready = flow_heap_new ();
    run->todo = flow_heap_new ();
    return run;
}

struct flow_data *flow_data_of (struct flow_run *run, uint32_t step)
{
    if (!run->data[step])
        run->data[step] = memory_new (sizeof *run->data[step]);
    return run->data[step];
}

size_t flow_json_size (const json_t *value)
{
    return value ? json_dumpb (value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) : 0;
}

bool flow_store_value (struct flow_run *run, json_t **slot, json_t *value, size_t max)
{
    size_t size = flow_json_size (value);
    run->data_size -= flow_json_size (*slot);
    json_decref (*slot);
    *slot = NULL;
    if (value && size > max) {
        json_decref (value);
        return false;
    }
    *slot = value;
    run->data_size += size;
    return true;
}

bool flow_value_is_collected (const struct flow_run *run, uint32_t step)
{
    return run->data[step]->items && run->nodes[step].state == FLOW_FINISHED;
}

int64_t flow_item_count (const json_t *list)
{
    return json_is_array (list)     ? (int64_t)json_array_size (list)
           : json_is_integer (list) ? json_integer_value (list)
                                    : -1;
}

struct flow_items *flow_items_new (json_t *list)
{
    uint32_t count = (uint32_t)flow_item_count (list);
    struct flow_items *items = memory_new (sizeof *items + count * sizeof *items->item);
    items->count = count;
    if (json_is_array (list))
        items->list = list;
    else
        json_decref (list);
    return items;
}

void flow_items_free (struct flow_run *run, uint32_t step)
{
    struct flow_data *data = run->data[step];
    struct flow_items *items = data->items;
    if (!items)
        return;
    for (uint32_t i = 0; i < items->count; i++) {
        flow_store_value (run, &items->item[i].value, NULL, 0);
        flow_adopt_item_error (run, &items->item[i], NULL);
    }
    if (data->items_to_delete < items->count)
        data->items_to_delete = items->count;
    json_decref (items->list);
    free (items->touched);
    free (items);
    data->items = NULL;
    flow_mark_data (run, step, FLOW_TOUCHED_LIST);
}

void flow_clear_data (struct flow_run *run, uint32_t step)
{
    struct flow_data *data = run->data[step];
    // A value collected from the items is not counted in data_size.
    if (flow_value_is_collected (run, step)) {
        json_decref (data->value);
        data->value = NULL;
    }
    flow_store_value (run, &data->value, NULL, 0);
    flow_set_step_error (run, step, NULL);
    data->not_kept = false;
    flow_clear_signals (run, step);
    flow_mark_data (run, step, FLOW_TOUCHED_ENTRY);
}

size_t flow_signals_size (const struct flow_data *data)
{
    size_t index, size = 0;
    const json_t *signal;
    json_array_foreach (data->signals, index, signal) size += flow_json_size (signal);
    return size;
}

void flow_clear_signals (struct flow_run *run, uint32_t step)
{
    struct flow_data *data = run->data[step];
    run->waiting_signals -= (uint32_t)json_array_size (data->signals);
    run->signals_size -= flow_signals_size (data);
    json_decref (data->signals);
    data->signals = NULL;
    if (data->signals_to_delete < data->signals_written)
        data->signals_to_delete = data->signals_written;
    data->signals_written = 0;
}

void flow_set_step_error (struct flow_run *run, uint32_t step, const char *text)
{
    struct flow_data *data = flow_data_of (run, step);
    if (!data->error && !text)
        return;
    char *copy = text ? memory_text (text) : NULL;
    free (data->error);
    data->error = copy;
    flow_mark_data (run, step, FLOW_TOUCHED_ERROR);
}

void flow_adopt_item_error (struct flow_run *run, struct flow_item *item, char *text)
{
    run->error_bytes +=
        (text ? strlen (text) + 1 : 0) - (item->error ? strlen (item->error) + 1 : 0);
    free (item->error);
    item->error = text;
}

void flow_set_item_error (struct flow_run *run, uint32_t step, uint32_t number, const char *text)
{
    struct flow_item *item = &run->data[step]->items->item[number];
    flow_adopt_item_error (run, item, text ? memory_text (text) : NULL);
    flow_mark_item (run, step, number, FLOW_TOUCHED_ENTRY);
}

void flow_run_destroy (struct flow_run **self, const struct flow *flow)
{
    struct flow_run *run = *self;
    if (!run)
        return;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        if (!run->data[i])
            continue;
        flow_clear_data (run, i);
        flow_items_free (run, i);
        free (run->data[i]);
    }
    for (size_t i = 0; i < flow->param_count; i++)
        json_decref (run->params[i].json);
    json_decref (run->input);
    json_decref (run->output);
    json_decref (run->uncaught);
    flow_heap_destroy (&run->ready);
    flow_heap_destroy (&run->todo);
    free (run->undos);
    free (run->touched);
    free (run->error);
    free (run->nodes);
    free (run->data);
    free (run->params);
    free (run);
    *self = NULL;
}

void flow_set_run_error (struct flow_run *run, const char *text)
{
    free (run->error);
    run->error = memory_text (text);
    run->touched_fields |= FLOW_TOUCHED_ERROR;
}

void flow_add_effect (struct flow_turn *turn, struct flow_effect effect)
{
    struct flow_effects *effects = turn->effects;
    effects->items =
        memory_grow (effects->items, effects->count, &effects->room, sizeof *effects->items);
    if (effect.kind != FLOW_PLACE) // the caller sets that of a FLOW_PLACE
        effect.generation = flow_generation_of (turn->run, effect.step, effect.item);
    effects->items[effects->count++] = effect;
}

// Append to a list whose capacity is the next power of two of its count.
static void append_index (uint32_t **list, uint32_t *count, uint32_t value)
{
    if ((*count & (*count - 1)) == 0)
        *list = memory_resize (*list, (*count ? 2 * (size_t)*count : 1) * sizeof **list);
    (*list)[(*count)++] = value;
}

void flow_mark_row (struct flow_run *run, uint32_t step)
{
    if (run->nodes[step].flags & FLOW_TOUCHED)
        return;
    run->nodes[step].flags |= FLOW_TOUCHED;
    append_index (&run->touched, &run->touched_count, step);
}

void flow_mark_data (struct flow_run *run, uint32_t step, unsigned what)
{
    run->data[step]->touched |= what;
    flow_mark_row (run, step);
}

void flow_mark_item (struct flow_run *run, uint32_t step, uint32_t number, unsigned what)
{
    struct flow_items *items = run->data[step]->items;
    struct flow_item *item = &items->item[number];
    if (!item->touched)
        append_index (&items->touched, &items->touched_count, number);
    item->touched |= (uint8_t)what;
    flow_mark_row (run, step);
}

void flow_add_changed_step (struct flow_turn *turn, uint32_t step)
{
    struct flow_effects *effects = turn->effects;
    flow_mark_row (turn->run, step);
    if (turn->run->nodes[step].flags & FLOW_CHANGED)
        return;
    turn->run->nodes[step].flags |= FLOW_CHANGED;
    effects->changed = memory_grow (effects->changed, effects->changed_count,
                                    &effects->changed_room, sizeof *effects->changed);
    effects->changed[effects->changed_count++] = step;
}

void flow_effects_clear (struct flow_effects *self)
{
    for (size_t i = 0; i < self->count; i++)
        json_decref (self->items[i].frames);
    free (self->items);
    free (self->changed);
    *self = (struct flow_effects){.count = 0};
}

// Handle FLOW_BEGIN: evaluate the params, and queue the first decisions.
static void begin_run (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    struct reason reason;
    run->input = json_incref (event->value);
    run->touched_fields |= FLOW_TOUCHED_INPUT | FLOW_TOUCHED_PARAMS;
    turn->effects->run_changed = true;
    if (!flow_evaluate_params (turn, event, &reason)) {
        run->phase = FLOW_ENDED;
        run->outcome = FLOW_BADLY;
        run->uncaught = json_array ();
        run->touched_fields |= FLOW_TOUCHED_UNCAUGHT;
        flow_set_run_error (run, reason.text);
        return;
    }
    run->phase = FLOW_ACTIVE;
    flow_rebuild_todo (turn->flow, run);
}

// Handle FLOW_CANCEL.
static void cancel_run (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    struct reason *reason = &turn->effects->rejected;
    if (run->phase == FLOW_ENDED)
        reason_set (reason, "the run has ended");
    else if (!event->force && run->phase != FLOW_ACTIVE)
        reason_set (reason, "the run is at its end: only with force");
    else if (!event->force && run->stop)
        reason_set (reason, "the run is cancelled already: only with force");
    if (reason->text[0])
        return;
    run->forced = run->forced || event->force;
    run->suspended = false;
    turn->effects->run_changed = true;
    if (run->phase == FLOW_UNDOING && run->in_flight > 0) {
        const struct flow_undo *undo = &run->undos[run->undo_at];
        flow_add_effect (
            turn, (struct flow_effect){
                      .kind = FLOW_REMOVE, .step = undo->step, .item = undo->item, .undo = true});
    }
    run->stop = true;
    if (run->outcome == FLOW_OPEN) {
        run->outcome = FLOW_STOPPED;
        if (event->text)
            flow_set_run_error (run, event->text);
    }
    flow_stop_all_steps (turn);
}

// Stop a run as a whole with this outcome.
static void end_run_early (struct flow_turn *turn, enum flow_outcome outcome, const char *error)
{
    struct flow_run *run = turn->run;
    if (run->phase != FLOW_ACTIVE || run->stop) {
        turn->effects->dropped = true;
        return;
    }
    run->stop = true;
    run->suspended = false;
    run->outcome = outcome;
    turn->effects->run_changed = true;
    flow_set_run_error (run, error);
    flow_stop_all_steps (turn);
}

// Carry out an operator's decision about the parked undo: repeat it, or continue with the next one.
static void resolve_undo (struct flow_turn *turn, bool repeat)
{
    struct flow_run *run = turn->run;
    if (run->phase != FLOW_UNDOING || !run->undo_parked) {
        reason_set (&turn->effects->rejected, "no undo of this run is parked");
        return;
    }
    run->undo_parked = false;
    run->undo_at += !repeat;
    turn->effects->run_changed = true;
}

static void handle_event (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    switch (event->kind) {
    case FLOW_BEGIN:
        begin_run (turn, event);
        break;
    case FLOW_CALL_ENDED:
        flow_handle_call_end (turn, event);
        break;
    case FLOW_TIMER_DUE:
        flow_handle_timer (turn, event);
        break;
    case FLOW_SIGNALLED:
    case FLOW_REJECTED:
        flow_handle_signal (turn, event);
        break;
    case FLOW_SKIP:
        flow_skip_step (turn, event);
        break;
    case FLOW_RETRY:
        flow_retry_steps (turn, event);
        break;
    case FLOW_SUSPEND:
    case FLOW_RESUME:
        if (run->phase == FLOW_ENDED)
            reason_set (&turn->effects->rejected, "the run has ended");
        run->suspended = event->kind == FLOW_SUSPEND && run->phase != FLOW_ENDED;
        turn->effects->run_changed = true;
        break;
    case FLOW_CANCEL:
        cancel_run (turn, event);
        break;
    case FLOW_TIMEOUT:
        end_run_early (turn, FLOW_LATE, "the timeout of the run expired");
        break;
    case FLOW_UNDO_DONE:
    case FLOW_UNDO_RESET:
        resolve_undo (turn, event->kind == FLOW_UNDO_RESET);
        break;
    case FLOW_UNDO:
        flow_undo_run (turn);
        break;
    case FLOW_CHECK:
        break;
    }
}

void flow_step (const struct flow *flow, struct flow_run *run, const struct flow_event *event,
                int64_t now, struct flow_effects *effects)
{
    struct flow_turn turn = {.flow = flow, .run = run, .effects = effects, .now = now};
    effects->more = effects->parked = false;
    effects->decisions = effects->steps = effects->placed = 0;
    handle_event (&turn, event);
    if (event->former && effects->rejected.text[0])
        turn.flow = event->former;
    if (run->phase != FLOW_ENDED && run->phase != FLOW_UNBORN) {
        flow_start_ready_steps (&turn);
        if (run->data_size > FLOW_DATA_MAX && run->phase == FLOW_ACTIVE && !run->stop) {
            end_run_early (&turn, FLOW_BADLY, "the values of the run are larger than 16 MiB");
            flow_start_ready_steps (&turn);
        }
        flow_advance_phases (&turn);
    }
    for (size_t i = 0; i < effects->changed_count; i++)
        run->nodes[effects->changed[i]].flags &= (uint16_t)~FLOW_CHANGED;
}
