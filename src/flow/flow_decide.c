// Edges and joins of a run. A node counts its edges by kind; when a step ends, only the counters of
// its targets change.

#include "flow_turn.h"

bool flow_continues_after_failure (const struct flow *flow, const struct flow_run *run,
                                   uint32_t index)
{
    const struct flow_step *step = &flow->steps[index];
    return step->continues_on_error || (run->continues_on_error && !step->has_on_error);
}

enum flow_edge_kind flow_edge_kind (const struct flow *flow, const struct flow_run *run,
                                    uint32_t index, uint8_t on)
{
    const struct flow_node *source = &run->nodes[index];
    unsigned live = 0, broken = 0;
    bool person = source->flags & FLOW_BY_PERSON;
    switch (source->state) {
    case FLOW_FINISHED:
        live = FLOW_ON_FINISHED | FLOW_ON_ENDED;
        break;
    case FLOW_SKIPPED:
        live = person ? FLOW_ON_FINISHED | FLOW_ON_ENDED : FLOW_ON_SKIPPED;
        break;
    case FLOW_FAILED:
        live = FLOW_ON_FAILED | FLOW_ON_CAUGHT | FLOW_ON_ENDED;
        if (flow_continues_after_failure (flow, run, index))
            live |= FLOW_ON_FINISHED;
        else
            broken = FLOW_ON_FINISHED;
        break;
    default: // blocked, cancelled
        live = FLOW_ON_ENDED;
        broken = FLOW_ON_FINISHED;
        break;
    }
    return on & live ? FLOW_EDGE_LIVE : on & broken ? FLOW_EDGE_BROKEN : FLOW_EDGE_DEAD;
}

static uint16_t *edge_counter (struct flow_node *target, enum flow_edge_kind kind)
{
    return kind == FLOW_EDGE_LIVE   ? &target->live
           : kind == FLOW_EDGE_DEAD ? &target->dead
                                    : &target->broken;
}

// What the edge counters of a node decide: it stays open, starts, is blocked, or is skipped.
enum join_verdict { JOIN_OPEN, JOIN_PASS, JOIN_BLOCK, JOIN_SKIP };

static enum join_verdict verdict_of_edges (const struct flow_step *step,
                                           const struct flow_node *node)
{
    bool all = (uint32_t)node->live + node->dead + node->broken == step->in_count;
    if (step->join_all) {
        if (node->broken)
            return JOIN_BLOCK;
        if (!all)
            return JOIN_OPEN;
        return node->live || !step->in_count ? JOIN_PASS : JOIN_SKIP;
    }
    if (node->live >= step->need)
        return JOIN_PASS;
    return !all ? JOIN_OPEN : node->broken ? JOIN_BLOCK : JOIN_SKIP;
}

// Whether a node is decided, but not yet counted at its targets.
static bool end_is_uncounted (const struct flow_node *node)
{
    return flow_node_is_decided (node) && !(node->flags & FLOW_END_COUNTED);
}

// Count the end of a decided node at its targets, and queue joins that are decided by it.
static void count_end_at_targets (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &turn->run->nodes[index];
    node->flags |= FLOW_END_COUNTED;
    flow_mark_row (turn->run, index);
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct flow_edge *edge = &turn->flow->out[step->out_first + i];
        struct flow_node *target = &turn->run->nodes[edge->step];
        ++*edge_counter (target, flow_edge_kind (turn->flow, turn->run, index, edge->on));
        if (!(target->flags & FLOW_JOINED) && !flow_node_is_decided (target) &&
            verdict_of_edges (&turn->flow->steps[edge->step], target) != JOIN_OPEN)
            flow_heap_push (turn->run->todo, FLOW_LANE_JOINS, edge->step);
    }
}

void flow_retract_end (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &turn->run->nodes[index];
    if (!(node->flags & FLOW_END_COUNTED))
        return;
    node->flags &= (uint16_t)~FLOW_END_COUNTED;
    flow_mark_row (turn->run, index);
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct flow_edge *edge = &turn->flow->out[step->out_first + i];
        --*edge_counter (&turn->run->nodes[edge->step],
                         flow_edge_kind (turn->flow, turn->run, index, edge->on));
    }
}

void flow_end_step (struct flow_turn *turn, uint32_t index, enum flow_state state,
                    const char *error)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &run->nodes[index];
    node->state = (uint8_t)state;
    node->flags &= (uint16_t) ~(FLOW_READY | FLOW_PLACED | FLOW_STOPPING);
    node->ended = ++run->sequence;
    if (error)
        flow_set_step_error (run, index, error);
    if (run->data[index])
        flow_clear_signals (run, index);
    flow_add_changed_step (turn, index);
    flow_heap_push (run->todo, FLOW_LANE_ENDS, index);
    if (state == FLOW_FAILED && turn->flow->fail_fast && !step->has_caught &&
        !flow_continues_after_failure (turn->flow, run, index) && !run->fast &&
        run->phase == FLOW_ACTIVE) {
        run->fast = true;
        flow_stop_all_steps (turn);
    }
}

void flow_pass_join (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &turn->run->nodes[index];
    node->flags |= FLOW_JOINED;
    if (turn->run->stop) {
        flow_end_step (turn, index, FLOW_CANCELLED, NULL);
        return;
    }
    if (step->condition) {
        struct flow_scope scope = flow_scope_of (turn, index, -1);
        struct reason reason;
        int passed = flow_scope_test_condition (&scope, step->condition, &reason);
        flow_scope_clear (&scope, turn);
        if (passed <= 0) {
            flow_end_step (turn, index, passed < 0 ? FLOW_FAILED : FLOW_SKIPPED,
                           passed < 0 ? reason.text : NULL);
            return;
        }
    }
    node->state = FLOW_NEW;
    flow_add_changed_step (turn, index);
    flow_queue_ready (turn, index);
}

// The verdict about a node, if its join is still to be decided; else JOIN_OPEN.
static enum join_verdict verdict_of_node (const struct flow *flow, const struct flow_run *run,
                                          uint32_t index)
{
    const struct flow_node *node = &run->nodes[index];
    if (node->flags & (FLOW_JOINED | FLOW_RESETTING) || flow_node_is_decided (node) ||
        node->state != FLOW_NONE || index == flow->final)
        return JOIN_OPEN;
    return verdict_of_edges (&flow->steps[index], node);
}

static void apply_verdict (struct flow_turn *turn, uint32_t index, enum join_verdict verdict)
{
    struct flow_node *node = &turn->run->nodes[index];
    switch (verdict) {
    case JOIN_OPEN:
        break;
    case JOIN_PASS:
        flow_pass_join (turn, index);
        break;
    case JOIN_BLOCK:
        node->flags |= FLOW_BLOCKED;
        flow_add_changed_step (turn, index);
        flow_heap_push (turn->run->todo, FLOW_LANE_ENDS, index);
        break;
    case JOIN_SKIP:
        flow_end_step (turn, index, FLOW_SKIPPED, NULL);
        break;
    }
}

// Make one decision; returns whether one was due. Stale queue entries are not counted, so that a
// run which was read from Redis makes the same decisions in each call.
static bool make_next_decision (struct flow_turn *turn)
{
    struct flow_run *run = turn->run;
    uint64_t key;
    while (flow_heap_pop (run->todo, FLOW_LANE_ENDS, &key))
        if (end_is_uncounted (&run->nodes[key])) {
            count_end_at_targets (turn, (uint32_t)key);
            return true;
        }
    while (flow_heap_pop (run->todo, FLOW_LANE_JOINS, &key)) {
        enum join_verdict verdict = verdict_of_node (turn->flow, run, (uint32_t)key);
        if (verdict != JOIN_OPEN) {
            apply_verdict (turn, (uint32_t)key, verdict);
            return true;
        }
    }
    return false;
}

void flow_make_decisions (struct flow_turn *turn)
{
    struct flow_effects *effects = turn->effects;
    while (effects->decisions < FLOW_DECISIONS_MAX && effects->steps < FLOW_RUN_STEPS_MAX &&
           make_next_decision (turn))
        effects->decisions++;
}

void flow_rebuild_todo (const struct flow *flow, struct flow_run *run)
{
    flow_heap_clear (run->todo);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        if (end_is_uncounted (&run->nodes[i]))
            flow_heap_push (run->todo, FLOW_LANE_ENDS, i);
        if (verdict_of_node (flow, run, i) != JOIN_OPEN)
            flow_heap_push (run->todo, FLOW_LANE_JOINS, i);
    }
}

void flow_count_edges (const struct flow *flow, struct flow_run *run)
{
    for (uint32_t i = 0; i < flow->step_count; i++)
        run->nodes[i].live = run->nodes[i].dead = run->nodes[i].broken = 0;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        for (uint32_t j = 0; run->nodes[i].flags & FLOW_END_COUNTED && j < step->out_count; j++) {
            const struct flow_edge *edge = &flow->out[step->out_first + j];
            ++*edge_counter (&run->nodes[edge->step], flow_edge_kind (flow, run, i, edge->on));
        }
    }
}
