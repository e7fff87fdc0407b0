// Changes of the limits of targets and groups, and the counts of their runs.
#include "core_private.h"

// Look up the limits of all targets and groups again, and count their runs again.
static void recount_limits (struct core *self)
{
    for (struct core_target *target = self->first_target; target; target = target->next_target) {
        target->limit = limits_find_for (&self->limits, 's', target->name);
        ready_update_limits (&target->ready, &self->limits);
        ready_update_limits (&target->exempt, &self->limits);
    }
    for (struct table_node *node = NULL; (node = table_step (&self->limits.states, node));)
        ((struct limit_state *)node)->busy = 0;
    for (struct table_node *node = NULL; (node = table_step (&self->open, node));) {
        const struct open_plan *plan = (const struct open_plan *)node;
        struct limit_state *group = group_limit (self, plan);
        if ((plan->charged || plan->flow_charged) && plan->target->limit)
            plan->target->limit->busy++;
        if (plan->charged && group)
            group->busy++;
    }
}

void core_set_limit (struct core *self, struct span name, const struct limit *limit)
{
    if (limits_set (&self->limits, name, limit))
        recount_limits (self);
}

void core_configure_limit (struct core *self, struct span name, const struct limit *limit)
{
    if (limits_configure (&self->limits, name, limit))
        recount_limits (self);
}

void core_begin_limits (struct core *self)
{
    limits_begin_reload (&self->limits);
}

void core_end_limits (struct core *self)
{
    if (limits_end_reload (&self->limits))
        recount_limits (self);
}

void core_load_tokens (struct core *self, struct span name, double used_us)
{
    limits_load_rate (&self->limits, name, used_us);
}

const struct limit_state *core_limit (const struct core *self, struct span name)
{
    return limits_find (&self->limits, name);
}

void core_each_limit (const struct core *self, int64_t now_us,
                      void (*call) (void *owner, const char *name, int64_t left, int64_t wake_us),
                      void *owner)
{
    for (struct table_node *node = NULL; (node = table_step (&self->limits.states, node));) {
        const struct limit_state *state = (const struct limit_state *)node;
        int64_t wake_us = INT64_MAX;
        int64_t left = limit_left (state, now_us, &wake_us);
        if (left < INT64_MAX)
            call (owner, state->name, left, wake_us);
    }
}
