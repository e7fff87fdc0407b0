// The end of a run: which failures count, undos, `finally`.
#include <assert.h>
#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"

// Whether the end of a step counts as a failure. Steps that a cancel of the run, its timeout or
// fail_fast cancelled do not count.
static bool counts_as_failure (const struct flow_node *node)
{
    return node->state == FLOW_FAILED ||
           (node->state == FLOW_CANCELLED && node->flags & FLOW_BY_PERSON);
}

// Whether a failure stops the run. It does not if each of its broken edges leads to a join that
// passed anyway, or to a blocked step that itself stops nothing. `stops` has the results of all
// later steps.
static bool failure_stops_run (const struct flow *flow, const struct flow_run *run,
                               const uint8_t *stops, uint32_t index)
{
    const struct flow_step *step = &flow->steps[index];
    uint32_t broken = 0;
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct flow_edge *edge = &flow->out[step->out_first + i];
        const struct flow_node *target = &run->nodes[edge->step];
        if (flow_edge_kind (flow, run, index, edge->on) != FLOW_EDGE_BROKEN)
            continue;
        broken++;
        if (!(target->flags & FLOW_JOINED) && !(target->flags & FLOW_BLOCKED && !stops[edge->step]))
            return true;
    }
    return broken == 0;
}

// Whether a step that catches the failure of this one has started.
static bool failure_is_caught (const struct flow *flow, const struct flow_run *run, uint32_t index)
{
    const struct flow_step *step = &flow->steps[index];
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct flow_edge *edge = &flow->out[step->out_first + i];
        if (edge->on & FLOW_ON_CAUGHT && run->nodes[edge->step].flags & FLOW_STARTED)
            return true;
    }
    return false;
}

json_t *flow_uncaught_steps (const struct flow *flow, const struct flow_run *run)
{
    json_t *names = json_array ();
    uint8_t *stops = memory_new (flow->step_count + 1);
    for (uint32_t i = flow->step_count; i-- > 0;) {
        uint32_t index = flow->order[i];
        const struct flow_node *node = &run->nodes[index];
        if (counts_as_failure (node) || node->flags & FLOW_BLOCKED)
            stops[index] = failure_stops_run (flow, run, stops, index);
    }
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_node *node = &run->nodes[i];
        bool handled = node->state == FLOW_FAILED && (flow_continues_after_failure (flow, run, i) ||
                                                      failure_is_caught (flow, run, i));
        if (counts_as_failure (node) && stops[i] && !handled)
            json_array_append_new (names, json_string (flow->steps[i].name));
    }
    free (stops);
    return names;
}

uint32_t flow_run_failures (const struct flow *flow, const struct flow_run *run)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->step_count; i++)
        count += run->nodes[i].state == FLOW_FAILED;
    return count;
}

static int compare_ends (const void *a, const void *b)
{
    uint32_t left = ((const struct flow_undo *)a)->ended,
             right = ((const struct flow_undo *)b)->ended;
    return left < right ? 1 : left > right ? -1 : 0;
}

// Whether a step or item in this state must be undone.
static bool must_be_undone (const struct flow_step *step, unsigned state, bool dispatched)
{
    return dispatched &&
           (state == FLOW_FINISHED ||
            (step->undo_started && (state == FLOW_FAILED || state == FLOW_CANCELLED)));
}

static void add_undo (struct flow_run *run, uint32_t step, int64_t item, uint32_t ended)
{
    if ((run->undo_count & (run->undo_count - 1)) == 0)
        run->undos = memory_resize (run->undos, (run->undo_count ? 2 * run->undo_count : 1) *
                                                    sizeof *run->undos);
    run->undos[run->undo_count++] = (struct flow_undo){step, item, ended};
}

void flow_list_undos (const struct flow *flow, struct flow_run *run)
{
    run->undo_count = run->undo_at = 0;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        const struct flow_node *node = &run->nodes[i];
        const struct flow_items *items = flow_items_of (run, i);
        if (!step->has_undo)
            continue;
        if (!items && must_be_undone (step, node->state, node->flags & FLOW_DISPATCHED))
            add_undo (run, i, -1, node->ended);
        for (uint32_t j = 0; items && j < items->count; j++)
            if (must_be_undone (step, items->item[j].state, items->item[j].dispatched))
                add_undo (run, i, j, items->item[j].ended);
    }
    if (run->undo_count)
        qsort (run->undos, run->undo_count, sizeof *run->undos, compare_ends);
}

const struct flow_undo *flow_current_undo (const struct flow_run *run)
{
    bool left = run->phase == FLOW_UNDOING && run->undo_at < run->undo_count;
    return left ? &run->undos[run->undo_at] : NULL;
}

const struct flow_undo *flow_undo_parked (const struct flow_run *run)
{
    return run->undo_parked ? flow_current_undo (run) : NULL;
}

enum flow_undo_state flow_undo_state (const struct flow *flow, const struct flow_run *run,
                                      uint32_t index, int64_t item)
{
    const struct flow_step *step = &flow->steps[index];
    const struct flow_node *node = &run->nodes[index];
    const struct flow_item *found = flow_item_of (run, index, item);
    unsigned state = found ? found->state : node->state;
    uint32_t ended = found ? found->ended : node->ended;
    if (!run->undone || run->forced || !step->has_undo || flow->final == (int64_t)index ||
        !must_be_undone (step, state, found ? found->dispatched : node->flags & FLOW_DISPATCHED))
        return FLOW_UNDO_NONE;
    const struct flow_undo *current = flow_current_undo (run);
    if (!current || ended > current->ended)
        return FLOW_UNDO_OVER;
    return ended < current->ended ? FLOW_UNDO_WAITS
           : run->undo_parked     ? FLOW_UNDO_PARKED
                                  : FLOW_UNDO_RUNS;
}

void flow_undo_run (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    if (run->phase != FLOW_ENDED || run->undone) {
        reason_set (&turn->effects->rejected,
                    run->undone ? "the run was undone" : "the run has not ended");
        return;
    }
    flow_list_undos (turn->flow, run);
    if (run->undo_count)
        run->phase = FLOW_UNDOING;
    run->undone = true;
    turn->effects->run_changed = true;
}

void flow_handle_undo_end (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    const struct flow_undo *undo = flow_current_undo (run);
    if (!undo || run->undo_parked || run->in_flight == 0 || undo->step != event->step ||
        undo->item != event->item) {
        turn->effects->dropped = true;
        return;
    }
    run->in_flight--;
    turn->effects->run_changed = true;
    if (event->status == FLOW_OK)
        run->undo_at++;
    else
        run->undo_parked = turn->effects->parked = true;
}

// Make the output of the run: as defined, or the values of the steps without successors. False:
// failed, with the reason.
static bool evaluate_output (struct flow_turn *turn, struct reason *reason)
{
    struct flow_run *run = turn->run;
    const struct flow *flow = turn->flow;
    run->touched_fields |= FLOW_TOUCHED_OUTPUT;
    if (flow->output) {
        struct flow_scope scope = flow_scope_of (turn, UINT32_MAX, -1);
        struct expr_env env = flow_scope_env (&scope);
        run->output = flow_template_evaluate (flow->output, "output", &env, FLOW_VALUE_MAX, reason);
        flow_scope_clear (&scope, turn);
        return run->output;
    }
    run->output = json_object ();
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (flow->steps[i].out_count == 0 && i != flow->final && run->data[i] &&
            run->data[i]->value)
            json_object_set_nocheck (run->output, flow->steps[i].name, run->data[i]->value);
    if (json_dumpb (run->output, NULL, 0, JSON_COMPACT) > FLOW_VALUE_MAX)
        json_object_clear (run->output);
    return true;
}

// Return a step that fail_fast or a cancel left cancelled, after a retry or skip reopened the run;
// else NULL. While fail_fast is in force, the failure determines the outcome.
static const struct flow_step *find_cancelled_step (const struct flow_turn *turn)
{
    const struct flow_run *run = turn->run;
    for (uint32_t i = 0; !run->fast && i < turn->flow->step_count; i++)
        if (run->nodes[i].state == FLOW_CANCELLED && !(run->nodes[i].flags & FLOW_BY_PERSON))
            return &turn->flow->steps[i];
    return NULL;
}

// Find the uncaught failures of a run whose steps have ended, and set its outcome if it has none.
static void set_outcome (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    struct reason reason;
    json_decref (run->uncaught);
    run->uncaught = flow_uncaught_steps (turn->flow, run);
    run->touched_fields |= FLOW_TOUCHED_UNCAUGHT;
    if (run->outcome != FLOW_OPEN)
        return;
    const struct flow_step *cancelled = find_cancelled_step (turn);
    run->outcome = json_array_size (run->uncaught) ? FLOW_BADLY
                   : cancelled                     ? FLOW_STOPPED
                                                   : FLOW_WELL;
    if (run->outcome == FLOW_STOPPED) {
        reason_set (&reason, "step %s stays cancelled: retry or skip it", cancelled->name);
        flow_set_run_error (run, reason.text);
    } else if (run->outcome == FLOW_WELL && !evaluate_output (turn, &reason)) {
        run->outcome = FLOW_BADLY;
        flow_set_run_error (run, reason.text);
    }
}

// Begin `finally`, or end the run if there is none or it is cancelled with force.
static void begin_finally (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    turn->effects->run_changed = true;
    run->undo_parked = false; // a forced cancel abandons the failed undo
    if (turn->flow->final < 0 || run->forced) {
        run->phase = FLOW_ENDED;
        return;
    }
    run->phase = FLOW_FINAL;
    run->stop = false;
    // An operator may have skipped the step already.
    if (!flow_node_is_decided (&run->nodes[turn->flow->final]))
        flow_pass_join (turn, (uint32_t)turn->flow->final);
}

// Whether the run still has decisions, starts, calls or waits, or is suspended.
static bool has_work_left (const struct flow_turn *turn)
{
    const struct flow_run *run = turn->run;
    return turn->effects->more || !flow_heap_empty (run->todo) || run->suspended ||
           run->in_flight > 0 || run->waiting > 0 || run->resetting > 0 ||
           !flow_heap_empty (run->ready);
}

void flow_advance_phases (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    while (!has_work_left (turn) && run->phase != FLOW_ENDED) {
        if (run->phase == FLOW_ACTIVE) {
            set_outcome (turn);
            flow_list_undos (turn->flow, run);
            turn->effects->run_changed = true;
            bool undo = run->outcome != FLOW_WELL && run->undo_count > 0 && !run->forced;
            run->undone = run->undone || undo;
            if (undo)
                run->phase = FLOW_UNDOING;
            else
                begin_finally (turn);
        } else if (run->phase == FLOW_UNDOING) {
            if (run->forced || run->undo_at == run->undo_count)
                begin_finally (turn);
            else if (run->undo_parked)
                return;
            else
                flow_place_undo (turn, &run->undos[run->undo_at]);
        } else {
            const struct flow_node *node = &run->nodes[turn->flow->final];
            assert (flow_node_is_decided (node));
            if (counts_as_failure (node) &&
                !flow_continues_after_failure (turn->flow, run, (uint32_t)turn->flow->final)) {
                if (run->outcome == FLOW_WELL)
                    run->outcome = FLOW_BADLY;
                run->touched_fields |= FLOW_TOUCHED_UNCAUGHT;
                json_array_append_new (run->uncaught,
                                       json_string (turn->flow->steps[turn->flow->final].name));
            }
            run->phase = FLOW_ENDED;
            turn->effects->run_changed = true;
        }
        if (run->phase != FLOW_ENDED && run->phase != FLOW_UNDOING)
            flow_start_ready_steps (turn);
    }
}
