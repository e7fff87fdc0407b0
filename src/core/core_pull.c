// Offers of runs to workers, and which run a worker gets.
#include "core_pull.h"

#include <stdlib.h>

#include "core_private.h"
#include "memory.h"
#include "stored_text.h"

// -- offer

static const uint64_t EXEC_ID_MAX = 9999999999999999; // the largest that fits into a head

// Set the state in the message to running, unless it is set, or the plan was paused or closed since
// it was taken.
static void mark_message_running (struct core *self, struct open_plan *plan)
{
    struct span message = span_of (plan->message, plan->message_size);
    if (plan->revision < 0)
        plan->revision = message_number (message, "revision");
    if (message_exec_id (message) == plan->exec_id ||
        message_number (message, "plan_state") >= PLAN_PAUSE)
        return;
    size_t size;
    char head[HEAD_ROOM];
    if (!open_has_head (plan) || plan->exec_id > EXEC_ID_MAX) {
        uint8_t *running = message_as_running (message, plan->exec_id, &size);
        open_set_message (self, plan, span_of (running, size), plan->revision);
        free (running);
        return;
    }
    uint8_t *running = memory_copy (plan->message, plan->message_size);
    size = open_running_head (plan, head);
    memcpy (running, head, size);
    if (!plan->lent)
        free (plan->message);
    plan->lent = false;
    plan->message = running;
    open_mark_written (self, plan, WRITE_HEAD);
}

// Find the run of an offer. CORE_NOT_CURRENT: it is not in flight; CORE_UNREAD: its message or team
// must be read.
static enum core_result find_run (struct core *self, const struct core_offer *offer, int64_t now_us,
                                  struct open_plan **ret)
{
    struct open_plan *plan = open_find_run (self, offer->target, offer->id, offer->exec_id);
    if (!plan)
        return CORE_NOT_CURRENT;
    if (!offer->found && (!plan->message || !plan->team_known))
        return CORE_UNREAD;
    if (offer->found)
        core_load_team (self, offer->target, offer->id, offer->found, now_us);
    *ret = plan;
    return plan->message ? CORE_DONE : CORE_NOT_CURRENT;
}

enum core_result core_pull_offer (struct core *self, const struct core_offer *offer, int64_t now_us,
                                  struct core_offered *ret)
{
    struct open_plan *plan;
    enum core_result result = find_run (self, offer, now_us, &plan);
    *ret = (struct core_offered){0};
    if (result != CORE_DONE)
        return result;
    plan->pull_run = true;
    mark_message_running (self, plan);
    struct team *team = pull_record_for (plan)->team;
    pull_read_rule (plan);
    plan->flight = FLIGHT_OFFERED;
    open_mark_written (self, plan, WRITE_RUN);
    team_begin_run (team, offer->exec_id, offer->already_offered);
    team_remove_late (team, now_us / 1000);
    struct pull_state state = pull_update_run (self, plan, offer->lease_us, now_us);
    // If it stayed due, each claim would begin another run, and the decision on the end of this one
    // would apply to no run.
    if (state.over && plan->queued && !plan->chosen)
        open_queue (self, plan, now_us + PULL_END_US);
    ret->free = state.free;
    ret->over = state.over;
    ret->outcome = outcome_copy (self, &state.outcome);
    ret->message = rows_copy_text (self->gathering, span_of (plan->message, plan->message_size));
    return CORE_DONE;
}

// -- take

// The limits that prevented a worker from taking plans.
struct take_limits {
    bool waits;        // a limit prevented a run
    bool target_waits; // the target's limit prevented the last one examined
    int64_t wake_us;   // when a rate allows the next run
};

// Whether a limit lets another run begin. If not, note it in `limits`.
static bool check_limit (const struct limit_state *limit, int64_t now_us,
                         struct take_limits *limits)
{
    if (!limit || limit_allows (limit, now_us, &limits->wake_us))
        return true;
    limits->waits = true;
    return false;
}

// A run counts from its first worker on: check the limits of its target and group, and count it.
// False: a limit prevents it.
static bool charge_first_worker (struct core *self, struct open_plan *plan, int64_t now_us,
                                 struct take_limits *limits)
{
    limits->target_waits = !check_limit (plan->target->limit, now_us, limits);
    if (limits->target_waits || !check_limit (group_limit (self, plan), now_us, limits))
        return false;
    open_charge (self, plan, now_us);
    return true;
}

// Whether the message contains all members that the worker requires.
static bool message_matches (const struct open_plan *plan, const struct core_pull_take *take)
{
    for (size_t i = 0; i < take->member_count; i++)
        if (!message_has_member (span_of (plan->message, plan->message_size), take->members[i]))
            return false;
    return true;
}

// Whether the team lets this worker in: it is new, or failed in an earlier try, and no other worker
// has come for a while.
static bool may_join (const struct team *team, const struct core_pull_take *take, int64_t now_us)
{
    enum { OTHERS_US = 5000000 };
    const struct team_worker *worker = team_find (team, take->worker);
    return !worker || (worker->state == WORKER_FAILED_EARLIER && take->alone &&
                       now_us - (int64_t)team->since > OTHERS_US);
}

// Decide whether the worker gets this run. If it is the first worker, the run counts toward limits
// from now on. Late workers are removed.
static bool admit_worker (struct core *self, struct open_plan *plan,
                          const struct core_pull_take *take, int64_t now_us,
                          struct take_limits *limits)
{
    struct team *team = plan->pull->team;
    if (team->rule.state == PLAN_PAUSE || !message_matches (plan, take) ||
        !team_rule_allows (&team->rule, take->worker))
        return false;
    size_t before = team->count;
    team_remove_late (team, now_us / 1000);
    if (team->count != before)
        open_mark_written (self, plan, WRITE_TEAM);
    struct team_tally tally = team_count_workers (team);
    return may_join (team, take, now_us) && tally.running + tally.ended < team->rule.count &&
           (tally.running || charge_first_worker (self, plan, now_us, limits));
}

// Add the worker to the team of the run.
static struct core_job assign_job (struct core *self, struct open_plan *plan,
                                   const struct core_pull_take *take, int64_t now_us)
{
    const struct team_rule *rule = &plan->pull->team->rule;
    team_add_worker (plan->pull->team, take->worker, plan->exec_id, now_us / 1000);
    pull_update_run (self, plan, take->lease_us, now_us);
    return (struct core_job){
        .target = core_target_name (plan->target),
        .id = plan->id,
        .exec_id = plan->exec_id,
        .ping_s = rule->ping_s,
        .timeout_s = rule->timeout_s,
        .message = rows_copy_text (self->gathering, span_of (plan->message, plan->message_size))};
}

// Whether the offer is valid: its plan was neither closed nor edited by hand.
static bool is_valid_offer (const struct open_plan *plan)
{
    return plan->message && team_is_current (plan->pull->team) &&
           plan->pull->team->rule.state != PLAN_CLOSE;
}

// Report whether limits prevented plans from being taken, and for how long.
static void report_limits (const struct take_limits *limits, int64_t now_us,
                           struct core_pull_taken *ret)
{
    ret->limited = limits->waits;
    if (!limits->waits || limits->wake_us == INT64_MAX)
        return;
    ret->wait_ms = (limits->wake_us - now_us + 999) / 1000;
    if (ret->wait_ms < 1)
        ret->wait_ms = 1;
}

void core_pull_take (struct core *self, const struct core_pull_take *take, int64_t now_us,
                     struct core_job *jobs, struct core_pull_taken *ret)
{
    struct open_plan *page[PULL_EXAMINED_MAX];
    struct core_target *target = core_target_for (self, take->target);
    struct take_limits limits = {.wake_us = INT64_MAX};
    struct offer_list *list = &target->offers;
    size_t from = take->from > 0 ? (size_t)take->from : 0, offers = list->end - list->first;
    size_t count = from < offers ? offers - from : 0, examined = 0, bytes = 0;
    int64_t left = 0, taken = 0;
    *ret = (struct core_pull_taken){0};
    core_advance (self, now_us, 0); // runs whose workers are late stop counting toward limits
    count = count < PULL_EXAMINED_MAX ? count : PULL_EXAMINED_MAX;
    if (count) // taking an offer moves the others in the list
        memcpy (page, &list->at[list->first + from], count * sizeof *page);
    for (; examined < count && taken < take->limit && bytes <= PULL_BYTES_MAX; examined++) {
        struct open_plan *plan = page[examined];
        if (!is_valid_offer (plan)) {
            pull_withdraw (plan);
            continue;
        }
        if (admit_worker (self, plan, take, now_us, &limits)) {
            jobs[taken] = assign_job (self, plan, take, now_us);
            bytes += jobs[taken++].message.size;
        }
        left += plan->pull->offered;
    }
    // If the target itself is at its limit, no later offer can begin either.
    if (examined == PULL_EXAMINED_MAX && taken < take->limit && !limits.target_waits)
        ret->next = (int64_t)from + left;
    ret->count = (size_t)taken;
    report_limits (&limits, now_us, ret);
}
