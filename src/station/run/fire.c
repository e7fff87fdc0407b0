#include "fire.h"

#include <inttypes.h>

#include "apply.h"
#include "callback_book.h"
#include "clock.h"
#include "codes.h"
#include "failpoint.h"
#include "flow_book.h"
#include "log.h"
#include "plan_json.h"
#include "plan_message.h"
#include "publish.h"
#include "pull.h"
#include "unresponsive.h"
#include "zones.h"

static bool dispatch_run (struct station *self, struct target *target, const struct plan *plan,
                          int64_t at_us)
{
    struct plan_texts *texts = &self->texts;
    size_t json_size;
    struct message message;
    // The deadline is the end of the lease that the run gets when it has reported RUNING. A vote's
    // own deadline replaces that: the vote is not resent before it. The plan's timeout applies
    // if it is earlier.
    int64_t lease_end_us = at_us + self->settings->exec_timeout_s * 1000000;
    int64_t poll_end_us = engine_poll_end_us (plan), end_us = engine_run_end_us (plan);
    int64_t deadline_us = poll_end_us ? poll_end_us : lease_end_us;
    if (end_us && end_us < deadline_us)
        deadline_us = end_us;
    plan_dispatch_message (plan, target_dispatch_way (target), deadline_us / 1000000, texts,
                           &message);
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

// A plan in place of a stored message that cannot be read, with just enough to report it. The
// caller owns it.
static struct plan *unreadable_plan (const struct store_claimed *claimed)
{
    struct plan *plan = plan_new (claimed->station.size);
    plan->id = claimed->plan_id;
    memcpy (plan->store, claimed->station.data, claimed->station.size);
    plan->station = span_of (plan->store, claimed->station.size);
    return plan;
}

// Send a claimed plan to its target and record the run as in flight. False: it was not sent, for
// `ret_cause`.
static bool send_run (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                      struct target *target, enum cause *ret_cause)
{
    *ret_cause = CAUSE_NO_SLOT;
    if (target && !unresponsive_allows (self, target, plan->id))
        return false;
    *ret_cause = CAUSE_NOT_SENT;
    // Check the connection first, to avoid building a message that cannot be sent.
    if (!target || !target_connection (target) ||
        !dispatch_run (self, target, plan, claimed->at_us))
        return false;
    struct run run = {claimed->exec_id, RUN_SENT, claimed->earlier_may_answer};
    struct active_run *active = runs_add (self, plan, claimed->station, run);
    active->target = target;
    active->connection = target_connection (target);
    active->number = ++self->runs_number;
    unresponsive_sent (target, plan->id);
    runs_set_end (active);
    runs_wait_status (active, clock_mono_us () + self->settings->send_timeout_ms * 1000);
    self->counters.runs_sent++;
    target_tally (target)->sent++;
    FAILPOINT ("sent");
    return true;
}

static void count_lateness (struct station *self, struct target *target, int64_t at_us,
                            int64_t due_us)
{
    struct target_tally *tally = target_tally (target);
    tally->fresh++;
    tally->late_ms += at_us > due_us ? (uint64_t)(at_us - due_us) / 1000 : 0;
    // The time of sending counts, as a prefetched plan was claimed earlier.
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

// A claimed plan, with its target and the facts for the decision.
struct claim {
    const struct store_claimed *claimed;
    struct plan *plan;              // NULL: its message cannot be read
    enum plan_state previous_state; // before the claim
    struct target *target;          // NULL: a flow, or no target has this name
    struct due due;
    bool flow_in_progress;
};

static void read_claim (struct station *self, const struct store_claimed *claimed,
                        struct claim *ret, struct reason *reason)
{
    struct target *target = station_target (self, claimed->station);
    struct plan *plan = plan_from_stored_json (claimed->plan_id, claimed->message, reason);
    bool unsent = fire_is_pull (self, claimed->station);
    bool pull = target && unsent, flow = !target && unsent;
    enum plan_state previous_state = plan ? plan->state : PLAN_NONE;
    // The flow's run is recognized by its exec_id, as the plan may have been paused meanwhile.
    bool flow_in_progress = flow && plan && plan->flow_run && plan->exec_id == claimed->exec_id;
    if (plan) { // the stored message is from before the claim
        plan->first_run = plan->exec_id == 0;
        plan->as_claimed = claimed->unwritten;
        plan->exec_id = claimed->exec_id;
        plan->exec_time = claimed->at_us / 1000000;
        plan->state = flow_in_progress ? previous_state : PLAN_EXECUTE;
    }
    *ret = (struct claim){.claimed = claimed,
                          .plan = plan,
                          .previous_state = previous_state,
                          .target = target,
                          .flow_in_progress = flow_in_progress};
    ret->due = (struct due){.key_station = claimed->station,
                            .exec_id = claimed->exec_id,
                            .lost = claimed->lost,
                            .way = target_dispatch_way (target),
                            .zone = plan ? zones_of (self, plan) : self->zone,
                            .earlier_may_answer = claimed->earlier_may_answer,
                            .pull = unsent,
                            .flow = flow,
                            .unknown = !target && !flow,
                            .goes_on = (pull && previous_state == PLAN_EXECUTE) || flow_in_progress,
                            .now = station_now (self),
                            .now_us = claimed->at_us};
}

// Pass the run to its flow, to the workers or to the target, with the plan. False: it could not be
// passed because of `ret_cause`, and the caller keeps the plan.
static bool pass_run (struct station *self, struct claim *claim, enum cause *ret_cause)
{
    const struct store_claimed *claimed = claim->claimed;
    struct plan *plan = claim->plan;
    bool goes_on = claim->due.goes_on;
    bool fresh = plan->schedule.type != SCHEDULE_NONE && !plan->error_count && !plan->tries &&
                 !claimed->earlier_may_answer && !goes_on;
    if (claim->due.flow) {
        flow_fire (self, claimed, plan,
                   claim->flow_in_progress               ? FLOW_CLAIM_CHECK
                   : claim->previous_state == PLAN_RETRY ? FLOW_CLAIM_RETRY
                                                         : FLOW_CLAIM_START);
        plan_destroy (&plan);
        return true;
    }
    if (!claim->due.pull && !send_run (self, claimed, plan, claim->target, ret_cause))
        return false;
    if (fresh)
        count_lateness (self, claim->target, claimed->at_us, plan_due_time (plan) * 1000000);
    if (claim->due.pull) {
        target_tally (claim->target)->sent += !goes_on;
        pull_offer (self, claimed, plan, goes_on);
    }
    return true;
}

void fire_run (struct station *self, const struct store_claimed *claimed)
{
    struct reason reason = {""};
    struct claim claim;
    read_claim (self, claimed, &claim, &reason);
    bool unread = !claim.plan;
    if (unread)
        claim.plan = unreadable_plan (claimed);
    struct plan *plan = claim.plan;
    int64_t nominal = plan_nominal (plan, claimed->exec_id);
    struct decision decision =
        unread ? engine_revoke (plan) : engine_due (plan, &claim.due, &reason);
    bool full = decision.send && !claim.due.goes_on && plan->policy && plan->policy->callback &&
                callback_book_full (self, plan->station);
    enum cause cause = full ? CAUSE_CALLBACKS_FULL : CAUSE_DUE;
    if (full)
        callback_drop_full (self, plan->station);
    else if (decision.send && pass_run (self, &claim, &cause))
        return;
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID)
        log_event (LEVEL_WARN, "plan.error", "plan=%" PRIx64 " station=%s reason=\"%s\"", plan->id,
                   quoted (claimed->station), reason.text);
    struct active_run *active = runs_find (self, plan->id);
    if (active)
        runs_drop (&active);
    struct run run = {claimed->exec_id, RUN_SENT, claimed->earlier_may_answer};
    apply_outcome (self,
                   &(struct run_outcome){.plan = plan,
                                         .key_station = claimed->station,
                                         .run = &run,
                                         .cause = cause,
                                         .nominal = nominal,
                                         .due = &claim.due,
                                         .decision = &decision,
                                         .keep_message = unread,
                                         .reason = full            ? "too many callbacks are kept"
                                                   : decision.send ? not_sent_reason (claim.target)
                                                                   : reason.text});
    plan_destroy (&plan);
}
