#include "engine.h"

#include <inttypes.h>

#include "codes.h"
#include "ending.h"
#include "nearest.h"

// How soon a run that was not sent is due again.
enum { REQUEUE_SOON_MS = 1000, REQUEUE_LATER_MS = 30000 };

static const struct advice no_advice = {ADVICE_NONE, 0};

static const char *const target_type_names[TARGET_TYPES] = {
    [TARGET_API] = "api", [TARGET_PUB] = "pub", [TARGET_VOTE] = "vote", [TARGET_PULL] = "pull"};

const char *target_type_name (enum target_type type)
{
    return target_type_names[type];
}

int target_type_parse (const char *name)
{
    return word_index (target_type_names, TARGET_TYPES, name);
}

bool commit_ends_run (enum commit commit)
{
    return commit == COMMIT_RETRY || commit == COMMIT_NEXT || commit == COMMIT_PARK ||
           commit == COMMIT_END;
}

int64_t engine_retry_time (const struct plan *plan)
{
    return plan->exec_time + (ending_retry_delay_ms (plan) + 999) / 1000;
}

struct decision engine_timeout (struct plan *plan, const struct zone *zone, int64_t now)
{
    enum plan_state was = plan->state;
    return ending_finish (plan, was,
                          ending_failed (plan, zone, now, ZERO_STATUS_TIMEOUT_ID, no_advice));
}

// A cancelled run is not retried.
struct decision engine_cancel (struct plan *plan, const struct zone *zone, int64_t now)
{
    enum plan_state was = plan->state;
    struct decision decision = {.commit = COMMIT_NEXT, .broadcast = BROADCAST_RESULT};
    struct occurrence next;
    plan->last_state = ZERO_STATUS_CANCELLED_ID;
    if (!plan->extra) {
        plan->verdict = VERDICT_CANCELLED;
        bool more = ending_next (plan, zone, now, &decision.misses, &next);
        ending_move_to_next (plan, more ? &next : NULL, &decision);
    }
    return ending_finish (plan, was, decision);
}

// -- submit

int engine_submit (struct plan *plan, const struct zone *zone, int64_t now,
                   struct misses *ret_misses, struct reason *reason)
{
    struct occurrence first;
    if (misses_find_first (plan, zone, now, ret_misses, &first)) {
        plan->plan_time = first.time;
        plan->skip_num = first.used;
        plan->missed = ret_misses->missed.count;
        return 0;
    }
    schedule_explain_never (&plan->schedule, zone, now, plan->skip_set, reason);
    return ZPLAN_EPLAN;
}

// -- the right to run

// Whether a stored plan is fit to run (plan document 3.3(3)); if not, the reason says why.
static bool is_fit (const struct plan *plan, const struct due *due, struct reason *reason)
{
    struct desc desc;
    struct reason why;
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID)
        return reason_reject (reason, "last_state: the plan has lost its right to run");
    if (plan->station.size == 0)
        return reason_reject (reason, "station: is empty");
    if (!span_equal (plan->station, due->key_station))
        return reason_reject (reason, "station: is not the one of the plan's key");
    size_t least = PLAN_MESSAGES_MIN - due->flow;
    if (due->unknown && plan->message_count == PLAN_MESSAGES_MIN - 1) // it has no COMMAND
        return reason_reject (reason, "flow %.*s: not found", (int)due->key_station.size,
                              (const char *)due->key_station.data);
    if (plan->message_count < least)
        return reason_reject (reason, "messages: want at least %zu frames, got %zu", least,
                              plan->message_count);
    if (desc_parse (plan->messages[1], plan->message_count - 2, &desc, &why))
        return reason_reject (reason, "messages: %s", why.text);
    return plan_dispatch_fits (&desc, due->way) ||
           reason_reject (reason, "messages: too many frames to send");
}

struct decision engine_revoke (struct plan *plan)
{
    if (plan->state != PLAN_CLOSE)
        plan->state = PLAN_ERROR;
    ending_drop_manual_run (plan);
    plan->last_state = ZERO_STATUS_FRAME_PLANERROR_ID;
    return ending_close_step (plan, (struct decision){.commit = COMMIT_PARK,
                                                      .broadcast = BROADCAST_RESULT,
                                                      .exhausted = true,
                                                      .attempts = plan->error_count});
}

// -- runs whose lease ended without a result

// What is reported of a lost run.
enum loss_report {
    LOSS_NONE,   // nothing: no run was lost, or the occurrence just runs again
    LOSS_EXTRA,  // the end of a manual run
    LOSS_POLL,   // the end of a vote, whose deadline passed while no station ran
    LOSS_FAILURE // a failure, as the plan has a retry strategy or a timeout
};

// Whether the deadline of the lost run's vote has passed.
static bool poll_is_over (const struct plan *plan, const struct due *due)
{
    uint64_t deadline_us = (uint64_t)plan->vote.deadline_s * 1000000,
             now_us = (uint64_t)due->now_us;
    return deadline_us && due->exec_id <= now_us && now_us - due->exec_id >= deadline_us;
}

// What to report of the run.
static enum loss_report loss_report_of (const struct plan *plan, const struct due *due)
{
    if (!due->lost)
        return LOSS_NONE;
    if (plan->extra)
        return LOSS_EXTRA;
    if (poll_is_over (plan, due))
        return LOSS_POLL;
    return !due->pull && ending_lost_is_failure (plan) ? LOSS_FAILURE : LOSS_NONE;
}

bool engine_ends_lost (const struct plan *plan, const struct due *due)
{
    return loss_report_of (plan, due) != LOSS_NONE;
}

// End the vote of the lost run as timed out.
static struct decision end_lost_vote (struct plan *plan, const struct due *due)
{
    enum plan_state was = plan->state;
    struct decision decision =
        ending_failed (plan, due->zone, due->now, ZERO_STATUS_TIMEOUT_ID, no_advice);
    decision.close_poll = true;
    decision.open_poll = plan->poll != due->exec_id; // the stored participants are of another vote
    return ending_finish (plan, was, decision);
}

// End the lost manual run as timed out.
static struct decision end_lost_manual_run (struct plan *plan)
{
    plan->last_state = ZERO_STATUS_TIMEOUT_ID;
    return ending_finish_manual_run (plan, (struct decision){0});
}

// -- due

// Whether the claimed occurrence is too late to run; the plan then moves to the next one or ends.
// An occurrence that was tried before, or is in flight, is never too late, but after end_time no
// run begins.
static bool skip_if_late (struct plan *plan, const struct due *due, struct decision *ret,
                          struct reason *reason)
{
    enum plan_state was = plan->state;
    struct misses misses;
    struct occurrence next;
    bool ended = true,
         after_end = !plan->extra && misses_after_end (plan, due->zone, due->now, &misses);
    if (!after_end && (plan->extra || due->earlier_may_answer ||
                       !misses_skip_late (plan, due->zone, due->now, &misses, &next, &ended)))
        return false;
    reason_set (reason, "missed: %" PRId64 "%s, %s", misses.missed.count,
                misses.missed.more ? " or more" : "",
                after_end ? "end_time is past" : "they are too late");
    int64_t failures = plan->error_count; // end_time ends the retries of these
    plan->missed += misses.missed.count;
    plan->last_state = ZERO_STATUS_MISSED_ID;
    plan->error_count = 0;
    plan->tries = 0;
    plan->state = ended ? PLAN_CLOSE : PLAN_QUEUE;
    if (!ended) {
        plan->skip_num = next.used - plan->real_repet;
        plan->plan_time = next.time;
    }
    *ret = ending_finish (plan, was,
                          (struct decision){.commit = ended ? COMMIT_END : COMMIT_NEXT,
                                            .broadcast = BROADCAST_RESULT,
                                            .exhausted = failures > 0,
                                            .attempts = failures,
                                            .misses = misses});
    return true;
}

struct decision engine_due (struct plan *plan, const struct due *due, struct reason *reason)
{
    enum loss_report loss = loss_report_of (plan, due);
    if (loss == LOSS_EXTRA) {
        reason_set (reason, "the manual run gave no result within its lease");
        return end_lost_manual_run (plan);
    }
    if (!is_fit (plan, due, reason))
        return engine_revoke (plan);
    if (loss == LOSS_POLL) {
        reason_set (reason, "vote: its deadline has passed");
        return end_lost_vote (plan, due);
    }
    if (due->lost) {
        reason_set (reason, "no result within the lease");
        return engine_timeout (plan, due->zone, due->now);
    }
    struct decision decision;
    if (!due->goes_on && skip_if_late (plan, due, &decision, reason))
        return decision;
    plan->exec_id = due->exec_id;
    plan->exec_time = due->now;
    if (!due->flow || !due->goes_on) // the plan of a flow in progress may be paused
        plan->state = PLAN_EXECUTE;
    return (struct decision){.send = true};
}

// -- failures of the transport

struct decision engine_handle_not_sent (struct plan *plan)
{
    enum plan_state was = plan->state;
    return ending_finish (plan, was,
                          ending_not_taken (plan, ZERO_STATUS_SEND_ERROR_ID, COMMIT_RETRY));
}

struct decision engine_requeue (struct plan *plan)
{
    return ending_requeue_or_park (plan, REQUEUE_SOON_MS);
}

struct decision engine_requeue_later (struct plan *plan)
{
    return ending_requeue_or_park (plan, REQUEUE_LATER_MS);
}

struct decision engine_handle_no_status (struct plan *plan)
{
    enum plan_state was = plan->state;
    return ending_finish (plan, was,
                          ending_not_taken (plan, ZERO_STATUS_RECV_ERROR_ID, COMMIT_DOUBT));
}

// The first commit after a claim of many plans also writes the message, which the claim did not.
struct decision engine_keep_run (struct plan *plan)
{
    enum plan_state was = plan->state;
    return ending_finish (
        plan, was, (struct decision){.commit = COMMIT_LEASE, .unchanged = !plan->as_claimed});
}
