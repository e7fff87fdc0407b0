#include "apply_private.h"

#include <stdlib.h>

#include "callback_book.h"
#include "clock.h"
#include "codes.h"
#include "failpoint.h"
#include "flow_live.h"
#include "memory.h"
#include "plan_json.h"
#include "plan_message.h"
#include "publish.h"
#include "zones.h"

enum { TRIES_MAX = 16 };

static void applying_destroy (struct applying *self)
{
    plan_destroy (&self->called);
    plan_destroy (&self->callback);
    plan_destroy (&self->ends_callback);
    free (self->step);
    free (self->public_text);
    free (self->title);
    free (self->voter);
    free (self->frames);
    free (self->reason);
    free (self);
}

static void set_outcome_reason (struct applying *self, const char *words)
{
    free (self->reason);
    self->reason = words && *words ? memory_text (words) : NULL;
}

static void on_committed (void *owner, const struct store_committed *answer);

// The store waits this long for a heartbeat. A vote with its own deadline needs none until that
// deadline or the timeout, plus a margin for the station to end it.
int64_t apply_lease_s (const struct station *self, const struct plan *plan)
{
    enum { MARGIN_US = 1999999 }; // one second, and rounding up to whole seconds
    int64_t end_us = engine_poll_end_us (plan) ? engine_run_end_us (plan) : 0;
    int64_t left_s = (end_us - store_now_us (self->store) + MARGIN_US) / 1000000;
    return !end_us ? self->settings->exec_timeout_s : left_s > 1 ? left_s : 1;
}

enum { LEASE_MAX_S = 60 }; // the longest wait for the runs of a station that died

int64_t apply_kept_lease_s (const struct station *self)
{
    int64_t lease_s = self->settings->exec_timeout_s;
    return lease_s < LEASE_MAX_S ? lease_s : LEASE_MAX_S;
}

static int64_t lease_for_cause (const struct station *self, enum cause cause,
                                const struct plan *plan)
{
    return cause == CAUSE_KEPT ? apply_kept_lease_s (self) : apply_lease_s (self, plan);
}

// Extend the lease although a write of it is pending, at most once per 1/LEASE_PART of it: while
// Redis is away, the lease in the pending write ends too early.
static void extend_lease (struct station *self, struct active_run *active, int64_t lease_s)
{
    int64_t now_us = clock_mono_us ();
    if (now_us - active->leasing_us < lease_s * 1000000 / LEASE_PART)
        return;
    active->leasing_us = now_us;
    store_extend_lease (self->store, span_text (active->key_station), active->plan_id,
                        active->run.exec_id, lease_s);
}

// -- the end of a flow's step

// Report the end of the call to the flow, which continues.
static void end_flow_step (struct applying *self)
{
    struct flow_call_end end = {.run = self->flow_run};
    char text[REASON_MAX];
    if (self->orphan || !plan_step_parse (self->step->at[0], &end.step))
        return;
    applying_failure_text (self, text, sizeof text);
    end.value = applying_value (self);
    end.text = text;
    end.status = self->decision.succeeded                   ? FLOW_OK
                 : self->status == ZERO_STATUS_CANCELLED_ID ? FLOW_CALL_CANCELLED
                                                            : FLOW_NOT_OK;
    flow_runs_ended (self->station, &end);
    json_decref (end.value);
}

// Called when the outcome is being written: adds its consequences to the same batch.
static void write_consequences (void *owner)
{
    struct applying *self = owner;
    struct station *station = self->station;
    if (self->callback) {
        store_submit_internal (station->store, self->callback, STORE_ID_MADE);
        callback_book_add (station, self->callback);
        callback_drop_full (station, span_text (self->key_station));
    }
    if (self->ends_callback)
        callback_book_remove (station, self->ends_callback);
    if (self->step)
        end_flow_step (self);
}

// The flow's run of the step was loaded or not found: decide again.
static void on_run_read (void *owner, bool found, const char *damage)
{
    struct applying *self = owner;
    (void)damage;
    self->orphan = !found;
    on_committed (self, &(struct store_committed){.result = STORE_RESET, .error = ""});
}

// Store the reason of the last failure in the plan, but not when the target is away or the
// occurrence was missed: that says nothing about the job.
static void set_last_error (const struct applying *self, struct plan *plan)
{
    bool failed = self->decision.broadcast == BROADCAST_RESULT &&
                  plan->last_state >= ZERO_STATUS_ERROR_FLAG &&
                  !applying_is_miss (self->cause, plan->last_state);
    if (failed || self->answer.advice.kind == ADVICE_RELEASE) // for `why`
        plan_set_error (plan, applying_reason (self));
}

// Prepare what follows the decision: the texts to publish, and the callback to store or to end.
static void prepare_consequences (struct applying *self, struct plan *plan, int64_t nominal)
{
    struct station *station = self->station;
    const struct decision *decision = &self->decision;
    bool is_published =
        decision->commit != COMMIT_LEASE &&
        (publish_has_result_subscribers (station) || publish_has_event_subscribers (station));
    free (self->public_text);
    free (self->title);
    plan_destroy (&self->called);
    plan_destroy (&self->callback);
    plan_destroy (&self->ends_callback);
    self->status = plan->last_state;
    self->state = plan->state;
    self->public_text = is_published ? plan_run_text (plan, self->run.exec_id, nominal) : NULL;
    self->title = is_published ? frames_copy (&plan->description, 1) : NULL;
    if (decision->commit == COMMIT_END &&
        station_is_callbacks (station, span_text (self->key_station)))
        self->ends_callback = plan_keep (plan);
    if (applying_is_outcome (decision) && plan->policy && plan->policy->callback &&
        !self->keep_message)
        self->callback = applying_callback (self, plan, nominal);
}

// Write the decision. `nominal` is that of the run, as the plan may already have its next time.
static void commit_outcome (struct applying *self, struct plan *plan, int64_t nominal)
{
    struct station *station = self->station;
    const struct decision *decision = &self->decision;
    struct plan_step step;
    bool ends_step = plan->step.size && decision->commit == COMMIT_END && !self->orphan &&
                     plan_step_parse (plan->step, &step);
    free (self->step);
    self->step = ends_step ? frames_copy (&plan->step, 1) : NULL;
    self->flow_run = plan->flow_run;
    if (ends_step && !flow_runs_has (station, step.run)) {
        flow_runs_load (station, step.run, on_run_read, self);
        return;
    }
    int64_t revision = plan->revision;
    set_last_error (self, plan);
    if (!self->keep_message && !decision->unchanged) {
        plan->revision = station_revision ();
        plan->as_claimed = false;
    }
    prepare_consequences (self, plan, nominal);
    struct span target = span_text (self->key_station);
    const struct target *known = station_target (station, target);
    // Whether Redis may hold a team of workers for the run.
    bool has_team = (known && target_type (known) == TARGET_PULL) ||
                    (plan->policy && plan->policy->workers.count);
    bool follows = self->step || self->callback || self->ends_callback;
    bool failed = applying_is_outcome (decision) && self->status >= ZERO_STATUS_ERROR_FLAG;
    if (failed)
        plan->first_run = false; // from now on the plan's keys hold the failure
    struct applied applied;
    applying_prepare (self, plan, nominal, &applied);
    store_commit (
        station->store,
        &(struct store_commit){.plan = plan,
                               .revision = self->keep_message ? REVISION_ANY : revision,
                               .key_station = target,
                               .exec_id = self->run.exec_id,
                               .decision = decision,
                               .lease_s = lease_for_cause (station, self->cause, plan),
                               .participants = applied.participants,
                               .participant_count = applied.participant_count,
                               .record = span_of (applied.record, applied.record_size),
                               .missed = span_of (applied.missed, applied.missed_size),
                               .output = span_of (applied.output, applied.output_size),
                               .called = self->called,
                               .uncalled = span_of (applied.uncalled, applied.uncalled_size),
                               .keep_message = self->keep_message,
                               .callback = station_is_callbacks (station, target),
                               .failed = failed,
                               .has_team = has_team,
                               .then = follows ? write_consequences : NULL},
        on_committed, self);
    applied_clear (&applied);
}

// -- deciding

// Decide again on a claimed plan that has changed since. If it is to be run after all, it is
// re-queued and claimed again.
static struct decision decide_due (struct applying *self, struct plan *plan)
{
    const struct target *target = station_target (self->station, span_text (self->key_station));
    struct due due = self->due;
    struct reason reason = {""};
    due.key_station = span_text (self->key_station);
    due.way = target_dispatch_way (target);
    due.zone = zones_of (self->station, plan);
    struct decision decision = engine_due (plan, &due, &reason);
    set_outcome_reason (self, reason.text);
    return decision.send ? engine_requeue (plan) : decision;
}

// `outlived`: a target that has reported RUNING may still answer after the run's end.
static struct decision decide_timeout (struct applying *self, struct plan *plan)
{
    struct station *station = self->station;
    struct decision decision =
        engine_timeout (plan, zones_of (station, plan), station_now (station));
    decision.outlived = self->phase == RUN_RUNNING;
    return decision;
}

static struct decision decide_outcome (struct applying *self, struct plan *plan)
{
    struct station *station = self->station;
    self->run.phase = self->phase;
    self->manual = plan->extra != PLAN_NONE;
    switch (self->cause) {
    case CAUSE_ANSWER:
        return engine_answer (plan, &self->run, &self->answer, zones_of (station, plan),
                              station_now (station));
    case CAUSE_NOT_SENT:
        return engine_handle_not_sent (plan);
    case CAUSE_NO_SLOT:
        return engine_requeue (plan);
    case CAUSE_CALLBACKS_FULL:
        return engine_requeue_later (plan);
    case CAUSE_NO_STATUS:
        return engine_handle_no_status (plan);
    case CAUSE_KEPT:
        return engine_keep_run (plan);
    case CAUSE_TIMEOUT:
        return decide_timeout (self, plan);
    case CAUSE_CANCEL:
        return engine_cancel (plan, zones_of (station, plan), station_now (station));
    case CAUSE_DUE:
        return self->tries == 0 ? self->decision : decide_due (self, plan);
    }
    return (struct decision){.commit = COMMIT_NONE};
}

// A command changed the plan in between: decide on its present state. False: nothing is written.
static bool redecide (struct applying *self, const struct store_committed *answer)
{
    struct reason reason;
    struct plan *plan = plan_from_stored_json (self->plan_id, answer->message, &reason);
    if (!plan || ++self->tries > TRIES_MAX) {
        plan_destroy (&plan);
        return false;
    }
    plan->exec_id = self->run.exec_id;
    int64_t nominal = plan_nominal (plan, self->run.exec_id);
    self->decision = decide_outcome (self, plan);
    bool applies = self->decision.commit != COMMIT_NONE;
    struct active_run *active = runs_find_run (self->station, self->plan_id, self->run.exec_id);
    if (applies)
        commit_outcome (self, plan, nominal);
    if (applies && active && active->plan)
        runs_set_plan (active, plan);
    else
        plan_destroy (&plan);
    return applies;
}

// -- when it is written

// The plan was loaded again: if its run is still in progress, decide again on the loaded state.
static void on_plan_reloaded (void *owner, const struct store_loaded *loaded)
{
    const struct applying *applying = owner;
    bool current = loaded->result == STORE_DONE && loaded->exec_id == applying->run.exec_id;
    on_committed (owner, &(struct store_committed){.result = current ? STORE_CHANGED : STORE_HELD,
                                                   .message = loaded->message,
                                                   .error = ""});
}

// Count the outcome after it was written.
static void count_outcome (const struct applying *self)
{
    struct counters *counters = &self->station->counters;
    struct target *target = station_target (self->station, span_text (self->key_station));
    uint64_t missed = (uint64_t)self->decision.misses.missed.count;
    counters->missed += missed;
    counters->exhausted += self->decision.exhausted;
    if (target)
        target_tally (target)->runs.ends[RUN_END_missed] += missed;
    if (!applying_is_outcome (&self->decision) || applying_is_miss (self->cause, self->status))
        return;
    bool succeeded = self->decision.succeeded;
    counters->cancelled += self->cause == CAUSE_CANCEL;
    counters->timeouts += self->cause == CAUSE_TIMEOUT;
    counters->runs_ended_well += succeeded;
    counters->runs_failed += !succeeded;
    if (!target)
        return;
    // exec_id is the time of the claim.
    int64_t took_us = store_now_us (self->station->store) - (int64_t)self->run.exec_id;
    target_tally (target)->ended_well += succeeded;
    target_tally (target)->failed += !succeeded;
    run_counts_end (&target_tally (target)->runs, run_end_of (succeeded, self->status), took_us);
}

// Count and report an outcome that was written.
static void report_written (struct applying *self, const struct store_committed *answer)
{
    bool ends = self->decision.commit != COMMIT_LEASE;
    count_outcome (self);
    if (answer->seq)
        applying_broadcast (self, answer);
    if (ends && self->cause != CAUSE_NO_SLOT && self->cause != CAUSE_CALLBACKS_FULL)
        applying_publish_events (self, answer->seq);
    if (self->called)
        applying_publish_called (self, answer);
    if (self->callback)
        publish_added (self->station, self->callback);
    if (ends)
        station_run_ended (self->station);
}

static void on_committed (void *owner, const struct store_committed *answer)
{
    struct applying *applying = owner;
    struct station *self = applying->station;
    if (answer->result == STORE_RESET) {
        store_load (self->store, applying->plan_id, LINK_REPEAT, on_plan_reloaded, applying);
        return;
    }
    if (answer->result == STORE_CHANGED && redecide (applying, answer)) {
        station_resume (self);
        return;
    }
    FAILPOINT (applying_is_outcome (&applying->decision) ? "result_done" : "running_done");
    if (answer->result == STORE_HELD || answer->result == STORE_CHANGED)
        self->counters.stale_commits++;
    if (answer->result == STORE_DONE)
        report_written (applying, answer);
    else
        applying_report_failure (applying, answer);
    struct active_run *active = runs_find_run (self, applying->plan_id, applying->run.exec_id);
    if (active)
        active->leasing_us = 0;
    if (active && applying->cause == CAUSE_KEPT && answer->result == STORE_HELD)
        runs_drop (&active); // it was claimed again, or its plan was removed
    if (applying->done)
        applying->done (applying->owner, answer->result);
    applying_destroy (applying);
    station_resume (self);
}

// -- entry point

static struct applying *applying_new (struct station *station, const struct run_outcome *outcome)
{
    struct applying *self = memory_new (sizeof *self);
    self->station = station;
    self->plan_id = outcome->plan->id;
    memcpy (self->key_station, outcome->key_station.data, outcome->key_station.size);
    self->run = *outcome->run;
    self->phase = outcome->run->phase;
    self->cause = outcome->cause;
    self->keep_message = outcome->keep_message;
    self->done = outcome->done;
    self->owner = outcome->owner;
    if (outcome->due)
        self->due = *outcome->due;
    if (outcome->answer)
        self->answer = *outcome->answer;
    if (outcome->decision)
        self->decision = *outcome->decision;
    set_outcome_reason (self, outcome->reason);
    if (outcome->voter.size)
        self->voter = frames_copy (&outcome->voter, 1);
    return self;
}

struct decision apply_outcome (struct station *self, const struct run_outcome *outcome)
{
    struct applying *applying = applying_new (self, outcome);
    struct active_run *active = runs_find (self, outcome->plan->id);
    int64_t nominal = outcome->cause == CAUSE_DUE
                          ? outcome->nominal
                          : plan_nominal (outcome->plan, outcome->run->exec_id);
    applying->decision = decide_outcome (applying, outcome->plan);
    struct decision decision = applying->decision;
    outcome->run->phase = applying->run.phase;
    // No commit is needed if the lease is being renewed already.
    bool idle = decision.unchanged && !decision.save_work && !decision.open_poll && active &&
                active->leasing_us;
    if (idle)
        extend_lease (self, active, lease_for_cause (self, outcome->cause, outcome->plan));
    if (decision.commit == COMMIT_NONE || idle) {
        applying_destroy (applying);
        return decision;
    }
    // The frames of a heartbeat are not kept.
    const struct message *message = outcome->message;
    if (message && (decision.commit != COMMIT_LEASE || decision.save_work || decision.open_poll)) {
        struct span frames[1 + DESC_FRAMES_MAX] = {message->desc_bytes};
        for (size_t i = 0; i < message->desc.count; i++)
            frames[1 + i] = message->frames[i];
        applying->desc = message->desc;
        applying->frames = frames_copy (frames, 1 + message->desc.count);
    }
    if (decision.commit == COMMIT_NEXT)
        FAILPOINT ("next");
    commit_outcome (applying, outcome->plan, nominal);
    if (active) // last: commit_outcome completes an earlier heartbeat that this write supersedes
        active->leasing_us = decision.commit == COMMIT_LEASE ? clock_mono_us () : 0;
    return decision;
}
