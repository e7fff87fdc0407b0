// A retry may switch a run to a newer version of its definition, which must have the same steps in
// the same order, with the same edges. Steps whose text differs restart.
#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"

static bool is_same_step (const struct flow *flow, const struct flow *was, uint32_t index)
{
    const struct flow_step *step = &flow->steps[index], *old = &was->steps[index];
    bool same = strcmp (step->name, old->name) == 0 && step->kind == old->kind &&
                !step->for_each == !old->for_each && step->in_count == old->in_count;
    for (uint32_t i = 0; same && i < step->in_count; i++) {
        const struct flow_edge *edge = &flow->in[step->in_first + i],
                               *old_edge = &was->in[old->in_first + i];
        same = edge->step == old_edge->step && edge->on == old_edge->on;
    }
    return same;
}

bool flow_check_same_graph (struct flow_turn *turn, const struct flow *was)
{
    const struct flow *flow = turn->flow;
    bool same = flow->step_count == was->step_count && flow->final == was->final;
    for (uint32_t i = 0; same && i < flow->step_count; i++)
        same = is_same_step (flow, was, i);
    if (!same)
        reason_set (&turn->effects->rejected,
                    "the version has other steps, kinds of steps or edges");
    return same;
}

bool flow_step_differs (const struct flow *flow, const struct flow *was, uint32_t index)
{
    return !json_equal (flow->steps[index].json, was->steps[index].json);
}

bool flow_reevaluate_params (struct flow_turn *turn, const struct flow_event *event)
{
    struct flow_run *run = turn->run;
    const struct flow *flow = turn->flow, *was = event->was ? event->was : flow;
    struct flow_value *old = run->params;
    run->params = memory_new ((flow->param_count + 1) * sizeof *run->params);
    for (size_t i = 0; i < flow->param_count && !event->fresh; i++)
        for (size_t j = 0; j < was->param_count; j++)
            if (strcmp (flow->params[i].name, was->params[j].name) == 0) {
                run->params[i] = old[j];
                json_incref (old[j].json);
            }
    const struct flow_event begin = {.value = run->input, .params = event->params};
    bool ok = flow_evaluate_params (turn, &begin, &turn->effects->rejected);
    struct flow_value *gone = ok ? old : run->params;
    size_t count = ok ? was->param_count : flow->param_count;
    for (size_t i = 0; i < count; i++)
        json_decref (gone[i].json);
    free (gone);
    if (!ok)
        run->params = old;
    run->touched_fields |= FLOW_TOUCHED_PARAMS;
    if (ok && event->was) {
        run->version = event->version;
        if (flow->parallel_own || was->parallel_own)
            run->parallel = flow->parallel;
    }
    return ok;
}
