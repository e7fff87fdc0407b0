// An answer is first told apart by where it stands in the run (status or result), then by its
// class; one table says what each class does. What management did to the plan while the run was out
// is respected in one place, settle ().
#include "engine.h"

#include <inttypes.h>

#include "codes.h"
#include "pacing.h"

enum { PUT_BACK_MS = 1000, HOLD_MS = 30000, RENEW_S = 10 };

static const struct advice no_advice = {ADVICE_NONE, 0};

static const char *const target_type_names[TARGET_TYPES] = {
    [TARGET_API] = "api", [TARGET_PUB] = "pub", [TARGET_VOTE] = "vote", [TARGET_PULL] = "pull"};

const char *target_type_name (enum target_type type)
{
    return target_type_names[type];
}

int target_type_parse (const char *name)
{
    for (int i = 0; i < TARGET_TYPES; i++)
        if (strcmp (target_type_names[i], name) == 0)
            return i;
    return -1;
}

bool commit_ends_run (enum commit commit)
{
    return commit == COMMIT_RETRY || commit == COMMIT_NEXT || commit == COMMIT_PARK ||
           commit == COMMIT_END;
}

// -- how a failed occurrence is paced

static bool says_retry (const struct plan *plan)
{
    return plan->policy && plan->policy->retry.strategy != RETRY_PACED;
}

// A failed call of a flow's step, and a failed run of a flow, are final unless their plan says that
// they are tried again.
static const struct retry_policy *retry_policy_of (const struct plan *plan)
{
    static const struct retry_policy none = {.strategy = RETRY_NONE};
    if (says_retry (plan))
        return &plan->policy->retry;
    return plan->step.size || plan->flow_run ? &none : NULL;
}

static int64_t failure_delay_ms (const struct plan *plan)
{
    const struct retry_policy *policy = retry_policy_of (plan);
    return policy ? retry_delay_ms (policy, plan->error_count, plan->exec_id)
                  : pacing_delay_ms (plan->error_count);
}

int64_t engine_retry_time (const struct plan *plan)
{
    int64_t delay_ms = plan->error_count ? failure_delay_ms (plan) : pacing_delay_ms (plan->tries);
    return plan->exec_time + (delay_ms + 999) / 1000;
}

// -- the plan of a flow's step

// It has failed for good: it is over, and its flow goes on from there. A person still has to decide
// on one that is pending.
static struct decision end_step (struct plan *plan, struct decision decision)
{
    bool failed = decision.commit == COMMIT_PARK && decision.exhausted;
    if (!plan->step.size || !failed || plan->verdict == VERDICT_PENDING)
        return decision;
    plan->state = PLAN_CLOSE;
    decision.commit = COMMIT_END;
    return decision;
}

// -- what management did meanwhile

// A run besides the schedule is tried once: the plan returns to where it was, whatever came of it.
static struct decision end_extra (struct plan *plan, struct decision decision)
{
    plan->state = plan->extra;
    plan->extra = PLAN_NONE;
    plan_set_run_with (plan, (struct span){0});
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID && plan->state != PLAN_CLOSE)
        plan->state = PLAN_ERROR; // but this takes the right to run
    decision.waiting = WAITING_NOT;
    decision.exhausted = false; // its occurrence is another matter
    decision.commit = plan->state == PLAN_QUEUE ? COMMIT_NEXT : COMMIT_PARK;
    if (plan->state == PLAN_QUEUE && plan->error_count) {
        plan->state = PLAN_RETRY; // the retry that it stood before
        decision.commit = COMMIT_RETRY;
        decision.delay_ms = failure_delay_ms (plan);
    }
    decision.broadcast = BROADCAST_RESULT;
    return decision;
}

// A plan that was paused or closed while its run was out stays so. `was` is its state before the
// event.
static struct decision settle (struct plan *plan, enum plan_state was, struct decision decision)
{
    bool ends = commit_ends_run (decision.commit) || decision.commit == COMMIT_DOUBT;
    bool held = was == PLAN_PAUSE || was == PLAN_CLOSE;
    decision = end_step (plan, decision);
    if (plan->extra && ends)
        return end_extra (plan, decision);
    if (!held || decision.commit == COMMIT_NONE)
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

// -- a failure: the same occurrence is tried again, paced

// The target did not take it. That uses up no retry of a policy: it says nothing of the job.
static struct decision not_taken (struct plan *plan, uint8_t status, enum commit commit)
{
    int64_t *count = retry_policy_of (plan) ? &plan->tries : &plan->error_count;
    *count += !plan->extra;
    // misses_present () asks whether any run has failed, or none was taken.
    if (plan->policy && count != &plan->tries && status != ZERO_STATUS_RECV_ERROR_ID)
        plan->tries += !plan->extra;
    plan->last_state = status;
    plan->state = PLAN_RETRY;
    return (struct decision){.commit = commit,
                             .delay_ms = pacing_delay_ms (*count),
                             .broadcast = BROADCAST_FAILURE,
                             .waiting = WAITING_FOR_TARGET};
}

// -- the run is over, and its occurrence with it

// The occurrence after the present one, and after those that were to be skipped then.
static bool next_occurrence (const struct plan *plan, const struct zone *zone, int64_t now,
                             struct misses *ret_misses, struct occurrence *ret)
{
    struct moments at = {.claimed = (int64_t)(plan->exec_id / 1000000), .now = now};
    return misses_next (plan, zone, &at, ret_misses, ret);
}

// To the next occurrence, or NULL: that was the last. What was passed over, and an occurrence that
// failed for good, used up repeats without a run that ended well.
static void go_on (struct plan *plan, const struct occurrence *next, struct decision *decision)
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

// Its last failure: a person has to decide, or the next occurrence's turn comes, or the plan is
// dead.
static struct decision give_up (struct plan *plan, const struct zone *zone, int64_t now)
{
    struct decision decision = {.commit = COMMIT_PARK,
                                .broadcast = BROADCAST_RESULT,
                                .exhausted = true,
                                .attempts = plan->error_count};
    struct occurrence next;
    const struct retry_policy *policy = retry_policy_of (plan);
    bool manual = policy && policy->need_manual;
    if (!manual && next_occurrence (plan, zone, now, &decision.misses, &next)) {
        go_on (plan, &next, &decision);
        return decision;
    }
    // It stays where it is: what it has missed is told when it goes on.
    decision.misses = (struct misses){0};
    plan->state = PLAN_ERROR;
    plan->verdict = manual ? VERDICT_PENDING : VERDICT_FAILURE;
    return decision;
}

// A run that failed: its occurrence is tried again, as often as the plan and the worker allow.
static struct decision failed_run (struct plan *plan, const struct zone *zone, int64_t now,
                                   uint8_t status, struct advice advice)
{
    const struct retry_policy *policy = retry_policy_of (plan);
    plan->last_state = status;
    plan->error_count += !plan->extra;
    plan->tries = 0;
    bool over = policy && retry_is_over (policy, plan->error_count);
    if (!plan->extra && (over || advice.kind == ADVICE_FINAL))
        return give_up (plan, zone, now);
    plan->state = PLAN_RETRY;
    return (struct decision){.commit = COMMIT_RETRY,
                             .delay_ms = advice.kind == ADVICE_AFTER ? advice.after_s * 1000
                                                                     : failure_delay_ms (plan),
                             .broadcast = BROADCAST_RESULT};
}

struct decision engine_timeout (struct plan *plan, const struct zone *zone, int64_t now)
{
    enum plan_state was = plan->state;
    return settle (plan, was, failed_run (plan, zone, now, ZERO_STATUS_TIMEOUT_ID, no_advice));
}

// What was cancelled is not tried again.
struct decision engine_cancel (struct plan *plan, const struct zone *zone, int64_t now)
{
    enum plan_state was = plan->state;
    struct decision decision = {.commit = COMMIT_NEXT, .broadcast = BROADCAST_RESULT};
    struct occurrence next;
    plan->last_state = ZERO_STATUS_CANCELLED_ID;
    if (!plan->extra) {
        plan->verdict = VERDICT_CANCELLED;
        bool more = next_occurrence (plan, zone, now, &decision.misses, &next);
        go_on (plan, more ? &next : NULL, &decision);
    }
    return settle (plan, was, decision);
}

// -- submit

int engine_submit (struct plan *plan, const struct zone *zone, int64_t now,
                   struct misses *ret_misses, struct reason *reason)
{
    struct occurrence first;
    if (misses_first (plan, zone, now, ret_misses, &first)) {
        plan->plan_time = first.time;
        plan->skip_num = first.used;
        plan->missed = ret_misses->missed.count;
        return 0;
    }
    schedule_never (&plan->schedule, reason);
    return ZPLAN_EPLAN;
}

// -- due

// What makes a stored plan unfit to run (plan document 3.3(3)).
static bool unfit (const struct plan *plan, const struct due *due, struct reason *reason)
{
    struct desc desc;
    struct reason why;
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID) {
        reason_set (reason, "last_state: the plan has lost its right to run");
        return true;
    }
    if (plan->station.size == 0) {
        reason_set (reason, "station: is empty");
        return true;
    }
    if (!span_equal (plan->station, due->key_station)) {
        reason_set (reason, "station: is not the one of the plan's key");
        return true;
    }
    size_t least = PLAN_MESSAGES_MIN - due->flow;
    if (plan->message_count < least) {
        reason_set (reason, "messages: want at least %zu frames, got %zu", least,
                    plan->message_count);
        return true;
    }
    if (desc_parse (plan->messages[1], plan->message_count - 2, &desc, &why)) {
        reason_set (reason, "messages: %s", why.text);
        return true;
    }
    if (!plan_dispatch_fits (&desc, due->way)) {
        reason_set (reason, "messages: too many frames to send");
        return true;
    }
    return false;
}

struct decision engine_unfit (struct plan *plan)
{
    if (plan->state != PLAN_CLOSE)
        plan->state = PLAN_ERROR;
    plan->extra = PLAN_NONE;
    plan_set_run_with (plan, (struct span){0});
    plan->last_state = ZERO_STATUS_FRAME_PLANERROR_ID;
    return end_step (plan, (struct decision){.commit = COMMIT_PARK,
                                             .broadcast = BROADCAST_RESULT,
                                             .exhausted = true,
                                             .attempts = plan->error_count});
}

// The time of the vote that was out is over, and nobody was there to end it.
static bool poll_is_over (const struct plan *plan, const struct due *due)
{
    uint64_t deadline_us = (uint64_t)plan->vote.deadline_s * 1000000;
    return deadline_us && due->lost && due->lost <= due->exec_id &&
           due->exec_id - due->lost >= deadline_us;
}

static struct decision poll_lost (struct plan *plan, const struct due *due)
{
    enum plan_state was = plan->state;
    plan->exec_id = due->lost;
    struct decision decision =
        failed_run (plan, due->zone, due->now, ZERO_STATUS_TIMEOUT_ID, no_advice);
    decision.close_poll = true;
    decision.open_poll = plan->poll != due->lost; // the participants are of another vote
    return settle (plan, was, decision);
}

// The lease of a run besides the schedule ended without a result.
static struct decision extra_lost (struct plan *plan, uint64_t lost)
{
    plan->exec_id = lost; // what is told is told of that run
    plan->last_state = ZERO_STATUS_TIMEOUT_ID;
    return end_extra (plan, (struct decision){0});
}

// A plan that says what is to be done about failures: a run without a result is one. A call of a
// flow that says nothing of that is sent again: what dies with a station fails no flow.
static bool lost_is_failure (const struct plan *plan)
{
    return says_retry (plan) || (plan->policy && plan->policy->timeout_s);
}

static struct decision run_lost (struct plan *plan, const struct due *due)
{
    enum plan_state was = plan->state;
    plan->exec_id = due->lost;
    return settle (plan, was,
                   failed_run (plan, due->zone, due->now, ZERO_STATUS_TIMEOUT_ID, no_advice));
}

// Whether the claimed plan is passed over instead of being run, and goes on behind what it missed,
// or has ended. What was tried before, or is out still, is not too late; but behind end_time
// nothing begins.
static bool too_late (struct plan *plan, const struct due *due, struct decision *ret,
                      struct reason *reason)
{
    enum plan_state was = plan->state;
    struct misses misses;
    struct occurrence next;
    bool ended = true, rest = !plan->extra && misses_rest (plan, due->zone, due->now, &misses);
    if (!rest && (plan->extra || due->again ||
                  !misses_present (plan, due->zone, due->now, &misses, &next, &ended)))
        return false;
    reason_set (reason, "missed: %" PRId64 "%s, %s", misses.missed.count,
                misses.missed.more ? " or more" : "",
                rest ? "end_time is past" : "they are too late");
    int64_t failures = plan->error_count; // more than 0: of retries that end_time ends
    plan->missed += misses.missed.count;
    plan->last_state = ZERO_STATUS_MISSED_ID;
    plan->error_count = 0;
    plan->tries = 0;
    plan->state = ended ? PLAN_CLOSE : PLAN_QUEUE;
    if (!ended) {
        plan->skip_num = next.used - plan->real_repet;
        plan->plan_time = next.time;
    }
    *ret = settle (plan, was,
                   (struct decision){.commit = ended ? COMMIT_END : COMMIT_NEXT,
                                     .broadcast = BROADCAST_RESULT,
                                     .exhausted = failures > 0,
                                     .attempts = failures,
                                     .misses = misses});
    return true;
}

struct decision engine_due (struct plan *plan, const struct due *due, struct reason *reason)
{
    if (plan->extra && due->lost) {
        reason_set (reason, "the manual run gave no result within its lease");
        return extra_lost (plan, due->lost);
    }
    if (unfit (plan, due, reason))
        return engine_unfit (plan);
    if (poll_is_over (plan, due)) {
        reason_set (reason, "vote: its deadline has passed");
        return poll_lost (plan, due);
    }
    if (due->lost && !due->pull && lost_is_failure (plan)) {
        reason_set (reason, "no result within the lease");
        return run_lost (plan, due);
    }
    struct decision decision;
    if (!due->stands && too_late (plan, due, &decision, reason))
        return decision;
    plan->exec_id = due->exec_id;
    plan->exec_time = due->now;
    if (!due->flow || !due->stands) // a flow plan may have been paused while its run goes on
        plan->state = PLAN_EXECUTE;
    return (struct decision){.send = true};
}

// -- failures of the transport

struct decision engine_not_sent (struct plan *plan)
{
    enum plan_state was = plan->state;
    return settle (plan, was, not_taken (plan, ZERO_STATUS_SEND_ERROR_ID, COMMIT_RETRY));
}

static struct decision put_back (struct plan *plan, int64_t delay_ms)
{
    if (plan->state == PLAN_PAUSE || plan->state == PLAN_CLOSE) {
        plan->extra = PLAN_NONE;
        plan_set_run_with (plan, (struct span){0});
        return (struct decision){.commit = COMMIT_PARK};
    }
    plan->state = plan->error_count || plan->tries ? PLAN_RETRY : PLAN_QUEUE;
    return (struct decision){.commit = COMMIT_RETRY, .delay_ms = delay_ms};
}

struct decision engine_put_back (struct plan *plan)
{
    return put_back (plan, PUT_BACK_MS);
}

struct decision engine_hold (struct plan *plan)
{
    return put_back (plan, HOLD_MS);
}

struct decision engine_no_status (struct plan *plan)
{
    enum plan_state was = plan->state;
    return settle (plan, was, not_taken (plan, ZERO_STATUS_RECV_ERROR_ID, COMMIT_DOUBT));
}

// What a claim of many left unwritten is written with the first lease.
struct decision engine_kept (struct plan *plan)
{
    enum plan_state was = plan->state;
    return settle (plan, was,
                   (struct decision){.commit = COMMIT_LEASE, .unchanged = !plan->as_claimed});
}

// -- answers

struct step {
    struct plan *plan;
    struct run *run;
    const struct answer *answer;
    const struct zone *zone;
    int64_t now;
};

static struct decision sign_of_life (const struct step *step)
{
    // One more of a run that is known to be alive: only its lease starts anew.
    // Out of the queue the lease is kept by exec_time, which is written now and then.
    bool queued = step->plan->state != PLAN_PAUSE && step->plan->state != PLAN_CLOSE;
    bool recent = step->now - step->plan->exec_time < RENEW_S;
    if (step->run->phase == RUN_RUNNING && (queued || recent))
        return (struct decision){.commit = COMMIT_LEASE, .unchanged = true};
    step->run->phase = RUN_RUNNING;
    step->plan->last_state = ZERO_STATUS_RUNING_ID;
    step->plan->state = PLAN_EXECUTE;
    step->plan->exec_time = step->now;
    return (struct decision){.commit = COMMIT_LEASE};
}

static struct decision succeed (const struct step *step)
{
    struct plan *plan = step->plan;
    plan->last_state = step->answer->status;
    struct decision decision = {
        .commit = COMMIT_NEXT, .succeeded = true, .save_work = true, .broadcast = BROADCAST_RESULT};
    if (plan->extra)
        return decision;
    struct occurrence next;
    bool more = next_occurrence (plan, step->zone, step->now, &decision.misses, &next);
    plan->real_repet++;
    plan->verdict = VERDICT_NONE;
    if (plan->error_info)
        plan_set_error (plan, (struct span){0});
    go_on (plan, more ? &next : NULL, &decision);
    return decision;
}

static struct decision no_worker (const struct step *step)
{
    return not_taken (step->plan, step->answer->status, COMMIT_RETRY);
}

static struct decision park (const struct step *step)
{
    step->plan->last_state = step->answer->status;
    step->plan->state = PLAN_ERROR;
    return (struct decision){.commit = COMMIT_PARK,
                             .save_work = true,
                             .broadcast = BROADCAST_RESULT,
                             .exhausted = true,
                             .attempts = step->plan->error_count + 1};
}

static struct decision fail (const struct step *step)
{
    // Plan document 3.3(3): this state takes the right to run, whoever says it.
    if (step->answer->status == ZERO_STATUS_FRAME_PLANERROR_ID)
        return park (step);
    // NOT_WORKER is told once a minute even as a result: a station says so of a run it had taken.
    bool unavailable = step->answer->status == ZERO_STATUS_NOT_WORKER_ID;
    struct decision decision = unavailable
                                   ? no_worker (step)
                                   : failed_run (step->plan, step->zone, step->now,
                                                 step->answer->status, step->answer->advice);
    decision.save_work = true;
    decision.waiting = WAITING_NOT;
    return decision;
}

// An error that the target itself tells. Plan document 3.3(11): it takes the plan out of the queue;
// a retry policy replaces that.
static struct decision refuse (const struct step *step)
{
    return retry_policy_of (step->plan) ? fail (step) : park (step);
}

// -- votes

// exec_id is the moment of the claim, or what an operator wrote there.
static int64_t end_us_of (const struct plan *plan, int64_t after_s)
{
    const int64_t latest_us = SCHEDULE_TIME_MAX * 1000000;
    int64_t claimed_us = plan->exec_id < (uint64_t)latest_us ? (int64_t)plan->exec_id : latest_us;
    return after_s ? claimed_us + after_s * 1000000 : 0;
}

int64_t engine_poll_end_us (const struct plan *plan)
{
    return end_us_of (plan, plan->vote.deadline_s);
}

int64_t engine_run_end_us (const struct plan *plan)
{
    int64_t timeout_s = plan->policy ? plan->policy->timeout_s : 0;
    int64_t poll_end_us = engine_poll_end_us (plan), end_us = end_us_of (plan, timeout_s);
    return poll_end_us && (!end_us || poll_end_us <= end_us) ? poll_end_us : end_us;
}

static struct decision end_poll (const struct step *step, uint8_t status)
{
    struct answer answer = *step->answer;
    answer.status = status;
    struct step ended = *step;
    ended.answer = &answer;
    struct decision decision = status < ZERO_STATUS_ERROR_FLAG ? succeed (&ended) : fail (&ended);
    decision.save_work = step->answer->tally.event == POLL_VOTE;
    decision.open_poll = !step->answer->tally.stored;
    decision.close_poll = true;
    return decision;
}

// A vote ends as soon as its outcome is certain: enough are in favour, or enough cannot be any
// more. Before the voters are known only a number of them can be reached.
static struct decision poll (const struct step *step)
{
    const struct tally *tally = &step->answer->tally;
    const struct vote_rule *rule = &step->plan->vote;
    size_t needed = vote_rule_needed (rule, tally->voters);
    bool counts = rule->need == VOTE_ANY || rule->need == VOTE_COUNT;
    if (tally->event == POLL_VOTE || tally->event == POLL_OPENED) {
        if (needed && tally->in_favour >= needed && (tally->opened || counts))
            return end_poll (step, ZERO_STATUS_OK_ID);
        if (tally->opened && tally->in_favour + (tally->voters - tally->voted) < needed)
            return end_poll (step, ZERO_STATUS_FAILED_ID);
        struct decision decision = sign_of_life (step);
        decision.save_work = tally->event == POLL_VOTE;
        decision.open_poll = tally->event == POLL_OPENED || !tally->stored;
        if (decision.open_poll) {
            step->plan->poll = step->run->exec_id;
            decision.unchanged = false;
        }
        return decision;
    }
    if (needed && tally->in_favour >= needed && (tally->opened || counts))
        return end_poll (step, ZERO_STATUS_OK_ID);
    return end_poll (step,
                     tally->event == POLL_TIMEOUT ? ZERO_STATUS_TIMEOUT_ID : ZERO_STATUS_FAILED_ID);
}

enum answer_class {
    CLASS_RUNING,
    CLASS_WAITING,
    CLASS_OK,
    CLASS_NOT_WORKER,
    CLASS_OTHER_GOOD,
    CLASS_OTHER_ERROR,
    CLASSES
};

static enum answer_class classify (const struct answer *answer)
{
    switch (answer->status) {
    case ZERO_STATUS_RUNING_ID:
        return CLASS_RUNING;
    case ZERO_STATUS_WAITING_ID:
    case ZERO_STATUS_VOTE_START_ID: // the same number as the WAITING command a worker may send
        return CLASS_WAITING;
    case ZERO_STATUS_VOTE_SENDED_ID:
        return answer->target == TARGET_VOTE ? CLASS_WAITING : CLASS_OTHER_GOOD;
    case ZERO_STATUS_OK_ID:
        return CLASS_OK;
    case ZERO_STATUS_NOT_WORKER_ID:
        return CLASS_NOT_WORKER;
    default:
        return answer->status < ZERO_STATUS_ERROR_FLAG ? CLASS_OTHER_GOOD : CLASS_OTHER_ERROR;
    }
}

// Plan document 3.3(8) to (11) for the target's status, 3.4 for a result.
static const struct answer_rule {
    struct decision (*as_status) (const struct step *step);
    struct decision (*as_result) (const struct step *step);
} answer_rules[CLASSES] = {
    [CLASS_RUNING] = {sign_of_life, sign_of_life},
    [CLASS_WAITING] = {sign_of_life, sign_of_life},
    [CLASS_OK] = {succeed, succeed},
    [CLASS_NOT_WORKER] = {no_worker, fail},
    [CLASS_OTHER_GOOD] = {park, succeed},
    [CLASS_OTHER_ERROR] = {refuse, fail},
};

bool engine_is_result (uint8_t status)
{
    enum answer_class class = classify (&(struct answer){.status = status});
    return class != CLASS_RUNING && class != CLASS_WAITING;
}

// Contract chapter 4, rule 5. A worker of an earlier run that never answered may still do so;
// without a LOCAL_ID its answer must not be taken for one of this run.
bool engine_is_late (const struct run *run, const struct answer *answer)
{
    if (answer->has_exec_id)
        return answer->exec_id != run->exec_id;
    if (!run->again)
        return false;
    if (!answer->on_connection)
        return true;
    if (run->phase == RUN_RUNNING)
        return false;
    enum answer_class class = classify (answer);
    // Only what the station itself says counts now: a pub station answers for itself.
    bool from_station =
        class == CLASS_RUNING || class == CLASS_NOT_WORKER || answer->tally.event == POLL_OPENED;
    return !from_station && answer->target != TARGET_PUB;
}

struct decision engine_answer (struct plan *plan, struct run *run, const struct answer *answer,
                               const struct zone *zone, int64_t now)
{
    enum answer_class class = classify (answer);
    if (engine_is_late (run, answer))
        return (struct decision){.commit = COMMIT_NONE};
    if (answer->advice.kind == ADVICE_RELEASE)
        return put_back (plan, answer->advice.after_s * 1000);
    const struct answer_rule *rule = &answer_rules[class];
    struct step step = {plan, run, answer, zone, now};
    enum plan_state was = plan->state;
    struct decision decision;
    if (answer->tally.event != POLL_NONE)
        decision = poll (&step);
    else if (answer->on_connection && run->phase == RUN_SENT) // a status
        decision = rule->as_status (&step);
    else
        decision = rule->as_result (&step);
    return settle (plan, was, decision);
}
