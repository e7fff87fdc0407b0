#include "fire.h"

#include <inttypes.h>

#include "apply.h"
#include "callback_book.h"
#include "callback_drop.h"
#include "clock.h"
#include "codes.h"
#include "failpoint.h"
#include "flow_book.h"
#include "flow_fire.h"
#include "log.h"
#include "plan_json.h"
#include "plan_message.h"
#include "publish.h"
#include "pull.h"
#include "runs.h"
#include "unresponsive.h"
#include "zones.h"

static bool dispatch (struct station *self, struct target *target, const struct plan *plan,
                      int64_t at_us)
{
    struct plan_texts *texts = &self->texts;
    size_t json_size;
    struct message message;
    // The deadline is the end of the lease that the run has once it has reported RUNING; of a vote
    // with its own deadline the end of that, before which it is not resent; or the end of the
    // plan's timeout, if that is earlier.
    int64_t lease_end_us = at_us + self->settings->exec_timeout_s * 1000000;
    int64_t poll_end_us = engine_poll_end_us (plan), end_us = engine_run_end_us (plan);
    int64_t deadline_us = poll_end_us ? poll_end_us : lease_end_us;
    if (end_us && end_us < deadline_us)
        deadline_us = end_us;
    plan_dispatch_message (plan, target_way (target), deadline_us / 1000000, texts, &message);
    bool sent = target_send (target, &message);
    if (sent)
        publish_event (self,
                       &(struct notice){.event = ZPLAN_EVENT_EXEC,
                                        .plan_id = plan->id,
                                        .station = span_text (target_name (target)),
                                        .title = plan->description,
                                        .json = json_text_end (&texts->plan_json, &json_size)});
    return sent;
}

// The plan record of a message that cannot be read: enough to report it.
static struct plan *unreadable (const struct store_claimed *claimed)
{
    struct plan *plan = plan_new (claimed->station.size);
    plan->id = claimed->plan_id;
    memcpy (plan->store, claimed->station.data, claimed->station.size);
    plan->station = span_of (plan->store, claimed->station.size);
    return plan;
}

// Send a claimed plan to its target and record the run as in flight. False: it could not be handed
// over, and `ret_cause` has the cause.
static bool send_run (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                      struct target *target, enum cause *ret_cause)
{
    *ret_cause = CAUSE_PUT_BACK;
    if (target && !unresponsive_allows (self, target, plan->id))
        return false;
    *ret_cause = CAUSE_NOT_SENT;
    // Asked first: the message of a run that cannot be sent need not be made.
    if (!target || !target_connection (target) || !dispatch (self, target, plan, claimed->at_us))
        return false;
    struct run run = {claimed->exec_id, RUN_SENT, claimed->earlier_may_answer};
    struct held_run *held = runs_add (self, plan, claimed->station, run);
    held->target = target;
    held->connection = target_connection (target);
    held->number = ++self->runs_number;
    unresponsive_sent (target, plan->id);
    runs_set_end (held);
    runs_wait_status (held, clock_mono_us () + self->settings->send_timeout_ms * 1000);
    self->counters.runs_sent++;
    target_tally (target)->sent++;
    FAILPOINT ("sent");
    return true;
}

static void count_late (struct station *self, struct target *target, int64_t at_us, int64_t due_us)
{
    struct target_tally *tally = target_tally (target);
    tally->fresh++;
    tally->late_ms += at_us > due_us ? (uint64_t)(at_us - due_us) / 1000 : 0;
    // A prefetched plan was claimed for its time, and is sent now.
    histogram_add (&tally->runs.lateness, &bounds_lateness, store_now_us (self->store) - due_us);
}

static const char *not_sent_reason (const struct target *target)
{
    if (!target)
        return "there is no target of this name";
    return target_connection (target) ? "the target does not read" : "the target is not connected";
}

bool fire_is_pull (void *owner, struct span target)
{
    struct station *self = owner;
    const struct target *known = station_target (self, target);
    return known ? target_type (known) == TARGET_PULL : flow_book_has (self, target);
}

void fire (struct station *self, const struct store_claimed *claimed)
{
    static const struct dispatch_way plain = {.key = ""};
    struct reason reason = {""};
    struct target *target = station_target (self, claimed->station);
    struct plan *plan = plan_from_stored_json (claimed->plan_id, claimed->message, &reason);
    bool resumes = fire_is_pull (self, claimed->station);
    bool pull = target && resumes, flow = !target && resumes;
    enum plan_state was = plan ? plan->state : PLAN_NONE;
    // The number of its run identifies a flow: it may have been paused meanwhile.
    bool flow_goes_on = flow && plan && plan->flow_run && plan->exec_id == claimed->exec_id;
    bool goes_on = (pull && was == PLAN_EXECUTE) || flow_goes_on;
    if (plan) { // the message is as it was before the claim
        plan->first_run = plan->exec_id == 0;
        plan->as_claimed = claimed->unwritten;
        plan->exec_id = claimed->exec_id;
        plan->exec_time = claimed->at_us / 1000000;
        plan->state = flow_goes_on ? was : PLAN_EXECUTE;
    }
    struct run run = {claimed->exec_id, RUN_SENT, claimed->earlier_may_answer};
    struct outcome outcome = {
        .key_station = claimed->station, .run = &run, .cause = CAUSE_DUE, .keep_message = !plan};
    struct due due = {.key_station = claimed->station,
                      .exec_id = claimed->exec_id,
                      .lost = claimed->lost,
                      .way = target ? target_way (target) : &plain,
                      .zone = plan ? zones_of (self, plan) : self->zone,
                      .earlier_may_answer = claimed->earlier_may_answer,
                      .pull = resumes,
                      .flow = flow,
                      .goes_on = goes_on,
                      .now = station_now (self)};
    bool unread = !plan;
    if (unread)
        plan = unreadable (claimed);
    outcome.nominal = plan_nominal (plan, claimed->lost ? claimed->lost : claimed->exec_id);
    struct decision decision = unread ? engine_revoke (plan) : engine_due (plan, &due, &reason);
    bool fresh = plan->schedule.type != SCHEDULE_NONE && !plan->error_count && !plan->tries &&
                 !claimed->earlier_may_answer && !claimed->lost && !goes_on;
    bool full = decision.send && !goes_on && plan->policy && plan->policy->callback &&
                callback_book_full (self, plan->station);
    if (full) {
        outcome.cause = CAUSE_HELD;
        callback_drop_full (self, plan->station);
    }
    if (decision.send && flow && !full) {
        flow_fire (self, claimed, plan,
                   flow_goes_on        ? FLOW_GOES_ON
                   : was == PLAN_RETRY ? FLOW_RETRIES
                                       : FLOW_BEGINS);
        plan_destroy (&plan);
        return;
    }
    if (decision.send && pull && !full) {
        target_tally (target)->sent += !goes_on;
        if (fresh)
            count_late (self, target, claimed->at_us, plan_due_time (plan) * 1000000);
        pull_offer (self, claimed, plan, goes_on);
        return;
    }
    if (decision.send && !full && send_run (self, claimed, plan, target, &outcome.cause)) {
        if (fresh)
            count_late (self, target, claimed->at_us, plan_due_time (plan) * 1000000);
        return;
    }
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID)
        log_event (LEVEL_WARN, "plan.error", "plan=%" PRIx64 " station=%s reason=%s", plan->id,
                   quoted (claimed->station), quoted (span_text (reason.text)));
    struct held_run *held = runs_find (self, plan->id);
    if (held)
        runs_drop (&held);
    outcome.plan = plan;
    outcome.lost = claimed->lost;
    outcome.due = &due;
    outcome.decision = &decision;
    outcome.reason = full            ? "too many callbacks are kept"
                     : decision.send ? not_sent_reason (target)
                                     : reason.text;
    apply (self, &outcome);
    plan_destroy (&plan);
}
