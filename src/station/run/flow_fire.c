#include "fire.h"

#include <inttypes.h>
#include <stdlib.h>

#include "apply.h"
#include "codes.h"
#include "failpoint.h"
#include "flow_book.h"
#include "flow_live.h"
#include "flow_runs_private.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"
#include "publish.h"
#include "submit_flow.h"

// A claimed flow plan, or a claimed timer of a step.
struct firing {
    struct station *station;
    struct plan *plan; // in its running state
    bool of_step;      // the plan belongs to a flow's step: `step`
    struct plan_step step;
    enum flow_claim claim;
    uint64_t exec_id;
    char key_station[STATION_NAME_MAX + 1];
    const struct flow *flow; // with a reference held; NULL = not loaded yet
    char *failure;           // for a timer: the last failure of its call; NULL = none
    int version;
    int tries;
};

static void firing_destroy (struct firing *self)
{
    if (self->flow)
        flow_book_release (self->station, self->flow);
    plan_destroy (&self->plan);
    free (self->failure);
    free (self);
}

static void set_plan (struct firing *self, struct plan *plan)
{
    plan_destroy (&self->plan);
    self->plan = plan;
    self->of_step = plan_step_parse (plan->step, &self->step);
}

// Whether this run undoes a sub-flow with the undo steps of that flow.
static bool is_undo_run (const struct firing *self)
{
    return self->of_step && self->step.kind == STEP_UNDO;
}

// Whether this run is that of a sub-flow.
static bool is_sub_flow (const struct firing *self)
{
    return self->of_step && self->step.kind == STEP_FLOW;
}

// Whether another plan of the run, that of its call or of its schedule, supersedes this one. A
// command placed this one to reopen an ended run (flow_live_reopen). It is then removed, so that
// the run has one outcome.
static bool is_superseded (const struct firing *self, const struct flow_live *live)
{
    return live->plan_id != self->plan->id && !self->plan->step.size &&
           self->plan->schedule.type == SCHEDULE_NONE;
}

// -- the end of the flow plan's run

// End the run of the flow plan as if a target had answered with this status.
static void end_plan (struct firing *self, enum cause cause, uint8_t status, const char *reason,
                      const json_t *output)
{
    struct station *station = self->station;
    struct message message;
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[MESSAGE_FRAMES_MAX];
    char *json = output ? json_dumps (output, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    struct run run = {self->exec_id, RUN_RUNNING, false};
    struct answer answer = {.status = status, .has_exec_id = true, .exec_id = self->exec_id};
    message_start (&message, status);
    if (json)
        message_add (&message, ZERO_FRAME_JSON, span_text (json));
    message_layout (&message, desc, frames);
    message.desc_bytes = frames[0];
    apply_outcome (station,
                   &(struct run_outcome){.plan = self->plan,
                                         .key_station = span_text (self->key_station),
                                         .run = &run,
                                         .cause = cause,
                                         .answer = cause == CAUSE_ANSWER ? &answer : NULL,
                                         .message = cause == CAUSE_ANSWER ? &message : NULL,
                                         .reason = reason && *reason ? reason : NULL});
    free (json);
    firing_destroy (self);
    station_resume (station);
}

// Re-queue the plan, as nothing could be decided now: it is claimed again a little later.
static void requeue_firing (struct firing *self)
{
    struct run run = {self->exec_id, RUN_SENT, false};
    apply_outcome (self->station,
                   &(struct run_outcome){.plan = self->plan,
                                         .key_station = span_text (self->key_station),
                                         .run = &run,
                                         .cause = CAUSE_NO_SLOT});
    firing_destroy (self);
}

static void fail_run (struct firing *self, const char *reason)
{
    end_plan (self, CAUSE_ANSWER, ZERO_STATUS_FAILED_ID, reason, NULL);
}

// Fail a run whose stored data are damaged. Its calls in flight continue, and their results are
// ignored.
static void fail_damaged (struct firing *self, const char *damage)
{
    struct reason reason;
    reason_set (&reason, "the rows of its run do not fit together: %s", damage);
    fail_run (self, reason.text);
}

// Write the reason of a failed run, such as "load: disk full".
static void format_failure (const struct flow_live *live, char *text, size_t size)
{
    const char *name = json_string_value (json_array_get (live->run->uncaught, 0));
    int64_t step = name ? flow_find (live->flow, name) : -1;
    const struct flow_data *data = step >= 0 ? live->run->data[step] : NULL;
    const char *why = data && data->error ? data->error : "failed";
    size_t more = json_array_size (live->run->uncaught);
    *text = '\0';
    if (live->run->error)
        snprintf (text, size, "%s", live->run->error);
    else if (more > 1)
        snprintf (text, size, "%s and %zu other steps: %s", name, more - 1, why);
    else if (name)
        snprintf (text, size, "%s: %s", name, why);
}

// End the run of the flow plan with the outcome of the ended flow run.
static void end_plan_with_run (struct firing *self, const struct flow_live *live)
{
    char reason[REASON_MAX];
    FAILPOINT ("flow_over");
    format_failure (live, reason, sizeof reason);
    if (is_undo_run (self) || live->run->outcome == FLOW_WELL)
        end_plan (self, CAUSE_ANSWER, ZERO_STATUS_OK_ID, NULL, live->run->output);
    else if (live->run->outcome == FLOW_STOPPED)
        end_plan (self, CAUSE_CANCEL, ZERO_STATUS_CANCELLED_ID,
                  *reason ? reason : "the run was cancelled", NULL);
    else if (live->run->outcome == FLOW_LATE)
        end_plan (self, CAUSE_TIMEOUT, ZERO_STATUS_TIMEOUT_ID, reason, NULL);
    else
        fail_run (self, reason);
}

// -- starting or retrying a run

static const struct decision in_progress = {.commit = COMMIT_LEASE};

static void on_run_committed (void *owner, const struct store_committed *answer);
static void on_former_run (void *owner, bool found, const char *damage);

// The run that called this sub-flow and has not called it again since; NULL: none is known.
static struct flow_live *find_caller (const struct firing *self)
{
    const struct plan_step *call = &self->step;
    struct flow_live *caller =
        is_sub_flow (self) ? flow_live_find (self->station, call->run) : NULL;
    return caller && flow_generation_of (caller->run, call->step, call->item) == call->generation
               ? caller
               : NULL;
}

static void begin_flow_run (void *owner)
{
    struct firing *self = owner;
    struct reason reason;
    json_t *input = submit_input_of (self->plan);
    struct flow_live *live =
        flow_live_begin (self->station, &(struct flow_begin){.run = self->plan->flow_run,
                                                             .plan_id = self->plan->id,
                                                             .exec_id = self->exec_id,
                                                             .plan = self->plan,
                                                             .flow = self->flow,
                                                             .version = self->version});
    flow_live_apply (live,
                     &(struct flow_event){.kind = FLOW_BEGIN,
                                          .item = -1,
                                          .value = input,
                                          .params = json_object_get (live->inherit, "params")},
                     &reason);
    struct flow_live *caller = find_caller (self);
    if (caller) // the step shows this run from now on
        flow_call_set_run (caller, self->step.step, self->step.item, self->plan->flow_run);
    json_decref (input);
}

// Retry a run: its failed steps are reset and the run keeps its id; after an undo all steps are. If
// nothing can be retried, for example because the params were invalid, the run restarts.
static void retry_flow_run (void *owner)
{
    struct firing *self = owner;
    struct station *station = self->station;
    struct flow_live *live = flow_live_find (station, self->plan->flow_run);
    struct reason reason;
    bool undo = is_undo_run (self);
    if (live && is_superseded (self, live)) {
        store_set_flow_due (station->store, span_text (self->key_station), self->plan->id,
                            store_now_us (station->store));
        return;
    }
    if (live) {
        if (live->plan_id != self->plan->id)
            flow_live_set_due (live, store_now_us (station->store)); // removes the superseded plan
        bool by_command = !live->exec_id && live->plan_id == self->plan->id;
        live->exec_id = self->exec_id;
        live->plan_id = self->plan->id; // before flow_live_start_timeout
        flow_live_start_timeout (live, self->plan);
        flow_live_adopt (live, self->plan->id);
        if (live->run->phase != FLOW_ENDED)
            return;
        // A command has reset the run, or an operator has resolved it.
        if (!undo && (by_command || live->run->outcome == FLOW_WELL)) {
            flow_live_set_due (live, store_now_us (station->store));
            return;
        }
        if (undo &&
            flow_live_apply (live, &(struct flow_event){.kind = FLOW_UNDO, .item = -1}, &reason))
            return;
        if (!undo &&
            flow_live_apply (
                live,
                &(struct flow_event){.kind = FLOW_RETRY, .item = -1, .restart = live->run->undone},
                &reason))
            return;
        self->flow = self->flow ? self->flow : flow_book_hold (station, live->flow);
        self->version = live->version;
    }
    begin_flow_run (self);
}

// Commit the plan as running; `add_calls` adds its first calls to the same batch.
static void commit_run (struct firing *self, void (*add_calls) (void *owner))
{
    struct plan *plan = self->plan;
    int64_t revision = plan->revision;
    plan->revision = station_revision ();
    plan->last_state = ZERO_STATUS_RUNING_ID;
    store_commit (self->station->store,
                  &(struct store_commit){.plan = plan,
                                         .revision = revision,
                                         .key_station = span_text (self->key_station),
                                         .exec_id = self->exec_id,
                                         .decision = &in_progress,
                                         .lease_s = FLOW_CHECK_S,
                                         .flow = true,
                                         .then = add_calls},
                  on_run_committed, self);
}

static void begin_run (struct firing *self)
{
    bool retry = self->plan->flow_run && self->claim == FLOW_CLAIM_RETRY;
    if (!retry)
        self->plan->flow_run = self->exec_id;
    commit_run (self, retry ? retry_flow_run : begin_flow_run);
}

static void publish_run_begun (struct station *self, const struct plan *plan)
{
    char *json = publish_has_event_subscribers (self) ? plan_public_text (plan) : NULL;
    publish_event (self, &(struct notice){.event = ZPLAN_EVENT_EXEC,
                                          .plan_id = plan->id,
                                          .station = plan->station,
                                          .title = plan->description,
                                          .json = json});
    free (json);
}

static void on_run_committed (void *owner, const struct store_committed *answer)
{
    struct firing *self = owner;
    struct station *station = self->station;
    struct reason reason;
    struct plan *plan = NULL;
    if (answer->result == STORE_CHANGED && ++self->tries < CHANGE_TRIES_MAX)
        plan = plan_from_stored_json (self->plan->id, answer->message, &reason);
    if (plan) { // an admin changed it in between
        plan->flow_run = self->plan->flow_run;
        plan->exec_id = self->exec_id;
        plan->state = PLAN_EXECUTE;
        set_plan (self, plan);
        if (self->claim == FLOW_CLAIM_RETRY && plan->flow_run)
            flow_runs_load (station, plan->flow_run, on_former_run, self);
        else
            begin_run (self);
        return;
    }
    if (answer->result == STORE_DONE) {
        FAILPOINT ("flow_begun");
        publish_run_begun (station, self->plan);
    } else {
        log_event (LEVEL_WARN, "flow.not_begun", "plan=%" PRIx64 " error=%s", self->plan->id,
                   quoted (span_text (answer->error ? answer->error : "")));
    }
    firing_destroy (self);
    station_resume (station);
}

static void on_definition (void *owner, const struct flow *flow, int version, const char *reason)
{
    struct firing *self = owner;
    if (!flow) {
        fail_run (self, reason);
        return;
    }
    if (self->of_step && self->step.depth > FLOW_DEPTH_MAX) {
        fail_run (self, "sub-flows nest at most 16 levels");
        return;
    }
    if (self->flow)
        flow_book_release (self->station, self->flow);
    self->flow = flow_book_hold (self->station, flow);
    self->version = version;
    begin_run (self);
}

static void on_former_run (void *owner, bool found, const char *damage)
{
    struct firing *self = owner;
    if (damage)
        fail_damaged (self, damage);
    else if (!found && is_undo_run (self))
        fail_run (self, "the run that is to be undone was removed"); // an undo must not start a run
    else if (!found)
        flow_book_get (self->station, self->key_station, 0, on_definition, self);
    else if (flow_runs_has (self->station, self->plan->flow_run))
        begin_run (self);
    else
        requeue_firing (self);
}

// -- checking a run in progress

// Check the loaded run in progress: end, time out, or continue it.
static void check_live_run (struct firing *self)
{
    struct flow_live *live = flow_live_find (self->station, self->plan->flow_run);
    int64_t now_ms = store_now_us (self->station->store) / 1000;
    struct reason reason;
    if (is_superseded (self, live)) {
        struct span target = span_text (self->key_station);
        store_delete_plan (self->station->store, target, self->plan->id, self->plan->caller);
        flow_events_plan_deleted (live, target, self->plan->id);
        flow_events_publish (live);
        firing_destroy (self);
        return;
    }
    // The calling run may have cancelled this one, and its flow plan may be gone: if the owner died
    // in between, nobody else completes the cancellation.
    struct flow_live *caller = find_caller (self);
    if (caller)
        flow_call_check (caller, self->step.step, self->step.item);
    if (live->run->phase == FLOW_ENDED && is_undo_run (self) && !live->run->undone &&
        flow_live_apply (live, &(struct flow_event){.kind = FLOW_UNDO, .item = -1}, &reason)) {
        firing_destroy (self); // a command had reset the run when its undo began
        return;
    }
    if (live->run->phase == FLOW_ENDED) {
        end_plan_with_run (self, live);
        return;
    }
    FAILPOINT ("flow_more");
    bool late = live->timeout_ms && now_ms >= live->timeout_ms;
    if (late)
        live->timeout_ms = 0;
    flow_live_set_due (live, flow_live_next_us (live));
    flow_calls_check (live); // first: unfinished work makes the run due at once
    flow_live_apply (
        live, &(struct flow_event){.kind = late ? FLOW_TIMEOUT : FLOW_CHECK, .item = -1}, &reason);
    firing_destroy (self);
}

static void on_caller (void *owner, bool found, const char *damage)
{
    struct firing *self = owner;
    (void)damage;
    if (flow_runs_has (self->station, self->plan->flow_run) &&
        (!found || flow_runs_has (self->station, self->step.run)))
        check_live_run (self);
    else
        firing_destroy (self); // Redis is away: it is claimed again when its lease expires
}

static void on_run (void *owner, bool found, const char *damage)
{
    struct firing *self = owner;
    if (damage)
        fail_damaged (self, damage);
    else if (!found)
        fail_run (self, "the run of the flow is gone");
    else if (is_sub_flow (self))
        flow_runs_load (self->station, self->step.run, on_caller, self);
    else if (flow_runs_has (self->station, self->plan->flow_run))
        check_live_run (self);
    else
        firing_destroy (self);
}

// -- timers of steps

// Remove the timer and end its step: the wait, the signal or the call has timed out.
static void expire_timer (struct firing *self)
{
    struct station *station = self->station;
    FAILPOINT ("flow_timer");
    // The step may have ended since the claim.
    if (store_exec_id (station->store, self->plan->id) == self->exec_id) {
        store_delete_plan (station->store, span_text (self->key_station), self->plan->id,
                           self->plan->caller);
        flow_runs_ended (station,
                         &(struct flow_call_end){.step = self->step, .text = self->failure});
    }
    firing_destroy (self);
}

static void on_timer_run (void *owner, bool found, const char *damage)
{
    struct firing *self = owner;
    (void)damage;
    if (!found || flow_runs_has (self->station, self->step.run))
        expire_timer (self); // without the run the timer is only removed
    else
        requeue_firing (self);
}

// The call that the timer watches was loaded: keep its last failure for the report.
static void on_timed_call (void *owner, const struct store_loaded *answer)
{
    struct firing *self = owner;
    struct station *station = self->station;
    struct reason ignored;
    struct plan *call = NULL;
    if (answer->result == STORE_DONE)
        call = plan_from_stored_json (flow_timer_call (&self->step), answer->message, &ignored);
    if (call && call->error_info)
        self->failure = memory_text (call->error_info);
    plan_destroy (&call);
    flow_runs_load (station, self->step.run, on_timer_run, self);
    station_resume (station);
}

// -- a claimed plan

void flow_fire (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                enum flow_claim claim)
{
    struct firing *firing = memory_new (sizeof *firing);
    *firing = (struct firing){.station = self, .claim = claim, .exec_id = claimed->exec_id};
    set_plan (firing, plan_keep (plan));
    memcpy (firing->key_station, claimed->station.data, claimed->station.size);
    bool timer = firing->of_step && firing->step.kind == STEP_TIMER;
    uint64_t call = timer ? flow_timer_call (&firing->step) : plan->id;
    if (call != plan->id)
        store_load (self->store, call, LINK_REPEAT, on_timed_call, firing);
    else if (timer)
        flow_runs_load (self, firing->step.run, on_timer_run, firing);
    else if (claim == FLOW_CLAIM_CHECK)
        flow_runs_load (self, plan->flow_run, on_run, firing);
    else if (claim == FLOW_CLAIM_RETRY && plan->flow_run)
        flow_runs_load (self, plan->flow_run, on_former_run, firing);
    else
        flow_book_get (self, firing->key_station, 0, on_definition, firing);
}
