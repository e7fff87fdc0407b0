// Answers of targets and workers. An answer is a status or a result, depending on when it comes in
// the run. A table has the function for each class of answers, as status and as result.
#include "codes.h"
#include "ending.h"

enum { RENEW_S = 10 };

struct answer_event {
    struct plan *plan;
    struct run *run;
    const struct answer *answer;
    const struct zone *zone;
    int64_t now;
};

static struct decision answer_heartbeat (const struct answer_event *event)
{
    // A repeated heartbeat only renews the lease of the run. The lease of a plan outside the queue
    // starts at exec_time, which is written every RENEW_S.
    bool queued = event->plan->state != PLAN_PAUSE && event->plan->state != PLAN_CLOSE;
    bool recent = event->now - event->plan->exec_time < RENEW_S;
    if (event->run->phase == RUN_RUNNING && (queued || recent))
        return (struct decision){.commit = COMMIT_LEASE, .unchanged = true};
    event->run->phase = RUN_RUNNING;
    event->plan->last_state = ZERO_STATUS_RUNING_ID;
    event->plan->state = PLAN_EXECUTE;
    event->plan->exec_time = event->now;
    return (struct decision){.commit = COMMIT_LEASE};
}

static struct decision answer_success (const struct answer_event *event)
{
    struct plan *plan = event->plan;
    plan->last_state = event->answer->status;
    struct decision decision = {
        .commit = COMMIT_NEXT, .succeeded = true, .save_work = true, .broadcast = BROADCAST_RESULT};
    if (plan->error_info)
        plan_set_error (plan, (struct span){0});
    if (plan->extra)
        return decision;
    struct occurrence next;
    bool more = ending_next (plan, event->zone, event->now, &decision.misses, &next);
    plan->real_repet++;
    plan->verdict = VERDICT_NONE;
    ending_move_to_next (plan, more ? &next : NULL, &decision);
    return decision;
}

// The target took no run, as it has no worker.
static struct decision answer_no_worker (const struct answer_event *event)
{
    return ending_not_taken (event->plan, event->answer->status, COMMIT_RETRY);
}

// The answer parks the plan: an operator must resolve it.
static struct decision answer_parked (const struct answer_event *event)
{
    event->plan->last_state = event->answer->status;
    event->plan->state = PLAN_ERROR;
    return (struct decision){.commit = COMMIT_PARK,
                             .save_work = true,
                             .broadcast = BROADCAST_RESULT,
                             .exhausted = true,
                             .attempts = event->plan->error_count + 1};
}

// The run ended with an error.
static struct decision answer_failed (const struct answer_event *event)
{
    // Plan document 3.3(3): this status ends the right to run, from any sender.
    if (event->answer->status == ZERO_STATUS_FRAME_PLANERROR_ID)
        return answer_parked (event);
    // NOT_WORKER is no failure of the job even as a result: a station may send it for a run that it
    // has taken. So it is broadcast at most once a minute.
    bool unavailable = event->answer->status == ZERO_STATUS_NOT_WORKER_ID;
    struct decision decision = unavailable
                                   ? answer_no_worker (event)
                                   : ending_failed (event->plan, event->zone, event->now,
                                                    event->answer->status, event->answer->advice);
    decision.save_work = true;
    decision.waiting = WAITING_NOT;
    return decision;
}

// An error as status: the plan leaves the queue (plan document 3.3(11)), unless it has a retry
// policy.
static struct decision answer_refused (const struct answer_event *event)
{
    return ending_retry_policy (event->plan) ? answer_failed (event) : answer_parked (event);
}

// -- votes

// The time `after_s` after the claim; 0 = no deadline. The time of the claim is the exec_id, which
// is bounded here, as an operator may have edited it.
static int64_t run_deadline_us (const struct plan *plan, int64_t after_s)
{
    const int64_t latest_us = SCHEDULE_TIME_MAX * 1000000;
    int64_t claimed_us = plan->exec_id < (uint64_t)latest_us ? (int64_t)plan->exec_id : latest_us;
    return after_s ? claimed_us + after_s * 1000000 : 0;
}

int64_t engine_poll_end_us (const struct plan *plan)
{
    return run_deadline_us (plan, plan->vote.deadline_s);
}

int64_t engine_run_end_us (const struct plan *plan)
{
    int64_t timeout_s = plan->policy ? plan->policy->timeout_s : 0;
    int64_t poll_end_us = engine_poll_end_us (plan), end_us = run_deadline_us (plan, timeout_s);
    return poll_end_us && (!end_us || poll_end_us <= end_us) ? poll_end_us : end_us;
}

// End the vote with this status as the result of the run.
static struct decision end_poll (const struct answer_event *event, uint8_t status)
{
    struct answer answer = *event->answer;
    answer.status = status;
    struct answer_event end_event = *event;
    end_event.answer = &answer;
    struct decision decision =
        status < ZERO_STATUS_ERROR_FLAG ? answer_success (&end_event) : answer_failed (&end_event);
    decision.save_work = event->answer->tally.event == POLL_VOTE;
    decision.open_poll = !event->answer->tally.stored;
    decision.close_poll = true;
    return decision;
}

// Whether votes sent to the previous owner may have been lost and could have changed the outcome.
static bool lacks_votes (const struct plan *plan, const struct vote_tally *tally, size_t needed)
{
    size_t missing = tally->voters - tally->voted;
    return tally->event == POLL_CLOSED && tally->adopted && tally->opened && missing &&
           tally->in_favour + missing >= needed && !plan->extra && !ending_lost_is_failure (plan);
}

// Resend the run, as if its result was lost.
static struct decision resend_vote (const struct answer_event *event)
{
    struct decision decision =
        ending_not_taken (event->plan, ZERO_STATUS_RECV_ERROR_ID, COMMIT_RETRY);
    decision.waiting = WAITING_NOT;
    decision.open_poll = !event->answer->tally.stored;
    decision.close_poll = true;
    return decision;
}

// Decide on an event of a vote. The vote ends as soon as its outcome is certain: enough votes are
// in favour, or enough can no longer be. Before the voters are known, only a rule with a fixed
// number of votes can be met.
static struct decision answer_poll (const struct answer_event *event)
{
    const struct vote_tally *tally = &event->answer->tally;
    const struct vote_rule *rule = &event->plan->vote;
    size_t needed = vote_rule_needed (rule, tally->voters);
    bool counts = rule->need == VOTE_ANY || rule->need == VOTE_COUNT;
    if (needed && tally->in_favour >= needed && (tally->opened || counts))
        return end_poll (event, ZERO_STATUS_OK_ID);
    if (tally->event == POLL_VOTE || tally->event == POLL_OPENED) {
        if (tally->opened && tally->in_favour + (tally->voters - tally->voted) < needed)
            return end_poll (event, ZERO_STATUS_FAILED_ID);
        struct decision decision = answer_heartbeat (event);
        decision.save_work = tally->event == POLL_VOTE;
        decision.open_poll = tally->event == POLL_OPENED || !tally->stored;
        if (decision.open_poll) {
            event->plan->poll = event->run->exec_id;
            decision.unchanged = false;
        }
        return decision;
    }
    if (lacks_votes (event->plan, tally, needed))
        return resend_vote (event);
    return end_poll (event,
                     tally->event == POLL_TIMEOUT ? ZERO_STATUS_TIMEOUT_ID : ZERO_STATUS_FAILED_ID);
}

enum answer_class {
    CLASS_RUNING,
    CLASS_WAITING,
    CLASS_OK,
    CLASS_NOT_WORKER,
    CLASS_OTHER_SUCCESS,
    CLASS_OTHER_ERROR,
    CLASSES
};

static enum answer_class class_of_answer (const struct answer *answer)
{
    switch (answer->status) {
    case ZERO_STATUS_RUNING_ID:
        return CLASS_RUNING;
    case ZERO_STATUS_WAITING_ID:
    case ZERO_STATUS_VOTE_START_ID: // the same number as the WAITING command a worker may send
        return CLASS_WAITING;
    case ZERO_STATUS_VOTE_SENDED_ID:
        return answer->target == TARGET_VOTE ? CLASS_WAITING : CLASS_OTHER_SUCCESS;
    case ZERO_STATUS_OK_ID:
        return CLASS_OK;
    case ZERO_STATUS_NOT_WORKER_ID:
        return CLASS_NOT_WORKER;
    default:
        return answer->status < ZERO_STATUS_ERROR_FLAG ? CLASS_OTHER_SUCCESS : CLASS_OTHER_ERROR;
    }
}

// Plan document 3.3(8) to (11) for a status, 3.4 for a result.
static const struct answer_rule {
    struct decision (*as_status) (const struct answer_event *event);
    struct decision (*as_result) (const struct answer_event *event);
} answer_rules[CLASSES] = {
    [CLASS_RUNING] = {answer_heartbeat, answer_heartbeat},
    [CLASS_WAITING] = {answer_heartbeat, answer_heartbeat},
    [CLASS_OK] = {answer_success, answer_success},
    [CLASS_NOT_WORKER] = {answer_no_worker, answer_failed},
    [CLASS_OTHER_SUCCESS] = {answer_parked, answer_success},
    [CLASS_OTHER_ERROR] = {answer_refused, answer_failed},
};

bool engine_is_result (uint8_t status)
{
    enum answer_class class = class_of_answer (&(struct answer){.status = status});
    return class != CLASS_RUNING && class != CLASS_WAITING;
}

// Proto 7.3. A worker of an earlier run may still answer; without a LOCAL_ID its answer must not be
// taken for one of this run.
bool engine_answer_is_late (const struct run *run, const struct answer *answer)
{
    if (answer->has_exec_id)
        return answer->exec_id != run->exec_id;
    if (!run->earlier_may_answer)
        return false;
    if (!answer->on_connection)
        return true;
    if (run->phase == RUN_RUNNING)
        return false;
    enum answer_class class = class_of_answer (answer);
    // A status without a LOCAL_ID counts only if the target itself sends it, not a worker; a pub
    // target always does.
    bool from_station =
        class == CLASS_RUNING || class == CLASS_NOT_WORKER || answer->tally.event == POLL_OPENED;
    return !from_station && answer->target != TARGET_PUB;
}

struct decision engine_answer (struct plan *plan, struct run *run, const struct answer *answer,
                               const struct zone *zone, int64_t now)
{
    enum answer_class class = class_of_answer (answer);
    if (engine_answer_is_late (run, answer))
        return (struct decision){.commit = COMMIT_NONE};
    if (answer->advice.kind == ADVICE_RELEASE)
        return ending_requeue_or_park (plan, answer->advice.after_s * 1000);
    const struct answer_rule *rule = &answer_rules[class];
    struct answer_event event = {plan, run, answer, zone, now};
    enum plan_state was = plan->state;
    struct decision decision;
    if (answer->tally.event != POLL_NONE)
        decision = answer_poll (&event);
    else if (answer->on_connection && run->phase == RUN_SENT) // a status
        decision = rule->as_status (&event);
    else
        decision = rule->as_result (&event);
    return ending_finish (plan, was, decision);
}
