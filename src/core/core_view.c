// Queries: what the core knows of plans and targets.
#include "core_private.h"

bool core_view (const struct core *self, uint64_t id, struct core_view *ret)
{
    const struct open_plan *plan = open_find_id (self, id);
    if (!plan)
        return false;
    bool has_run = open_has_run (plan);
    *ret = (struct core_view){.gone = plan->gone,
                              .submitted = plan->submitted,
                              .settled = !plan->batches,
                              .target = core_target_name (plan->target),
                              .message = span_of (plan->message, plan->message_size),
                              .revision = plan->revision,
                              .placed = plan->placed,
                              .queued = plan->queued,
                              .score_us = plan->score_us,
                              .counted = plan->charged,
                              .exec_id = has_run ? plan->exec_id : 0,
                              .earlier_may_answer = plan->earlier_may_answer,
                              .no_status = plan->flight == FLIGHT_NO_STATUS,
                              .offered = plan->flight == FLIGHT_OFFERED};
    return true;
}

bool core_is_ready (const struct core *self, struct span target, uint64_t id, int64_t score_us)
{
    const struct core_target *known = core_find_target (self, target);
    return known && score_us <= self->ahead_until_us &&
           core_cursor_covers (self, known, id, score_us);
}

void core_each_target (const struct core *self, core_target_fn *call, void *owner)
{
    for (const struct core_target *known = self->first_target; known; known = known->next_target)
        if (known->plans > 0)
            call (owner, core_target_name (known), known->plans);
}

int64_t core_unread (const struct core *self, struct span target)
{
    const struct core_target *known = core_find_target (self, target);
    return known ? known->unread : 0;
}

int64_t core_ready (const struct core *self, struct span target)
{
    const struct core_target *known = core_find_target (self, target);
    return known ? (int64_t)(known->ready.count + known->exempt.count) : 0;
}

int64_t core_before (const struct core *self, struct span target, int priority, struct span group,
                     int64_t due_us, uint64_t id)
{
    const struct core_target *known = core_find_target (self, target);
    return known ? ready_count_before (&known->ready, priority, group, due_us, id) : 0;
}
