// Edges and joins of a run. A node counts what its edges say; an end touches its targets only.
#include <assert.h>
#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"

// A todo of a node whose end its targets are to count; else its join is to be decided.
#define SETTLED_TODO UINT32_C (0x80000000)

enum flow_edge_kind flow_edge_kind (const struct flow_step *step, const struct flow_node *source,
                                    uint8_t on)
{
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
        if (step->goes_on)
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

static uint16_t *counter (struct flow_node *target, enum flow_edge_kind kind)
{
    return kind == FLOW_EDGE_LIVE   ? &target->live
           : kind == FLOW_EDGE_DEAD ? &target->dead
                                    : &target->broken;
}

void flow_decide_later (struct flow_turn *turn, uint32_t step)
{
    flow_todo_push (turn->run->todo, step);
}

// What the counts of a node lead to.
enum verdict { VERDICT_OPEN, VERDICT_PASS, VERDICT_BLOCK, VERDICT_SKIP };

static enum verdict judge (const struct flow_step *step, const struct flow_node *node)
{
    bool all = (uint32_t)node->live + node->dead + node->broken == step->in_count;
    if (step->join_all) {
        if (node->broken)
            return VERDICT_BLOCK;
        if (!all)
            return VERDICT_OPEN;
        return node->live || !step->in_count ? VERDICT_PASS : VERDICT_SKIP;
    }
    if (node->live >= step->need)
        return VERDICT_PASS;
    return !all ? VERDICT_OPEN : node->broken ? VERDICT_BLOCK : VERDICT_SKIP;
}

// Tell the targets of a decided node, once.
static void settle_targets (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &turn->run->nodes[index];
    if (node->flags & FLOW_SETTLED || !flow_decided (node))
        return;
    node->flags |= FLOW_SETTLED;
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct flow_edge *edge = &turn->flow->out[step->out_first + i];
        struct flow_node *target = &turn->run->nodes[edge->step];
        ++*counter (target, flow_edge_kind (step, node, edge->on));
        if (!(target->flags & FLOW_JOINED) && !flow_decided (target) &&
            judge (&turn->flow->steps[edge->step], target) != VERDICT_OPEN)
            flow_decide_later (turn, edge->step);
    }
}

void flow_unsettle (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &turn->run->nodes[index];
    if (!(node->flags & FLOW_SETTLED))
        return;
    node->flags &= (uint16_t)~FLOW_SETTLED;
    for (uint32_t i = 0; i < step->out_count; i++) {
        const struct flow_edge *edge = &turn->flow->out[step->out_first + i];
        --*counter (&turn->run->nodes[edge->step], flow_edge_kind (step, node, edge->on));
    }
}

void flow_settle (struct flow_turn *turn, uint32_t index, enum flow_state state, const char *error)
{
    struct flow_run *run = turn->run;
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &run->nodes[index];
    node->state = (uint8_t)state;
    node->flags &= (uint16_t) ~(FLOW_READY | FLOW_PLACED | FLOW_STOPPING);
    node->ended = ++run->sequence;
    if (error) {
        struct flow_data *data = flow_data_of (run, index);
        free (data->error);
        data->error = memory_text (error);
    }
    if (run->data[index])
        flow_signals_forget (run, run->data[index]);
    flow_note_change (turn, index);
    flow_todo_push (run->todo, index | SETTLED_TODO);
    if (state == FLOW_FAILED && turn->flow->fail_fast && !step->goes_on && !step->has_caught &&
        !run->fast && run->phase == FLOW_ACTIVE) {
        run->fast = true;
        flow_stop_all (turn);
    }
}

void flow_pass_join (struct flow_turn *turn, uint32_t index)
{
    const struct flow_step *step = &turn->flow->steps[index];
    struct flow_node *node = &turn->run->nodes[index];
    node->flags |= FLOW_JOINED;
    if (turn->run->stop) {
        flow_settle (turn, index, FLOW_CANCELLED, NULL);
        return;
    }
    if (step->condition) {
        struct flow_scope scope = flow_scope_of (turn, index, -1);
        struct reason reason;
        int passed = flow_scope_test (&scope, step->condition, &reason);
        flow_scope_clear (&scope, turn);
        if (passed <= 0) {
            flow_settle (turn, index, passed < 0 ? FLOW_FAILED : FLOW_SKIPPED,
                         passed < 0 ? reason.text : NULL);
            return;
        }
    }
    node->state = FLOW_NEW;
    flow_note_change (turn, index);
    flow_make_ready (turn, index);
}

static void decide_join (struct flow_turn *turn, uint32_t index)
{
    struct flow_node *node = &turn->run->nodes[index];
    if (node->flags & (FLOW_JOINED | FLOW_RESETTING) || flow_decided (node) ||
        node->state != FLOW_NONE || index == turn->flow->final)
        return;
    switch (judge (&turn->flow->steps[index], node)) {
    case VERDICT_OPEN:
        break;
    case VERDICT_PASS:
        flow_pass_join (turn, index);
        break;
    case VERDICT_BLOCK:
        node->flags |= FLOW_BLOCKED;
        flow_note_change (turn, index);
        flow_todo_push (turn->run->todo, index | SETTLED_TODO);
        break;
    case VERDICT_SKIP:
        flow_settle (turn, index, FLOW_SKIPPED, NULL);
        break;
    }
}

void flow_decide_all (struct flow_turn *turn)
{
    struct flow_effects *effects = turn->effects;
    uint32_t what;
    while (effects->decisions < FLOW_DECISIONS_MAX && effects->steps < FLOW_RUN_STEPS_MAX &&
           flow_todo_pop (turn->run->todo, &what)) {
        effects->decisions++;
        if (what & SETTLED_TODO)
            settle_targets (turn, what & ~SETTLED_TODO);
        else
            decide_join (turn, what);
    }
}
