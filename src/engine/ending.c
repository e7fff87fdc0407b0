// How a run ends. Only ending_finish handles a plan that an admin paused or closed during its run.
#include "ending.h"

#include "codes.h"

// Whether the plan defines a retry strategy of its own.
static bool has_retry_policy (const struct plan *plan)
{
    return plan->policy && plan->policy->retry.strategy != RETRY_PACED;
}

// A failed call of a flow's step, and a failed run of a flow, are final unless their plan has a
// retry strategy.
const struct retry_policy *ending_retry_policy (const struct plan *plan)
{
    static const struct retry_policy none = {.strategy = RETRY_NONE};
    if (has_retry_policy (plan))
        return &plan->policy->retry;
    return plan->step.size || plan->flow_run ? &none : NULL;
}

// The delay from the present failure to its retry.
static int64_t failure_delay_ms (const struct plan *plan)
{
    const struct retry_policy *policy = ending_retry_policy (plan);
    return policy ? retry_delay_ms (policy, plan->error_count, plan->exec_id)
                  : pacing_delay_ms (plan->error_count);
}

// Whether the present occurrence is to be retried: a run of it failed, or its target did not take
// it.
static bool awaits_retry (const struct plan *plan)
{
    return plan->error_count > 0 || plan->tries > 0;
}

int64_t ending_retry_delay_ms (const struct plan *plan)
{
    return plan->error_count ? failure_delay_ms (plan) : pacing_delay_ms (plan->tries);
}

// -- the plan of a flow's step

// A call that needs manual action does not end yet.
struct decision ending_close_step (struct plan *plan, struct decision decision)
{
    bool failed = decision.commit == COMMIT_PARK && decision.exhausted;
    if (!plan->step.size || !failed || plan->verdict == VERDICT_PENDING)
        return decision;
    plan->state = PLAN_CLOSE;
    decision.commit = COMMIT_END;
    return decision;
}

// -- manual runs, and admin commands during a run

void ending_drop_manual_run (struct plan *plan)
{
    plan->extra = PLAN_NONE;
    plan_set_run_with (plan, (struct span){0});
}

// A manual run is tried once.
struct decision ending_finish_manual_run (struct plan *plan, struct decision decision)
{
    plan->state = plan->extra;
    ending_drop_manual_run (plan);
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID && plan->state != PLAN_CLOSE)
        plan->state = PLAN_ERROR; // this status revokes the right to run
    decision.waiting = WAITING_NOT;
    decision.exhausted = false; // a manual run does not exhaust the scheduled occurrence
    decision.commit = plan->state == PLAN_QUEUE ? COMMIT_NEXT : COMMIT_PARK;
    if (plan->state == PLAN_QUEUE && awaits_retry (plan)) {
        plan->state = PLAN_RETRY; // the retry that was due before the manual run
        decision.commit = COMMIT_RETRY;
        decision.delay_ms = ending_retry_delay_ms (plan);
    }
    decision.broadcast = BROADCAST_RESULT;
    return decision;
}

struct decision ending_finish (struct plan *plan, enum plan_state was, struct decision decision)
{
    bool ends = commit_ends_run (decision.commit) || decision.commit == COMMIT_DOUBT;
    bool stopped = was == PLAN_PAUSE || was == PLAN_CLOSE;
    decision = ending_close_step (plan, decision);
    if (plan->extra && ends)
        return ending_finish_manual_run (plan, decision);
    if (!stopped || decision.commit == COMMIT_NONE)
        return decision;
    if (decision.commit == COMMIT_END && was == PLAN_PAUSE)
        return decision;
    if (decision.commit != COMMIT_PARK || was == PLAN_CLOSE)
        plan->state = was;
    decision.waiting = WAITING_NOT;
    if (commit_ends_run (decision.commit))
        decision.commit = COMMIT_PARK;
    else
        decision.unqueued = true;
    return decision;
}

bool ending_lost_is_failure (const struct plan *plan)
{
    return has_retry_policy (plan) || (plan->policy && plan->policy->timeout_s);
}

// -- a run that was not taken: the same occurrence is retried, after growing delays

// This uses up no retry of a policy: the job itself did not fail.
struct decision ending_not_taken (struct plan *plan, uint8_t status, enum commit commit)
{
    int64_t *count = ending_retry_policy (plan) ? &plan->tries : &plan->error_count;
    *count += !plan->extra;
    // misses_skip_late () needs to know whether a run has failed, or none was taken.
    if (plan->policy && count != &plan->tries && status != ZERO_STATUS_RECV_ERROR_ID)
        plan->tries += !plan->extra;
    plan->last_state = status;
    plan->state = PLAN_RETRY;
    return (struct decision){.commit = commit,
                             .delay_ms = pacing_delay_ms (*count),
                             .broadcast = BROADCAST_FAILURE,
                             .waiting = WAITING_FOR_TARGET};
}

// -- ended occurrences, and failed runs

bool ending_next (const struct plan *plan, const struct zone *zone, int64_t now,
                  struct misses *ret_misses, struct occurrence *ret)
{
    struct moments at = {.claimed = (int64_t)(plan->exec_id / 1000000), .now = now};
    return misses_next (plan, zone, &at, ret_misses, ret);
}

// skip_num counts repeats that were used up without a successful run: by missed occurrences, and by
// occurrences that failed permanently.
void ending_move_to_next (struct plan *plan, const struct occurrence *next,
                          struct decision *decision)
{
    plan->missed += decision->misses.missed.count;
    plan->error_count = 0;
    plan->tries = 0;
    decision->commit = next ? COMMIT_NEXT : COMMIT_END;
    plan->state = next ? PLAN_QUEUE : PLAN_CLOSE;
    if (next) {
        plan->skip_num = next->used - plan->real_repet;
        plan->skip_wait = 0;
        plan->plan_time = next->time;
    }
}

// The occurrence has failed for the last time: the plan moves to the next one, or is parked as
// failed, if it has none or needs manual action.
static struct decision exhaust_occurrence (struct plan *plan, const struct zone *zone, int64_t now)
{
    struct decision decision = {.commit = COMMIT_PARK,
                                .broadcast = BROADCAST_RESULT,
                                .exhausted = true,
                                .attempts = plan->error_count};
    struct occurrence next;
    const struct retry_policy *policy = ending_retry_policy (plan);
    bool manual = policy && policy->need_manual;
    if (!manual && ending_next (plan, zone, now, &decision.misses, &next)) {
        ending_move_to_next (plan, &next, &decision);
        return decision;
    }
    // The plan stays at this occurrence: missed ones are reported when it continues.
    decision.misses = (struct misses){0};
    plan->state = PLAN_ERROR;
    plan->verdict = manual ? VERDICT_PENDING : VERDICT_FAILURE;
    return decision;
}

// The occurrence is retried as often as the plan and the worker allow.
struct decision ending_failed (struct plan *plan, const struct zone *zone, int64_t now,
                               uint8_t status, struct advice advice)
{
    const struct retry_policy *policy = ending_retry_policy (plan);
    plan->last_state = status;
    plan->error_count += !plan->extra;
    plan->tries = 0;
    bool over = policy && retry_is_exhausted (policy, plan->error_count);
    if (!plan->extra && (over || advice.kind == ADVICE_FINAL))
        return exhaust_occurrence (plan, zone, now);
    plan->state = PLAN_RETRY;
    return (struct decision){.commit = COMMIT_RETRY,
                             .delay_ms = advice.kind == ADVICE_AFTER ? advice.after_s * 1000
                                                                     : failure_delay_ms (plan),
                             .broadcast = BROADCAST_RESULT};
}

struct decision ending_requeue_or_park (struct plan *plan, int64_t delay_ms)
{
    if (plan->state == PLAN_PAUSE || plan->state == PLAN_CLOSE) {
        ending_drop_manual_run (plan);
        return (struct decision){.commit = COMMIT_PARK};
    }
    plan->state = awaits_retry (plan) ? PLAN_RETRY : PLAN_QUEUE;
    return (struct decision){.commit = COMMIT_RETRY, .delay_ms = delay_ms};
}
