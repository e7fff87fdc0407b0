// cancel: read the plan, find its run or restore it from Redis, decide and write. The target is
// notified at once; the requester is answered when the decision is written.
#include <stdlib.h>

#include "cancel.h"
#include "manage_flow_plan.h"
#include "manage_private.h"
#include "manage_flow_step.h"
#include "memory.h"
#include "reads.h"
#include "results.h"
#include "utf8.h"

struct cancel_request {
    struct inquiry inquiry;
    char reason[REASON_MAX];
    uint64_t exec_id;
    bool notified;         // the target of the run has been notified
    bool pull;             // its workers are notified at their next heartbeat
    struct step_name step; // the step, if one was named; run 0 = a plan was named
};

static void on_written (void *owner, enum store_result result)
{
    struct cancel_request *self = owner;
    json_int_t id = (json_int_t)self->inquiry.plan.id;
    if (result == STORE_DONE) {
        json_t *object = json_pack ("{s:I, s:I, s:b}", "plan_id", id, "exec_id",
                                    (json_int_t)self->exec_id, "told", self->notified);
        if (self->pull)
            json_object_set_new (object, "pull", json_true ());
        manage_reply_json (self->inquiry.station, self->inquiry.peer, self->inquiry.plan.id,
                           object);
    } else if (result == STORE_HELD || result == STORE_CHANGED) {
        reply_refuse (self->inquiry.station, self->inquiry.peer, ZPLAN_EARGUMENT,
                      "cancel: the run has just ended");
    } else {
        inquiry_refuse (&self->inquiry, result, "the write was lost");
    }
    free (self);
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct cancel_request *self = owner;
    struct station *station = self->inquiry.station;
    // A key that may cancel a flow's run may cancel its steps, whatever their targets.
    enum store_result result =
        self->step.run ? answer->result : inquiry_check (&self->inquiry, answer);
    struct active_run *active = NULL;
    if (result == STORE_DONE && (answer->running || self->step.run)) {
        struct inquiry *inquiry = memory_new (sizeof *inquiry);
        *inquiry = self->inquiry;
        if (manage_flow_plan (inquiry, answer,
                              self->step.run ? FLOW_PLAN_CANCEL_STEP : FLOW_PLAN_CANCEL,
                              self->reason, NULL)) {
            link_flush (store_link (station->store));
            free (self);
            return;
        }
        free (inquiry);
        active = results_restore_run (station, self->inquiry.plan.id, answer);
    }
    if (active && active->run.exec_id == answer->exec_id) {
        const struct target *target = station_target (station, span_text (active->key_station));
        self->exec_id = active->run.exec_id;
        self->pull = target && target_type (target) == TARGET_PULL;
        self->notified = cancel_run (active, self->reason, on_written, self);
        link_flush (store_link (station->store));
        return;
    }
    if (result == STORE_DONE)
        reply_refuse (station, self->inquiry.peer, ZPLAN_EARGUMENT,
                      "cancel: no run of the plan is in progress; `close` ends the plan");
    else
        inquiry_refuse (&self->inquiry, result, answer->error);
    free (self);
}

// Cancel the plan of the step if its call is in flight, else refuse.
static void on_step (void *owner, struct flow_live *live, uint32_t step)
{
    struct cancel_request *self = owner;
    struct station *station = self->inquiry.station;
    bool parked = live && flow_undo_is_parked (live, step, self->step.item);
    if (live && !parked && flow_call_in_flight (live, step, self->step.item)) {
        self->inquiry.plan.id = flow_call_id (live, step, self->step.item);
        reads_load (station, self->inquiry.peer, self->inquiry.plan.id, on_loaded, self);
        return;
    }
    if (live) {
        const struct flow_data *data = live->run->data[step];
        bool items = data && data->items && self->step.item < 0;
        reply_refuse_format (station, self->inquiry.peer, ZPLAN_EARGUMENT,
                             "cancel: no call of %s is in flight%s", self->step.step,
                             parked  ? "; its undo has failed: `reset` tries again, `done` goes on"
                             : items ? ": name an item, as STEP.0"
                                     : "; `flow skip` resolves a step");
    }
    free (self);
}

int manage_cancel (struct station *self, struct request *request)
{
    struct plan_name plan = {0};
    struct step_name step;
    bool of_step = step_name_parse (request->args[0], &step);
    int rc = of_step ? 0 : manage_plan_name (self, request, request->args[0], &plan);
    if (rc)
        return rc;
    struct cancel_request *cancel = memory_new (sizeof *cancel);
    struct span remark = request->args[1];
    cancel->inquiry = (struct inquiry){self, peer_keep (self, request), plan};
    size_t size = (size_t)snprintf (cancel->reason, sizeof cancel->reason, "cancelled%s",
                                    remark.size ? ": " : "");
    size += utf8_copy_text (remark, sizeof cancel->reason - 1 - size, cancel->reason + size);
    cancel->reason[size] = '\0';
    if (of_step) {
        cancel->step = step;
        step_find (self, cancel->inquiry.peer, "cancel", &step, on_step, cancel);
    } else {
        reads_load (self, cancel->inquiry.peer, plan.id, on_loaded, cancel);
    }
    return 0;
}
