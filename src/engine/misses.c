#include "misses.h"

#include "codes.h"

// No missed occurrence still runs.
static const struct catch_up none = {.keep = 0};

// Which of the occurrences that came due during a run still run, if `misfires` applies to the
// others.
static struct catch_up overlap_catch_up (const struct plan *plan, struct catch_up misfires)
{
    const struct policy *policy = plan->policy;
    if (policy && policy->overlap_policy == OVERLAP_QUEUE)
        return (struct catch_up){.keep = 1};
    if (policy && policy->overlap_policy == OVERLAP_SKIP)
        return none;
    return misfires.keep == INT64_MAX ? misfires : none;
}

// Whether the plan repeats without a fixed interval: each run begins when the one before has ended.
static bool repeats_without_interval (const struct schedule *schedule)
{
    bool interval = schedule->type >= SCHEDULE_SECOND && schedule->type <= SCHEDULE_DAY;
    return interval && schedule->value == 0 && !schedule->cycle;
}

// The time by a clock that is slow by the plan's jitter. Jitter moves every occurrence of a plan by
// the same offset, so by this clock each is due at its nominal time, and the offset never counts as
// lateness.
static int64_t time_without_jitter (const struct plan *plan, int64_t time)
{
    int64_t offset_s = plan_due_time (plan) - plan->plan_time;
    return time > offset_s ? time - offset_s : 0;
}

// Add missed occurrences, for the reason `why`.
static void misses_add (struct misses *self, const struct missed *more, const char *why)
{
    if (more->count == 0)
        return;
    if (self->missed.count == 0)
        self->missed.first = more->first;
    self->missed.count += more->count;
    self->missed.last = more->last;
    self->missed.more = self->missed.more || more->more;
    self->why = why;
}

// Occurrences whose nominal time is before the receipt are missed; the jitter makes none too late
// for the misfire window, as in misses_skip_late.
bool misses_find_first (const struct plan *plan, const struct zone *zone, int64_t now,
                        struct misses *ret_misses, struct occurrence *ret)
{
    const struct schedule *schedule = &plan->schedule;
    struct catch_up misfires =
        policy_misfires (plan->policy, schedule, time_without_jitter (plan, now));
    struct missed missed;
    *ret_misses = (struct misses){0};
    // No run begins after end_time, not even a late one.
    if ((schedule->end_time && now > schedule->end_time) ||
        !schedule_begin (schedule, zone, now, plan->skip_set, &misfires, &missed, ret))
        return false;
    misses_add (ret_misses, &missed, "submission");
    return true;
}

// First skip what was missed before the run began, then what came due during it.
bool misses_next (const struct plan *plan, const struct zone *zone, const struct moments *at,
                  struct misses *ret_misses, struct occurrence *ret)
{
    struct occurrence current = plan_occurrence (plan), next;
    // A plan without a fixed interval misses nothing, however long its run takes.
    bool no_interval = repeats_without_interval (&plan->schedule);
    int64_t now = no_interval ? at->now : time_without_jitter (plan, at->now);
    int64_t claimed = no_interval ? now : time_without_jitter (plan, at->claimed);
    struct catch_up misfires = policy_misfires (plan->policy, &plan->schedule, now);
    struct catch_up overlaps = overlap_catch_up (plan, misfires);
    struct missed missed = {0};
    *ret_misses = (struct misses){0};
    claimed = claimed < current.time ? current.time : claimed;
    claimed = claimed > now ? now : claimed;
    if (!schedule_after (&plan->schedule, zone, &current, claimed, &misfires, &missed, &next)) {
        misses_add (ret_misses, &missed, "misfire");
        return false;
    }
    misses_add (ret_misses, &missed, "misfire");
    if (next.time < now && next.time >= claimed) {
        struct occurrence from = next;
        missed = (struct missed){0};
        bool more =
            schedule_at_or_after (&plan->schedule, zone, &from, now, &overlaps, &missed, &next);
        misses_add (ret_misses, &missed, "overlap");
        if (!more)
            return false;
    }
    *ret = next;
    return plan->skip_wait == 0 ||
           schedule_skip (&plan->schedule, zone, &next, plan->skip_wait, ret);
}

bool misses_after_end (const struct plan *plan, const struct zone *zone, int64_t now,
                       struct misses *ret_misses)
{
    struct occurrence current = plan_occurrence (plan), next;
    struct misses rest = {.why = "end_time"};
    if (!plan->schedule.end_time || now <= plan->schedule.end_time)
        return false;
    schedule_at_or_after (&plan->schedule, zone, &current, now, &none, &rest.missed, &next);
    if (rest.missed.count == 0) // schedule type none: the present occurrence is missed
        rest.missed = (struct missed){1, current.time, current.time, false};
    *ret_misses = rest;
    return true;
}

// Whether the job may have run for the present occurrence: then it is not missed, but retried.
static bool may_have_run (const struct plan *plan)
{
    bool retries = plan->policy && plan->policy->retry.strategy != RETRY_PACED;
    // No status came, but the target may have received the run.
    if (plan->tries > 0 && plan->last_state == ZERO_STATUS_RECV_ERROR_ID)
        return true;
    return plan->error_count > (retries ? 0 : plan->tries);
}

bool misses_skip_late (const struct plan *plan, const struct zone *zone, int64_t now,
                       struct misses *ret_misses, struct occurrence *ret, bool *ret_ended)
{
    const struct policy *policy = plan->policy;
    struct occurrence current = plan_occurrence (plan);
    int64_t late_s = now - plan_due_time (plan);
    *ret_misses = (struct misses){0};
    *ret_ended = false;
    bool window = policy && policy->misfire_window_s;
    if (!policy || may_have_run (plan) || late_s < 1 ||
        (!window && policy->misfire != MISFIRE_NEWEST))
        return false;
    // An occurrence within the window is not missed; without a window only the newest ones may run.
    if (policy->misfire != MISFIRE_NEWEST && late_s <= policy->misfire_window_s)
        return false;
    now = time_without_jitter (plan, now);
    struct catch_up misfires = policy_misfires (plan->policy, &plan->schedule, now);
    bool more = schedule_at_or_after (&plan->schedule, zone, &current, now, &misfires,
                                      &ret_misses->missed, ret);
    ret_misses->why = "misfire";
    *ret_ended = !more;
    return ret_misses->missed.count > 0;
}
