// The records of open plans: message, class, position in the queue; and which count toward limits.
#include <stdio.h>
#include <stdlib.h>

#include "core_private.h"
#include "memory.h"
#include "plant.h"

// -- open plans

// Always true, except for the planted bug that does not find plans whose rows are in flight.
static bool is_findable (const struct open_plan *plan)
{
    bool rows_in_flight = plan->batches && !plan->writes && !open_has_run (plan);
    return !PLANTED (OPEN_NOT_KEPT) || !rows_in_flight || plan->submitted || plan->gone;
}

struct open_plan *open_find_id (const struct core *self, uint64_t id)
{
    struct table_node *node = table_find (&self->open, table_hash_number (id));
    while (node &&
           (((struct open_plan *)node)->id != id || !is_findable ((struct open_plan *)node)))
        node = table_next (node);
    return (struct open_plan *)node; // it is the first member
}

struct open_plan *open_find_in (const struct core *self, const struct core_target *target,
                                uint64_t id)
{
    struct table_node *node = table_find (&self->open, table_hash_number (id));
    for (; node; node = table_next (node)) {
        struct open_plan *plan = (struct open_plan *)node;
        if (plan->id == id && plan->target == target && is_findable (plan))
            return plan;
    }
    return NULL;
}

struct open_plan *open_find (const struct core *self, struct span target, uint64_t id)
{
    struct core_target *known = core_find_target (self, target);
    return known ? open_find_in (self, known, id) : NULL;
}

struct open_plan *open_find_run (const struct core *self, struct span target, uint64_t id,
                                 uint64_t exec_id)
{
    struct open_plan *plan = open_find (self, target, id);
    bool current = plan && !plan->gone && open_has_run (plan) && plan->exec_id == exec_id;
    return current ? plan : NULL;
}

struct open_plan *open_find_or_add (struct core *self, struct core_target *target, uint64_t id)
{
    struct open_plan *plan = open_find_in (self, target, id);
    if (plan)
        return plan;
    plan = pool_new (&self->memory);
    plan->id = id;
    plan->target = target;
    plan->revision = -1;
    table_add (&self->open, &plan->node, table_hash_number (id));
    return plan;
}

bool open_has_run (const struct open_plan *plan)
{
    return plan->flight != FLIGHT_NONE && plan->flight != FLIGHT_EARLIER;
}

static void drop_message (struct open_plan *plan)
{
    if (!plan->lent)
        free (plan->message);
    plan->message = NULL;
    plan->message_size = 0;
    plan->lent = false;
}

void open_set_message (struct core *self, struct open_plan *plan, struct span message,
                       int64_t revision)
{
    drop_message (plan);
    plan->message = memory_copy (message.data, message.size);
    plan->message_size = (uint32_t)message.size;
    plan->revision = revision;
    self->message_bytes += message.size;
    plan->writes &= (uint8_t)~WRITE_HEAD; // the head belongs to the former message
    open_mark_written (self, plan, WRITE_MESSAGE);
    if (plan->pull)
        pull_read_rule (plan);
}

void open_set_caller (struct open_plan *plan, struct span caller)
{
    free (plan->caller);
    plan->caller = caller.size ? memory_copy (caller.data, caller.size) : NULL;
}

void open_init_class (struct open_plan *plan, int priority, struct span group)
{
    plan->priority = (uint8_t)priority;
    plan->group = group.size ? memory_copy (group.data, group.size) : NULL;
}

void open_set_class (struct core *self, struct open_plan *plan, int priority, struct span group)
{
    bool had = plan->priority || plan->group;
    if (plan->priority == priority && span_equal (open_group (plan), group))
        return;
    struct limit_state *old = plan->charged ? group_limit (self, plan) : NULL;
    free (plan->group);
    open_init_class (plan, priority, group);
    struct limit_state *new = plan->charged ? group_limit (self, plan) : NULL;
    if (old) // its run counts toward the limit of the new group now
        limit_end_run (old);
    if (new)
        new->busy++;
    self->classes = true;
    if (had || priority || group.size)
        open_mark_written (self, plan, WRITE_CLASS);
}

char *open_class (const struct open_plan *plan)
{
    const char *group = plan->group ? plan->group : "";
    size_t room = 8 + strlen (group);
    if (!plan->priority && !*group)
        return NULL;
    char *class = memory_new (room);
    snprintf (class, room, "%d:%s", plan->priority, group);
    return class;
}

// The plan leaves its position in the queue. If it was ready, its ready entry becomes stale.
static void leave_queue_position (struct core *self, const struct open_plan *plan)
{
    bool has_run = open_has_run (plan);
    bool was_ready =
        plan->placed && plan->queued && !plan->chosen && !plan->submitted &&
        core_cursor_covers (self, plan->target, plan->id, plan->score_us) &&
        (has_run ? plan->lease_expired : plan->prepared || plan->score_us <= self->ahead_until_us);
    if (was_ready && !has_run && !plan->prepared &&
        is_cut (plan->target, plan->id, plan->score_us, plan->priority))
        cut_uncount (plan->target);
    else
        self->stale += was_ready;
}

void open_unqueue (struct core *self, struct open_plan *plan)
{
    leave_queue_position (self, plan);
    plan->placed = true;
    plan->queued = plan->lease_expired = false;
    heap_remove (&self->leases, &plan->lease);
    open_mark_written (self, plan, WRITE_QUEUE);
}

void open_queue (struct core *self, struct open_plan *plan, int64_t score_us)
{
    leave_queue_position (self, plan);
    plan->placed = plan->queued = true;
    plan->lease_expired = false;
    plan->score_us = score_us;
    if (!open_has_run (plan))
        heap_remove (&self->leases, &plan->lease);
    else
        heap_set (&self->leases, &plan->lease, score_us);
    open_mark_written (self, plan, WRITE_QUEUE);
}

void open_mark_written (struct core *self, struct open_plan *plan, unsigned writes)
{
    struct plan_list *list = &self->touched;
    if (!plan->writes && writes) {
        list->at = memory_grow (list->at, list->count, &list->room, sizeof *list->at);
        list->at[list->count++] = (struct written_plan){plan, 0};
        plan->batches++;
    }
    plan->writes |= (uint8_t)writes;
}

void open_close (struct core *self, struct open_plan *plan)
{
    table_remove (&self->open, &plan->node);
    heap_remove (&self->leases, &plan->lease);
    if (plan->pull)
        pull_drop_record (self, plan);
    drop_message (plan);
    free (plan->group);
    free (plan->caller);
    pool_free (&self->memory, plan);
}

void open_close_if_idle (struct core *self, struct open_plan *plan, int64_t now_us)
{
    struct core_target *target = plan->target;
    if (plan->batches || plan->chosen || plan->prefetching || (open_has_run (plan) && !plan->gone))
        return;
    bool dropped = PLANTED (WINDOW_DROPPED) && plan->score_us > now_us + PREPARED_US;
    plan->prepared = false;
    if (plan->gone || !plan->placed || !plan->queued || dropped ||
        !core_cursor_covers (self, target, plan->id, plan->score_us)) {
        open_close (self, plan);
        return;
    }
    if (plan->score_us > now_us + PREPARED_US) {
        window_push (self,
                     (struct window_plan){plan->score_us, plan->id, target, open_class (plan)});
        open_close (self, plan);
        return;
    }
    bool ready = core_place_ready (self, target, (struct ready_plan){plan->score_us, plan->id},
                                   plan->priority, open_group (plan));
    if (ready && plan->score_us < self->ready_us)
        self->ready_us = plan->score_us;
    plan->prepared = ready && plan->message && plan->message_size <= PREPARED_BYTES &&
                     self->open.count < PREPARED_MAX;
    if (!plan->prepared)
        open_close (self, plan);
}

// -- limits

struct limit_state *group_limit (const struct core *self, const struct open_plan *plan)
{
    return plan->group ? limits_find_for (&self->limits, 'g', plan->group) : NULL;
}

// Whether no limits apply to the plan, as its group is CORE_EXEMPT_GROUP.
static bool is_exempt (const struct open_plan *plan)
{
    return plan->group && strcmp (plan->group, CORE_EXEMPT_GROUP) == 0;
}

void open_charge (struct core *self, struct open_plan *plan, int64_t now_us)
{
    if (is_exempt (plan))
        return;
    struct limit_state *limits[] = {plan->target->limit, group_limit (self, plan)};
    plan->charged = true;
    for (int i = 0; i < 2; i++)
        if (limits[i] && limit_begin_run (limits[i], now_us))
            limits[i]->unwritten = self->tokens_changed = true;
}

void open_charge_running (struct core *self, struct open_plan *plan)
{
    if (is_exempt (plan))
        return;
    struct limit_state *limits[] = {plan->target->limit, group_limit (self, plan)};
    plan->charged = true;
    for (int i = 0; i < 2; i++)
        if (limits[i])
            limits[i]->busy++;
}

void open_charge_flow (struct core *self, struct open_plan *plan)
{
    if (plan->flow_charged)
        return;
    open_discharge (self, plan);
    plan->flow_charged = true;
    if (plan->target->limit)
        plan->target->limit->busy++;
}

void open_discharge (struct core *self, struct open_plan *plan)
{
    if (plan->flow_charged && plan->target->limit)
        limit_end_run (plan->target->limit);
    plan->flow_charged = false;
    if (!plan->charged)
        return;
    struct limit_state *group = group_limit (self, plan);
    plan->charged = false;
    if (plan->target->limit)
        limit_end_run (plan->target->limit);
    if (group)
        limit_end_run (group);
}
