#include "manage_flow_plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cancel.h"
#include "flow_live.h"
#include "memory.h"
#include "permit.h"
#include "plan_json.h"
#include "publish.h"
#include "results.h"

struct flow_command {
    struct inquiry *inquiry;
    enum flow_plan_command command;
    struct plan *plan;
    uint64_t run, exec_id;
    bool plan_removed; // the plan was removed by this command, not by the end of its run
    char key_station[STATION_NAME_MAX + 1], reason[REASON_MAX];
    void (*remove_plan) (struct inquiry *inquiry, const char *station);
};

static void flow_command_end (struct flow_command *self)
{
    plan_destroy (&self->plan);
    free (self);
}

static void refuse_command (struct flow_command *self, enum wire_error error, const char *reason)
{
    struct station *station = self->inquiry->station;
    reply_refuse (station, self->inquiry->peer, error, reason);
    free (self->inquiry);
    flow_command_end (self);
    station_resume (station);
}

static void publish_removed (const struct flow_command *self)
{
    char json[64];
    snprintf (json, sizeof json, "{\"plan_id\":%" PRIu64 "}", self->plan->id);
    publish_event (self->inquiry->station,
                   &(struct notice){.event = ZPLAN_EVENT_REMOVE,
                                    .plan_id = self->plan->id,
                                    .station = span_text (self->key_station),
                                    .json = json});
}

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct flow_command *self = owner;
    struct inquiry *inquiry = self->inquiry;
    char json[96];
    bool cancels = self->command <= FLOW_PLAN_CANCEL_STEP;
    if (cancels)
        snprintf (json, sizeof json,
                  "{\"plan_id\":%" PRIu64 ",\"exec_id\":%" PRIu64 ",\"told\":false}",
                  inquiry->plan.id, self->exec_id);
    char *shown = cancels ? NULL : plan_public_text (self->plan);
    if (result == STORE_DONE)
        manage_reply (inquiry->station, inquiry->peer, inquiry->plan.id, shown ? shown : json);
    free (shown);
    if (result == STORE_DONE && self->plan_removed)
        publish_removed (self);
    inquiry_end (inquiry, result, error);
    flow_command_end (self);
}

static void on_cancelled (void *owner, enum store_result result)
{
    on_written (owner, result, "");
}

// -- the plan of a step: the command ends it, and the run of the flow continues

static void end_step_call (struct flow_command *self)
{
    struct station *station = self->inquiry->station;
    struct flow_call_end end = {.status = self->command == FLOW_PLAN_DONE ? FLOW_OK
                                                                          : FLOW_CALL_CANCELLED};
    plan_step_parse (self->plan->step, &end.step);
    store_delete_plan (station->store, span_text (self->key_station), self->plan->id,
                       self->plan->caller);
    self->plan_removed = true;
    flow_runs_ended (station, &end);
    store_call_when_written (station->store, on_written, self);
}

// -- a flow plan, together with its run

static void cancel_flow_run (struct flow_command *self)
{
    struct station *station = self->inquiry->station;
    struct reason reason = {""};
    char text[REASON_MAX + 16], who[SPEAKER_SIZE], by[SPEAKER_SIZE];
    struct span key = permit_user_in_effect (station, self->inquiry->peer, who);
    // The end of a sub-flow's run also ends its plan and the step of the parent run.
    bool ends = self->command == FLOW_PLAN_REMOVE, removes = ends && !self->plan->step.size;
    snprintf (by, sizeof by, "%.*s", (int)key.size, key.size ? (const char *)key.data : "");
    bool accepted = flow_runs_apply (
        station, self->run,
        &(struct flow_event){
            .kind = FLOW_CANCEL, .item = -1, .force = ends, .text = self->reason, .key = by},
        &reason);
    if (removes) {
        self->inquiry->run_ended = true;
        self->remove_plan (self->inquiry, self->key_station);
        flow_command_end (self);
    } else if (accepted) {
        store_call_when_written (station->store, on_written, self);
    } else {
        snprintf (text, sizeof text, "cancel: %s", reason.text);
        refuse_command (self, ZPLAN_EARGUMENT, text);
    }
}

static void on_run (void *owner, bool found, const char *damage)
{
    struct flow_command *self = owner;
    (void)damage;
    if (found && !flow_runs_has (self->inquiry->station, self->run)) {
        refuse_command (self, ZPLAN_ENET, "Redis was lost meanwhile");
        return;
    } // a run that no longer exists needs nothing
    if (self->plan->step.size && !self->plan->flow_run)
        end_step_call (self);
    else
        cancel_flow_run (self);
}

bool manage_flow_plan (struct inquiry *inquiry, const struct store_loaded *answer,
                       enum flow_plan_command command, const char *why,
                       void (*remove_plan) (struct inquiry *inquiry, const char *station))
{
    struct station *station = inquiry->station;
    struct reason reason;
    struct plan_step step;
    struct plan *plan = plan_from_stored_json (inquiry->plan.id, answer->message, &reason);
    bool is_step = plan && plan_step_parse (plan->step, &step);
    bool has_run = plan && plan->flow_run && answer->running;
    bool step_idle = is_step && !has_run && !answer->running && command != FLOW_PLAN_CANCEL &&
                     (command != FLOW_PLAN_DONE || plan->state == PLAN_ERROR);
    bool step_running = is_step && !has_run && answer->running &&
                        (command == FLOW_PLAN_REMOVE || command == FLOW_PLAN_CLOSE);
    bool flow = has_run && (command <= FLOW_PLAN_CANCEL_STEP || command == FLOW_PLAN_REMOVE ||
                            (command == FLOW_PLAN_CLOSE && is_step));
    if (!step_idle && !step_running && !flow) {
        plan_destroy (&plan);
        return false;
    }
    struct flow_command *self = memory_new (sizeof *self);
    *self = (struct flow_command){.inquiry = inquiry,
                                  .command = command,
                                  .plan = plan,
                                  .run = flow ? plan->flow_run : step.run,
                                  .exec_id = answer->exec_id,
                                  .remove_plan = remove_plan};
    memcpy (self->key_station, answer->station.data, answer->station.size);
    snprintf (self->reason, sizeof self->reason, "%s", why);
    struct active_run *active =
        step_running ? results_restore_run (station, plan->id, answer) : NULL;
    if (active) { // the end of the run ends the plan and the step
        cancel_run (active, self->reason, on_cancelled, self);
        return true;
    }
    flow_runs_load (station, self->run, on_run, self);
    return true;
}
