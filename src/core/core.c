// Creation, loading and reset of the core; its targets; lists of its runs.
#include "core.h"

#include <stdlib.h>

#include "core_private.h"
#include "memory.h"

// -- targets

struct core_target *core_find_target (const struct core *self, struct span name)
{
    struct table_node *node = table_find (&self->targets, table_hash (name));
    for (; node; node = table_next (node)) {
        struct core_target *target = (struct core_target *)node; // it is the first member
        if (span_equal (name, core_target_name (target)))
            return target;
    }
    return NULL;
}

struct core_target *core_target_for (struct core *self, struct span name)
{
    struct core_target *target = core_find_target (self, name);
    if (target)
        return target;
    target = memory_new (sizeof *target);
    memcpy (target->name, name.data, name.size);
    target->name_size = name.size;
    target->limit = limits_find_for (&self->limits, 's', target->name);
    target->has_waiting = true; // until a check clears it
    target->slots.free_slots = INT64_MAX;
    table_add (&self->targets, &target->node, table_hash (name));
    target->next_target = self->first_target;
    self->first_target = target;
    return target;
}

// -- loading

void core_load_numbers (struct core *self, const struct core_numbers *numbers)
{
    self->plans = numbers->plans;
    self->classes = numbers->classes;
    if (numbers->exec_id > self->exec_id)
        self->exec_id = numbers->exec_id;
    self->exec_written = numbers->exec_id;
    if (numbers->plan_id > self->plan_id)
        self->plan_id = numbers->plan_id;
    self->plan_id_written = numbers->plan_id;
    self->seq_written = numbers->seq;
    // If Redis lost acknowledged numbers, continue after them, in a new epoch.
    bool lost = self->epoch[0] && numbers->seq < self->seq_acked;
    self->seq = lost ? self->seq_acked : numbers->seq;
    self->sub = lost ? 0 : numbers->sub;
    self->seq_acked = self->seq;
    if (!lost)
        memcpy (self->epoch, numbers->epoch, sizeof self->epoch);
    if (lost)
        self->epoch[0] = '\0';
}

void core_load_count (struct core *self, struct span target, int64_t plans)
{
    core_target_for (self, target)->plans = plans;
}

bool core_has_classes (const struct core *self)
{
    return self->classes;
}

void core_load_run (struct core *self, struct span target, uint64_t id, struct span run)
{
    char text[64] = "";
    if (run.size)
        memcpy (text, run.data, run.size < sizeof text ? run.size : sizeof text - 1);
    if (text[0] < '1' || text[0] > '9') {
        self->has_earlier = self->has_earlier || text[0] == '+';
        return;
    }
    char *at;
    struct open_plan *plan = open_find_or_add (self, core_target_for (self, target), id);
    plan->exec_id = strtoull (text, &at, 10);
    if (plan->exec_id > self->exec_id)
        self->exec_id = plan->exec_id;
    plan->earlier_may_answer = *at == '+';
    at += plan->earlier_may_answer;
    plan->flight = FLIGHT_TAKEN;
    if (*at == '?')
        plan->flight = at[1] == '!' ? FLIGHT_OFFERED : FLIGHT_NO_STATUS;
    else if (*at == '~')
        plan->flight = FLIGHT_FLOW;
    at = strchr (at, ' ');
    plan->revision = at && at[1] >= '0' && at[1] <= '9' ? strtoll (at + 1, NULL, 10) : -1;
    if (plan->flight == FLIGHT_TAKEN && !plan->charged)
        open_charge_running (self, plan); // its group counts it when core_load_class is called
    else if (plan->flight == FLIGHT_FLOW)
        open_charge_flow (self, plan);
    plan->pull_run = plan->flight == FLIGHT_OFFERED;
    if (plan->pull_run)
        pull_note_unread (self, plan);
}

void core_load_class (struct core *self, struct span target, uint64_t id, struct span class)
{
    int priority;
    struct open_plan *plan = open_find (self, target, id);
    struct span group = class_group (class, &priority);
    if (!plan || plan->group)
        return;
    open_init_class (plan, priority, group);
    struct limit_state *limit = plan->charged ? group_limit (self, plan) : NULL;
    if (limit)
        limit->busy++;
}

// -- creation and reset

struct core *core_new (const struct core_bounds *bounds)
{
    struct core *self = memory_new (sizeof *self);
    self->bounds = *bounds;
    self->memory.size = sizeof (struct open_plan);
    self->gathering = &self->rows[0];
    self->batch = 1;
    self->last_failure = &self->first_failure;
    self->rate_wake_us = self->ready_us = INT64_MAX;
    self->cursor.score_us = INT64_MIN;
    return self;
}

void core_set_bounds (struct core *self, const struct core_bounds *bounds)
{
    self->bounds = *bounds;
    tallies_free (&self->callers);
}

uint64_t core_resets (const struct core *self)
{
    return self->resets;
}

void core_reset (struct core *self)
{
    self->resets++;
    for (struct table_node *node = table_step (&self->open, NULL), *next; node; node = next) {
        next = table_step (&self->open, node);
        open_close (self, (struct open_plan *)node);
    }
    for (struct core_target *target = self->first_target, *next; target; target = next) {
        next = target->next_target;
        ready_free (&target->ready);
        ready_free (&target->exempt);
        free (target->offers.at);
        free (target);
    }
    table_free (&self->targets);
    self->first_target = self->page_target = NULL;
    self->cuts = self->uncut_bytes = 0;
    tallies_free (&self->callers);
    tallies_free (&self->counts);
    reports_free (&self->reports);
    reports_free (&self->reports_in_flight);
    self->unread_count = 0;
    team_destroy (&self->returned_team);
    window_restart (self);
    self->ahead_until_us = 0;
    self->reading = self->tokens_changed = false;
    self->rate_wake_us = self->ready_us = INT64_MAX;
    // Write no numbers before they are read: another owner may have raised them.
    self->exec_written = self->exec_id;
    self->plan_id_written = self->plan_id;
    self->seq_written = self->seq;
    self->new_epoch = false;
    self->touched.count = self->batch_plans.count = 0;
    self->message_bytes = 0;
    if (self->in_flight)
        self->batch++; // the open batch is not written
    self->in_flight = NULL;
    rows_clear (&self->rows[0]);
    rows_clear (&self->rows[1]);
    limits_free (&self->limits);
}

void core_destroy (struct core **self_p)
{
    struct core *self = *self_p;
    if (!self)
        return;
    core_reset (self);
    table_free (&self->open);
    pool_clear (&self->memory);
    for (struct broadcast_failure *failure = self->first_failure, *next; failure; failure = next) {
        next = failure->next;
        free (failure);
    }
    table_free (&self->failures);
    heap_free (&self->leases);
    heap_free (&self->busy);
    free (self->unread);
    free (self->window.plans);
    free (self->touched.at);
    free (self->batch_plans.at);
    rows_free (&self->rows[0]);
    rows_free (&self->rows[1]);
    free (self);
    *self_p = NULL;
}

// -- lists of runs

size_t core_running (const struct core *self, struct span target, uint64_t after, uint64_t *ids,
                     size_t most)
{
    size_t count = 0;
    for (struct table_node *node = NULL; (node = table_step (&self->open, node));) {
        const struct open_plan *plan = (const struct open_plan *)node; // it is the first member
        bool full = count == most;
        if (!open_has_run (plan) || plan->gone || plan->id <= after ||
            (target.size && !span_is (target, plan->target->name)) ||
            (full && plan->id > ids[count - 1]))
            continue;
        size_t at = full ? count - 1 : count++;
        for (; at && ids[at - 1] > plan->id; at--)
            ids[at] = ids[at - 1];
        ids[at] = plan->id;
    }
    return count;
}

void core_subtract_leases (const struct core *self, int64_t from_s, int64_t step_s, int64_t *counts,
                           size_t count)
{
    int64_t from_us = from_s * 1000000, step_us = step_s * 1000000;
    for (struct table_node *node = NULL; (node = table_step (&self->open, node));) {
        const struct open_plan *plan = (const struct open_plan *)node; // it is the first member
        if (!open_has_run (plan) || !plan->placed || !plan->queued || plan->score_us < from_us)
            continue;
        size_t at = (size_t)((plan->score_us - from_us) / step_us);
        if (at < count)
            counts[at]--;
    }
}
