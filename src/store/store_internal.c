// Writes that flow runs cause: they add and delete plans, and write keys of flows, all in the batch
// of the decision that causes them.
#include "plan_step.h"
#include "store_private.h"

static bool is_step_timer (const struct plan *plan)
{
    return plan->step.size && plan->step.data[0] == STEP_TIMER;
}

void store_submit_internal (struct store *self, const struct plan *plan, enum store_id id)
{
    char caller[CALLER_FIELD_MAX];
    struct core_submission submission = make_core_submission (self, plan, caller);
    submission.made_here = id == STORE_ID_MADE;
    submission.first = id == STORE_ID_FIRST;
    if (is_step_timer (plan))
        submission.group = span_text (CORE_EXEMPT_GROUP);
    core_submit_internal (self->core, &submission, store_now_us (self));
}

void store_delete_plan (struct store *self, struct span station, uint64_t plan_id,
                        struct span caller)
{
    char field[CALLER_FIELD_MAX];
    caller_field_make (self, caller, field);
    core_remove (
        self->core,
        &(struct core_removal){.target = station, .id = plan_id, .caller = span_text (field)},
        store_now_us (self));
}

bool store_drop_stopped (struct store *self, const struct plan *plan)
{
    struct core_view view;
    bool ended = plan_stop_state (plan) == STOP_DEAD || plan->state == PLAN_CLOSE;
    if (!ended || core_view (self->core, plan->id, &view))
        return false; // the core has the plan in memory: it may be changing
    store_delete_plan (self, plan->station, plan->id, plan->caller);
    store_write_stop_state (self, plan->station, plan->id, STOP_NONE);
    return true;
}

uint64_t store_exec_id (const struct store *self, uint64_t plan_id)
{
    struct core_view view;
    return core_view (self->core, plan_id, &view) && !view.gone ? view.exec_id : 0;
}

bool store_is_submitting (const struct store *self, uint64_t plan_id)
{
    struct core_view view;
    return core_view (self->core, plan_id, &view) && !view.gone && !view.settled;
}

void store_set_flow_due (struct store *self, struct span station, uint64_t plan_id, int64_t due_us)
{
    core_set_flow_due (self->core, station, plan_id, due_us);
    store_report_next_due (self);
}

void store_get (struct store *self, const struct span *words, size_t count, link_reply_fn *reply,
                void *owner)
{
    store_send_command (self, LINK_ONCE, words, count, reply, owner);
}

uint64_t store_resets (const struct store *self)
{
    return core_resets (self->core);
}

int64_t store_batch (const struct store *self)
{
    return core_batch (self->core);
}
