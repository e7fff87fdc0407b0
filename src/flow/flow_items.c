// Ends of calls, items of a for_each, waits and signals.
#include <inttypes.h>
#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"
#include "utf8.h"

static size_t value_size_max (const struct flow_step *step)
{
    return step->read_by_for_each ? FLOW_VALUE_LIST_MAX : FLOW_VALUE_MAX;
}

// Evaluate a template with the lets of a step or item and this result, a new reference. NULL:
// failed, with the reason.
static json_t *evaluate_in_step (struct flow_turn *turn, uint32_t index, int64_t item,
                                 json_t *result, const struct flow_template *template,
                                 const char *path, struct reason *reason)
{
    struct flow_scope scope = flow_scope_of (turn, index, item);
    struct expr_env env = flow_scope_env (&scope);
    json_t *value = NULL;
    scope.result = result;
    if (flow_scope_evaluate_lets (&scope, reason))
        value = flow_template_evaluate (template, path, &env,
                                        value_size_max (&turn->flow->steps[index]), reason);
    flow_scope_clear (&scope, turn);
    return value;
}

// Make the value of a step or item that succeeded with this result (NULL: none), a new reference.
// NULL: its output failed, with the reason.
static json_t *evaluate_output_value (struct flow_turn *turn, uint32_t index, int64_t item,
                                      json_t *result, struct reason *reason)
{
    const struct flow_template *output = turn->flow->steps[index].output;
    if (output)
        return evaluate_in_step (turn, index, item, result, output, "output", reason);
    return result ? json_incref (result) : json_null ();
}

void flow_end_with_value (struct flow_turn *turn, uint32_t index, json_t *value,
                          const struct reason *reason)
{
    struct flow_data *data = flow_data_of (turn->run, index);
    if (value)
        data->not_kept = !flow_store_value (turn->run, &data->value, value,
                                            value_size_max (&turn->flow->steps[index]));
    flow_mark_data (turn->run, index, FLOW_TOUCHED_ENTRY);
    flow_end_step (turn, index, value ? FLOW_FINISHED : FLOW_FAILED, value ? NULL : reason->text);
}

// Whether more items have failed than the step tolerates.
static bool exceeds_tolerance (const struct flow_step *step, const struct flow_items *items)
{
    return step->tolerate_percent
               ? (uint64_t)items->failed * 100 > (uint64_t)step->tolerate * items->count
               : items->failed > step->tolerate;
}

uint32_t flow_next_item (const struct flow_step *step, struct flow_items *items)
{
    while (items->next < items->count && items->item[items->next].state != FLOW_NONE)
        items->next++;
    uint32_t at = items->next;
    if (exceeds_tolerance (step, items))
        while (at < items->count && !(items->item[at].state == FLOW_NONE && items->item[at].named))
            at++;
    return at;
}

json_t *flow_collect_items (const struct flow_step *step, const struct flow_items *items)
{
    if (step->collect == FLOW_COLLECT_NONE)
        return json_null ();
    if (step->collect == FLOW_COLLECT_COUNT)
        return json_pack ("{s:I, s:I}", "finished", (json_int_t)items->finished, "failed",
                          (json_int_t)items->failed);
    json_t *list = json_array ();
    for (uint32_t i = 0; i < items->count; i++)
        json_array_append_new (list, items->item[i].value ? json_incref (items->item[i].value)
                                                          : json_null ());
    return list;
}

// Whether a cancel of the run, its timeout or fail_fast ended an item: such an item is not a
// tolerated failure.
static bool has_cancelled_item (const struct flow_node *node, const struct flow_items *items)
{
    if (!(node->flags & FLOW_STOPPING))
        return false;
    for (uint32_t i = 0; i < items->count; i++)
        if (items->item[i].stopping && items->item[i].state == FLOW_CANCELLED)
            return true;
    return false;
}

// The start of an error text, short enough to follow a prefix.
static struct span error_excerpt (const char *text)
{
    enum { BYTES = 120 };
    return utf8_cut (span_text (text ? text : ""), BYTES);
}

void flow_continue_for_each (struct flow_turn *turn, uint32_t index)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &run->nodes[index];
    struct flow_data *data = run->data[index];
    struct flow_items *items = data->items;
    bool all = items->finished + items->failed == items->count,
         bad = exceeds_tolerance (step, items);
    if (node->flags & FLOW_RESETTING) {
        if (items->in_flight == 0)
            flow_reset_step (turn, index);
        return;
    }
    if (items->in_flight == 0 && all && !bad && !has_cancelled_item (node, items)) {
        json_decref (data->value);
        data->value = flow_collect_items (step, items);
        flow_end_step (turn, index, FLOW_FINISHED, NULL);
        return;
    }
    if (items->in_flight == 0 && node->flags & FLOW_STOPPING) {
        flow_end_step (turn, index, FLOW_CANCELLED, NULL);
        return;
    }
    bool more = flow_next_item (step, items) < items->count;
    if (items->in_flight == 0 && bad && !more) {
        char text[REASON_MAX];
        struct span last = error_excerpt (data->error);
        snprintf (text, sizeof text, "%u of %u items failed%s%.*s", items->failed, items->count,
                  last.size ? ": " : "", (int)last.size, (const char *)last.data);
        flow_end_step (turn, index, FLOW_FAILED, text);
        return;
    }
    if (more && !(node->flags & FLOW_STOPPING) &&
        (!step->parallel || items->in_flight < step->parallel))
        flow_queue_ready (turn, index);
}

// Append an effect that removes the call or timer of a step or item.
static void add_removal (struct flow_turn *turn, enum flow_effect_kind kind, uint32_t index,
                         int64_t item)
{
    flow_add_effect (turn, (struct flow_effect){.kind = kind, .step = index, .item = item});
}

static uint8_t *call_timer (struct flow_run *run, uint32_t index, int64_t item)
{
    return item < 0 ? &run->nodes[index].timer : &flow_item_of (run, index, item)->timer;
}

bool flow_release_call_slot (struct flow_turn *turn, uint32_t index, int64_t item)
{
    uint8_t *timer = call_timer (turn->run, index, item), former = *timer;
    turn->run->in_flight--;
    *timer = FLOW_TIMER_NONE;
    if (former == FLOW_TIMER_SET)
        add_removal (turn, FLOW_REMOVE_TIMER, index, item);
    return former == FLOW_TIMER_OVER;
}

// End an item with the result of its call.
static void end_item_call (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[event->step];
    struct flow_items *items = run->data[event->step]->items;
    struct flow_item *item = &items->item[event->item];
    struct reason reason = {""};
    bool call_timed_out = flow_release_call_slot (turn, event->step, event->item);
    json_t *value =
        event->status == FLOW_OK && !call_timed_out
            ? evaluate_output_value (turn, event->step, event->item, event->value, &reason)
            : NULL;
    items->in_flight--;
    item->ended = ++run->sequence;
    if (value) {
        item->state = FLOW_FINISHED;
        items->finished++;
        flow_store_value (run, &item->value, value, value_size_max (step));
    } else {
        item->state =
            event->status == FLOW_CALL_CANCELLED && !call_timed_out ? FLOW_CANCELLED : FLOW_FAILED;
        items->failed++;
        const char *error = reason.text[0] ? reason.text
                            : event->text  ? event->text
                                           : flow_state_name (item->state);
        if (!call_timed_out) {
            flow_set_step_error (run, event->step, error);
            flow_set_item_error (run, event->step, (uint32_t)event->item, error);
        }
    }
    flow_mark_item (run, event->step, (uint32_t)event->item,
                    FLOW_TOUCHED_STATE | FLOW_TOUCHED_ENTRY);
    flow_add_changed_step (turn, event->step);
    flow_continue_for_each (turn, event->step);
}

// End a step with the result of its call.
static void end_step_call (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    struct flow_node *node = &run->nodes[event->step];
    struct reason reason = {""};
    bool call_timed_out = flow_release_call_slot (turn, event->step, -1);
    node->flags &= (uint16_t) ~(FLOW_PLACED | FLOW_RETRIED);
    if (node->flags & FLOW_RESETTING) {
        if (event->status == FLOW_OK)
            node->state =
                FLOW_FINISHED; // flow_reset_step then raises the generation for the next call
        flow_reset_step (turn, event->step);
        return;
    }
    json_t *value = event->status == FLOW_OK && !call_timed_out
                        ? evaluate_output_value (turn, event->step, -1, event->value, &reason)
                        : NULL;
    if (value) {
        flow_end_with_value (turn, event->step, value, &reason);
        return;
    }
    bool cancelled = event->status == FLOW_CALL_CANCELLED && !call_timed_out;
    if (cancelled && !(node->flags & FLOW_STOPPING))
        node->flags |= FLOW_BY_PERSON;
    flow_end_step (turn, event->step, cancelled ? FLOW_CANCELLED : FLOW_FAILED,
                   call_timed_out   ? NULL
                   : reason.text[0] ? reason.text
                                    : event->text);
}

// Whether the call of the event is in flight.
static bool is_about_call_in_flight (const struct flow_run *run, const struct flow_event *event)
{
    const struct flow_node *node = &run->nodes[event->step];
    const struct flow_item *item = flow_item_of (run, event->step, event->item);
    if (event->item < 0)
        return node->flags & FLOW_PLACED && node->generation == event->generation;
    return item && item->state == FLOW_NEW && item->generation == event->generation;
}

void flow_handle_call_end (struct flow_turn *turn, const struct flow_event *event)
{
    if (event->undo)
        flow_handle_undo_end (turn, event);
    else if (!is_about_call_in_flight (turn->run, event))
        turn->effects->dropped = true;
    else if (event->item < 0)
        end_step_call (turn, event);
    else
        end_item_call (turn, event);
}

// The total_timeout of a call has expired: cancel its plan. The call fails when the plan has ended.
static void expire_total_timeout (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    uint32_t index = event->step;
    uint8_t *timer =
        is_about_call_in_flight (run, event) ? call_timer (run, index, event->item) : NULL;
    if (!timer || *timer != FLOW_TIMER_SET) {
        turn->effects->dropped = true;
        return;
    }
    bool item = event->item >= 0;
    bool stops = item ? run->data[index]->items->item[event->item].stopping
                      : run->nodes[index].flags & FLOW_STOPPING;
    *timer = stops ? FLOW_TIMER_NONE
                   : FLOW_TIMER_OVER; // a call that is being cancelled must not fail by its timeout
    flow_mark_row (run, index);
    if (item)
        flow_mark_item (run, index, (uint32_t)event->item, FLOW_TOUCHED_STATE);
    if (stops)
        return;
    char text[REASON_MAX];
    struct span last = error_excerpt (event->text);
    snprintf (text, sizeof text, "total_timeout: not ended within %" PRId64 " s%s%.*s",
              turn->flow->steps[index].call.total_timeout_s, last.size ? ": " : "", (int)last.size,
              (const char *)last.data);
    flow_set_step_error (run, index, text);
    if (item) {
        flow_set_item_error (run, index, (uint32_t)event->item, text);
        flow_stop_item (turn, index, (uint32_t)event->item);
    } else {
        flow_stop_step (turn, index);
    }
}

void flow_end_wait (struct flow_turn *turn, uint32_t index)
{
    struct reason reason;
    json_t *value = evaluate_output_value (turn, index, -1, NULL, &reason);
    flow_end_with_value (turn, index, value, &reason);
}

void flow_handle_timer (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    uint32_t index = event->step;
    const struct flow_step *step = &turn->flow->steps[index];
    struct reason reason;
    if (step->kind == FLOW_CALL) {
        expire_total_timeout (turn, event);
        return;
    }
    if (!flow_step_waits (turn->flow, run, index) || !run->data[index]->at ||
        turn->now < run->data[index]->at) {
        turn->effects->dropped = true;
        return;
    }
    run->waiting--;
    if (step->kind == FLOW_WAIT) {
        flow_end_wait (turn, index);
    } else if (step->on_timeout == FLOW_NO_SIGNAL_SKIP) {
        flow_end_step (turn, index, FLOW_SKIPPED, NULL);
    } else if (step->on_timeout == FLOW_NO_SIGNAL_VALUE) {
        json_t *value = evaluate_in_step (turn, index, -1, NULL, step->no_signal_value,
                                          "signal.on_timeout.value", &reason);
        flow_end_with_value (turn, index, value, &reason);
    } else {
        flow_end_step (turn, index, FLOW_FAILED, "no signal in time");
    }
}

// Whether this key may signal the step. False: the reason says why.
static bool key_may_signal (const struct flow_step *step, const char *key, struct reason *reason)
{
    size_t index;
    json_t *name;
    if (!step->signal_who)
        return true;
    json_array_foreach (step->signal_who, index, name)
    {
        const char *text = json_string_value (name);
        size_t size = json_string_length (name);
        if (key && size > 0 && text[size - 1] == '*' ? strncmp (key, text, size - 1) == 0
                                                     : key && strcmp (key, text) == 0)
            return true;
    }
    reason_set (reason, "key %s may not signal %s", key ? quoted (span_text (key)) : "(none)",
                step->name);
    return false;
}

bool flow_end_if_signalled (struct flow_turn *turn, uint32_t index)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_data *data = flow_data_of (run, index);
    size_t count = json_array_size (data->signals), at;
    json_t *signal, *list = json_array ();
    json_array_foreach (data->signals, at, signal)
    {
        const char *reason = json_string_value (json_object_get (signal, "reason"));
        if (reason) {
            char *text = memory_text (*reason ? reason : "rejected");
            json_decref (list);
            run->waiting--;
            flow_end_step (turn, index, FLOW_FAILED, text);
            free (text);
            return true;
        }
        if (json_array_size (list) < step->signal_count)
            json_array_append (list, json_object_get (signal, "value"));
    }
    if (count < step->signal_count) {
        json_decref (list);
        return false;
    }
    struct reason reason;
    json_t *sent = step->signal_count > 1 ? list : json_array_get (list, 0);
    json_t *value = evaluate_output_value (turn, index, -1, sent, &reason);
    json_decref (list);
    run->waiting--;
    flow_end_with_value (turn, index, value, &reason);
    return true;
}

// Whether a key of the allow-list has signalled the step already.
static bool has_signalled (const struct flow_step *step, const struct flow_data *data,
                           const char *key)
{
    size_t index;
    const json_t *signal;
    json_array_foreach (data->signals, index, signal)
    {
        const char *signaller = json_string_value (json_object_get (signal, "key"));
        if (step->signal_who && signaller && strcmp (signaller, key) == 0)
            return true;
    }
    return false;
}

// Whether the step accepts the signal or rejection. False: not accepted, with the reason.
static bool check_signal (struct flow_turn *turn, const struct flow_event *event)
{
    const struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[event->step];
    const struct flow_node *node = &run->nodes[event->step];
    struct reason *reason = &turn->effects->rejected;
    if (step->kind != FLOW_SIGNAL)
        reason_set (reason, "%s waits for no signal", step->name);
    else if (!key_may_signal (step, event->key, reason))
        return false;
    else if (flow_node_is_decided (node) || run->phase == FLOW_UNDOING || run->phase == FLOW_ENDED)
        reason_set (reason, "late: %s is %s", step->name, flow_state_name (node->state));
    else if (has_signalled (step, flow_data_of (turn->run, event->step), event->key))
        reason_set (reason, "key %s has signalled %s already", event->key, step->name);
    else if (flow_json_size (event->value) > FLOW_VALUE_MAX)
        reason_set (reason, "value: at most %d bytes", FLOW_VALUE_MAX);
    else if (run->waiting_signals >= FLOW_SIGNALS_MAX)
        reason_set (reason, "%d signals wait for their steps already", FLOW_SIGNALS_MAX);
    else if (run->signals_size > FLOW_DATA_MAX)
        reason_set (reason, "signals that wait for their steps have 16 MiB already");
    else
        return true;
    return false;
}

void flow_handle_signal (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    if (!check_signal (turn, event))
        return;
    struct flow_data *data = flow_data_of (run, event->step);
    json_t *signal = json_object ();
    json_object_set_new (signal, "key", json_string (event->key)); // NULL: without a key
    if (event->kind == FLOW_REJECTED)
        json_object_set_new (signal, "reason", json_string (event->text ? event->text : ""));
    else
        json_object_set_new (signal, "value",
                             event->value ? json_incref (event->value) : json_null ());
    if (!data->signals)
        data->signals = json_array ();
    json_array_append_new (data->signals, signal);
    run->waiting_signals++;
    run->signals_size += flow_json_size (signal);
    flow_mark_row (run, event->step);
    if (run->nodes[event->step].state == FLOW_RUNNING &&
        flow_end_if_signalled (turn, event->step) && data->at)
        add_removal (turn, FLOW_REMOVE_TIMER, event->step, -1);
}

// Whether a cancel was requested and need not be repeated. A forced cancel of a sub-flow is
// repeated, as its run may be undoing meanwhile.
static bool cancel_was_requested (const struct flow_turn *turn, uint32_t index, bool requested)
{
    return requested && !(turn->run->forced && turn->flow->steps[index].call.is_flow);
}

void flow_stop_item (struct flow_turn *turn, uint32_t index, uint32_t number)
{
    struct flow_item *item = &turn->run->data[index]->items->item[number];
    if (item->state != FLOW_NEW || cancel_was_requested (turn, index, item->stopping))
        return;
    item->stopping = true;
    flow_mark_item (turn->run, index, number, FLOW_TOUCHED_STATE);
    add_removal (turn, FLOW_REMOVE, index, number);
}

void flow_stop_step (struct flow_turn *turn, uint32_t index)
{
    struct flow_run *run = turn->run;
    struct flow_node *node = &run->nodes[index];
    struct flow_data *data = run->data[index];
    const struct flow_items *items = flow_items_of (run, index);
    if (node->flags & FLOW_PLACED &&
        !cancel_was_requested (turn, index, node->flags & FLOW_STOPPING))
        add_removal (turn, FLOW_REMOVE, index, -1);
    if (flow_step_waits (turn->flow, run, index)) {
        run->waiting--;
        if (data->at)
            add_removal (turn, FLOW_REMOVE_TIMER, index, -1);
        node->state = FLOW_NONE;
    }
    for (uint32_t i = 0; items && i < items->count; i++)
        flow_stop_item (turn, index, i);
    node->flags &= (uint16_t)~FLOW_READY;
    flow_mark_row (run, index);
    if (node->flags & FLOW_PLACED || (items && items->in_flight > 0))
        node->flags |= FLOW_STOPPING;
}

void flow_stop_all_steps (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    for (uint32_t i = 0; i < turn->flow->step_count; i++) {
        struct flow_node *node = &run->nodes[i];
        if (!(node->flags & FLOW_JOINED) || flow_node_is_decided (node))
            continue;
        flow_stop_step (turn, i);
        if (!(node->flags & (FLOW_STOPPING | FLOW_RESETTING)))
            flow_end_step (turn, i, FLOW_CANCELLED, NULL);
    }
    flow_rebuild_ready (turn->flow, run);
}
