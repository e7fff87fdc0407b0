// Changes of the limits of targets and groups, and the counts of their runs.
#include "core_private.h"

// Count a run toward its limits again.
static void recount_run (struct table_node *node, void *owner)
{
    struct core *self = owner;
    struct open_plan *plan = (struct open_plan *)node;
    struct limit_state *group = group_limit (self, plan);
    if ((plan->charged || plan->flow_charged) && plan->target->limit)
        plan->target->limit->busy++;
    if (plan->charged && group)
        group->busy++;
}

static void clear_busy (struct table_node *node, void *owner)
{
    (void)owner;
    ((struct limit_state *)node)->busy = 0;
}

// Look up the limits of all targets and groups again, and count their runs again.
static void recount_limits (struct core *self)
{
    for (struct core_target *target = self->first_target; target; target = target->next_target) {
        target->limit = limits_find_for (&self->limits, 's', target->name);
        ready_update_limits (&target->ready, &self->limits);
        ready_update_limits (&target->exempt, &self->limits);
    }
    table_each (&self->limits.states, clear_busy, NULL);
    table_each (&self->open, recount_run, self);
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

struct each_limit {
    int64_t now_us;
    void (*call) (void *owner, const char *name, int64_t left, int64_t wake_us);
    void *owner;
};

// Report a limit to the caller of core_each_limit, if it has a bound.
static void visit_limit (struct table_node *node, void *owner)
{
    const struct limit_state *state = (const struct limit_state *)node;
    const struct each_limit *each = owner;
    int64_t wake_us = INT64_MAX;
    int64_t left = limit_left (state, each->now_us, &wake_us);
    if (left < INT64_MAX)
        each->call (each->owner, state->name, left, wake_us);
}

void core_each_limit (const struct core *self, int64_t now_us,
                      void (*call) (void *owner, const char *name, int64_t left, int64_t wake_us),
                      void *owner)
{
    struct each_limit each = {now_us, call, owner};
    table_each (&self->limits.states, visit_limit, &each);
}
