// One row per command: the states it is allowed in, and what it does.
#include "management.h"

#include <inttypes.h>

#include "codes.h"
#include "ending.h"
#include "status.h"

#define IN(state) (1U << (state))

enum {
    OPEN = IN (PLAN_NONE) | IN (PLAN_QUEUE) | IN (PLAN_EXECUTE) | IN (PLAN_RETRY) | IN (PLAN_SKIP),
    STOPPED = IN (PLAN_PAUSE) | IN (PLAN_ERROR),
    CLOSED = IN (PLAN_CLOSE)
};

// Pause or close the plan: it leaves the queue. A manual run that was sent continues, even beyond
// its lease, and the plan is paused or closed after it. A manual run that was not sent is dropped.
static int stop_plan (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                      struct reason *reason)
{
    enum plan_state state = request->command == MANAGE_PAUSE ? PLAN_PAUSE : PLAN_CLOSE;
    (void)reason;
    bool sent = request->running || plan->state == PLAN_EXECUTE || !plan_is_queued (plan);
    plan_note_stop (plan, plan_state_name (state), request->who, request->now);
    plan->held = 0;
    plan->state = state;
    if (plan->extra && sent)
        plan->extra = state;
    else
        ending_drop_manual_run (plan);
    if (request->running)
        plan->exec_time = request->now; // without a queue entry, the lease starts at exec_time
    *ret = REQUEUE_OUT;
    return 0;
}

static int reset_plan (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                       struct reason *reason)
{
    (void)reason;
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID)
        plan->last_state = 0;
    plan->error_count = 0;
    plan->tries = 0;
    plan->verdict = VERDICT_NONE;
    plan_set_stopped (plan, (struct span){0});
    plan->held = 0;
    if (plan->extra && request->running)
        plan->extra = PLAN_QUEUE;
    else
        ending_drop_manual_run (plan);
    plan->state = request->running ? PLAN_EXECUTE : PLAN_QUEUE;
    *ret = request->running ? REQUEUE_LEASE : REQUEUE_TIME;
    return 0;
}

static int skip_plan (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                      struct reason *reason)
{
    struct occurrence current = plan_occurrence (plan), next;
    // A scheduled run in flight is not skipped, only occurrences after it.
    bool after_current = request->running && !plan->extra;
    int64_t count = plan->skip_wait + request->count + after_current;
    int64_t most = schedule_skip_max (&plan->schedule);
    if (plan->skip_wait + request->count > most)
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "skip: at most %" PRId64 " occurrences of this plan at once, whose "
                             "times are counted one by one; got %" PRId64,
                             most, plan->skip_wait + request->count);
    if (!schedule_skip (&plan->schedule, request->zone, &current, count, &next))
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "skip: no occurrence is left after %" PRId64
                             " more; close ends the plan",
                             request->count);
    plan->skip_set = request->count;
    *ret = REQUEUE_KEEP;
    if (after_current) {
        plan->skip_wait += request->count;
        return 0;
    }
    plan->skip_wait = 0;
    plan->plan_time = next.time;
    plan->skip_num = next.used - plan->real_repet;
    plan->error_count = 0;
    plan->tries = 0;
    if (plan_is_queued (plan) && !plan->extra) {
        plan->state = PLAN_QUEUE;
        *ret = REQUEUE_TIME;
    }
    return 0;
}

static int run_plan (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                     struct reason *reason)
{
    if (request->running)
        return reason_error (reason, ZPLAN_EARGUMENT, "run: the plan is running");
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID)
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "run: the plan has lost its right to run; reset it first");
    if (!plan->extra)
        plan->extra = plan_is_queued (plan) ? PLAN_QUEUE : plan->state;
    plan->state = PLAN_QUEUE;
    plan_set_run_with (plan, request->with);
    *ret = REQUEUE_NOW;
    return 0;
}

// A failed occurrence was resolved manually: the plan continues with the next one, or is closed if
// there is none.
static int done_plan (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                      struct reason *reason)
{
    struct moments at = {.claimed = request->now, .now = request->now};
    struct misses misses = {.why = NULL};
    struct occurrence next = plan_occurrence (plan);
    if (plan->verdict != VERDICT_PENDING && plan->verdict != VERDICT_FAILURE)
        return reason_error (reason, ZPLAN_EARGUMENT, "done: the plan has not failed permanently");
    if (request->running) // a manual run
        return reason_error (reason, ZPLAN_EARGUMENT, "done: the plan is running");
    // A skip or an update may have moved the plan past the failed occurrence already.
    bool failed = plan->error_count > 0;
    bool more = !failed || misses_next (plan, request->zone, &at, &misses, &next);
    plan_set_remark (plan, request->remark);
    plan_set_stopped (plan, (struct span){0});
    plan->verdict = VERDICT_MANUAL;
    ending_drop_manual_run (plan);
    plan->missed += misses.missed.count;
    if (request->ret_misses)
        *request->ret_misses = misses;
    plan->error_count = 0;
    plan->tries = 0;
    plan->skip_wait = 0;
    plan->state = more ? PLAN_QUEUE : PLAN_CLOSE;
    *ret = more ? REQUEUE_TIME : REQUEUE_OUT;
    if (more) {
        plan->skip_num = next.used - plan->real_repet;
        plan->plan_time = next.time;
    }
    return 0;
}

// -- update

// Whether the new number of repeats leaves an occurrence.
static int check_repeat (const struct plan *plan, const struct plan_fields *fields,
                         struct reason *reason)
{
    int64_t used = plan_occurrence (plan).used;
    bool once = !schedule_repeats (fields->schedule.type);
    if (once || fields->schedule.repeat == SCHEDULE_FOREVER || fields->schedule.repeat > used)
        return 0;
    return reason_error (reason, ZPLAN_EARGUMENT,
                         "plan_repet: want more than the %" PRId64 " that are used up, got %d",
                         used, fields->schedule.repeat);
}

// Replace the schedule as if it were submitted now: its repeats start at 0, and occurrences before
// now are skipped, even with no_keep, as nobody who edits a plan wants it to run for the past.
static int restart_schedule (struct plan *plan, const struct manage_request *request,
                             struct reason *reason)
{
    const struct plan_fields *fields = request->fields;
    struct schedule schedule = fields->schedule;
    struct occurrence first;
    schedule.received = request->now;
    struct schedule from_now = schedule;
    from_now.keep = false;
    if (!schedule_first (&from_now, request->zone, request->now, fields->skip_set, &first)) {
        bool ends =
            schedule_never_by_end (&from_now, request->zone, request->now, fields->skip_set);
        const char *field = ends                             ? "end_time"
                            : schedule.type == SCHEDULE_CRON ? "cron"
                                                             : "plan_time";
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "%s: with this schedule the plan would never run again", field);
    }
    plan->schedule = schedule;
    plan->plan_time = first.time;
    plan->real_repet = 0;
    plan->skip_set = fields->skip_set;
    plan->skip_num = first.used;
    plan->skip_wait = 0;
    plan->error_count = 0;
    plan->tries = 0;
    return 0;
}

// Whether the update changes nothing but `workers`, which is allowed while the plan runs.
static bool only_workers_change (const struct plan *plan, const struct plan_fields *fields)
{
    const struct schedule *old = &plan->schedule, *new = &fields->schedule;
    struct span remark = span_of (fields->remark, fields->remark_size);
    return fields->policy && fields->policy->workers.count &&
           plan_same_schedule (plan, new, fields->policy) && old->repeat == new->repeat &&
           old->keep == new->keep && fields->skip_set == 0 &&
           span_equal (remark, span_text (plan->remark ? plan->remark : "")) &&
           span_equal (span_of (fields->description, fields->description_size),
                       plan->description) &&
           policy_same_but_workers (plan->policy, fields->policy);
}

static int update_plan (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                        struct reason *reason)
{
    const struct plan_fields *fields = request->fields;
    if (request->running && !only_workers_change (plan, fields))
        return reason_error (reason, ZPLAN_EARGUMENT, "update: the plan is running");
    bool rescheduled =
        fields->skip_set > 0 || !plan_same_schedule (plan, &fields->schedule, fields->policy);
    int rc = rescheduled ? restart_schedule (plan, request, reason)
                         : check_repeat (plan, fields, reason);
    if (rc)
        return rc;
    plan->schedule.repeat = fields->schedule.repeat;
    plan->schedule.keep = fields->schedule.keep;
    plan->vote = fields->vote;
    plan_take_policy (plan, policy_keep (fields->policy));
    plan_set_remark (plan, span_of (fields->remark, fields->remark_size));
    plan->description = span_of (fields->description, fields->description_size);
    *ret = REQUEUE_KEEP;
    if (rescheduled && plan_is_queued (plan) && !plan->extra) {
        plan->state = PLAN_QUEUE;
        *ret = REQUEUE_TIME;
    }
    return 0;
}

// -- the commands

static const struct plan_command {
    const char *name;
    unsigned states;
    int (*run) (struct plan *plan, const struct manage_request *request, enum requeue *ret,
                struct reason *reason);
} commands[MANAGE_COMMANDS] = {
    [MANAGE_PAUSE] = {"pause", OPEN, stop_plan},
    [MANAGE_RESET] = {"reset", STOPPED, reset_plan},
    [MANAGE_AT_ONCE] = {"redeliver", STOPPED | IN (PLAN_RETRY), reset_plan},
    [MANAGE_CLOSE] = {"close", OPEN | STOPPED | CLOSED, stop_plan},
    [MANAGE_SKIP] = {"skip", OPEN | STOPPED, skip_plan},
    [MANAGE_RUN] = {"run", OPEN | STOPPED, run_plan},
    [MANAGE_UPDATE] = {"update", OPEN | STOPPED, update_plan},
    [MANAGE_DONE] = {"done", STOPPED, done_plan},
};

int engine_handle_command (struct plan *plan, const struct manage_request *request,
                           enum requeue *ret, struct reason *reason)
{
    const struct plan_command *command = &commands[request->command];
    if (!(command->states & IN (plan->state)))
        return reason_error (reason, ZPLAN_EARGUMENT, "%s: the plan is %s", command->name,
                             plan_state_word (plan->state));
    return command->run (plan, request, ret, reason);
}
