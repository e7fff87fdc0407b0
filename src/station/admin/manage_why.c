// why: why a plan is not running now, or what it is running, and what will change that. One
// function per kind of reason, in the order in which they block a plan; each uses the same checks
// as normal operation (commands for states, free slots for targets, the engine for times).
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "codes.h"
#include "callback_book.h"
#include "flow_book.h"
#include "limit_rule.h"
#include "manage_private.h"
#include "manage_why_flow.h"
#include "misses.h"
#include "plan_json.h"
#include "rfc3339.h"
#include "reads.h"
#include "due.h"
#include "runs.h"
#include "zones.h"

// The plan, and what is known about it.
struct facts {
    struct station *station;
    const struct plan *plan;
    const struct store_loaded *loaded;
    const struct store_place *place;
    int64_t now_us;
    bool running;
    bool limited; // one of the reasons is a limit
    json_t *reasons;
};

// Add a reason. `until`: what ends it, as text; `at_us`: when, 0 = unknown.
__attribute__ ((format (printf, 4, 5))) static void add_reason (struct facts *self,
                                                                const char *until, int64_t at_us,
                                                                const char *format, ...)
{
    char when[RFC3339_SIZE];
    va_list args;
    va_start (args, format);
    json_t *why = json_vsprintf (format, args);
    va_end (args);
    rfc3339_format (at_us / 1000000, when);
    json_array_append_new (self->reasons, json_pack ("{s:o*, s:s, s:s*}", "why", why, "until",
                                                     until, "at", at_us > 0 ? when : NULL));
}

static void explain_stopped (struct facts *self)
{
    const char *stopped = self->plan->stopped;
    if (self->plan->state == PLAN_CLOSE)
        add_reason (self, "never: it is kept until it is removed", 0, "%s",
                    stopped ? stopped : "it has ended");
    if (self->plan->state == PLAN_PAUSE)
        add_reason (self, "reset", 0, "%s", stopped ? stopped : "it is paused");
}

static void explain_error (struct facts *self)
{
    const struct plan *plan = self->plan;
    if (plan->state != PLAN_ERROR)
        return;
    const char *words = plan->error_info ? plan->error_info : status_word (plan->last_state);
    const char *until = plan->verdict == VERDICT_PENDING
                            ? "done, when the failure was handled manually, or reset"
                            : "reset";
    if (plan->last_state == ZERO_STATUS_FRAME_PLANERROR_ID)
        add_reason (self, until, 0, "it has lost its right to run: %s", words);
    else if (plan->verdict)
        add_reason (self, until, 0, "it has failed %" PRId64 " times, the last time: %s",
                    plan->error_count, words);
    else // rejected without counting as a failure
        add_reason (self, until, 0, "its target has rejected it: %s", words);
}

// Add the reason if this limit blocks the plan, and return whether it does. `holder`: text that
// names the target or group of the limit.
static bool explain_limit (struct facts *self, const struct limit_use *use, const char *holder)
{
    int64_t next_us = limit_next_us (use);
    bool busy = use->limit.concurrency && use->busy >= use->limit.concurrency;
    if (busy)
        add_reason (self, "one of them ends", 0,
                    "%s runs as many as its limit allows (%" PRId64 ")", holder,
                    use->limit.concurrency);
    else if (next_us > self->now_us)
        add_reason (self, "the rate allows the next", next_us,
                    "%s starts no more runs than its rate allows (%g a second)", holder,
                    use->limit.rate);
    return busy || next_us > self->now_us;
}

// Add the limits of its target and of its group that block the plan.
static void explain_limits (struct facts *self)
{
    char holder[80];
    struct limit_use use = self->place->station;
    const struct target *target = station_target (self->station, self->loaded->station);
    if (target && !use.set) // that of the settings, unless one was set by command
        use.limit = target_settings (target)->limit;
    snprintf (holder, sizeof holder, "the target %.*s", (int)self->loaded->station.size,
              (const char *)self->loaded->station.data);
    self->limited = explain_limit (self, &use, holder);
    const struct policy *policy = self->plan->policy;
    if (!policy || !policy->group[0])
        return;
    snprintf (holder, sizeof holder, "the group %s", policy->group);
    self->limited = explain_limit (self, &self->place->group, holder) || self->limited;
}

// If the plan is of a pull target, add that it is offered to workers, or that they work on it.
// False: it is of another type.
static bool explain_workers (struct facts *self, const char *since)
{
    const struct target *target = station_target (self->station, self->loaded->station);
    if (!target || target_type (target) != TARGET_PULL)
        return false;
    add_reason (self, "they have ended (see team), or its timeout expires", 0,
                "workers may take it, or have it; offered last at %s", since);
    if (!self->place->counted)
        explain_limits (self);
    return true;
}

static void explain_running (struct facts *self)
{
    char since[RFC3339_SIZE], unresponsive[RFC3339_SIZE];
    const struct active_run *active = runs_find (self->station, self->plan->id);
    if (!self->running || self->plan->flow_run) // for runs of flows see manage_why_flow.c
        return;
    rfc3339_format ((int64_t)(self->loaded->exec_id / 1000000), since);
    if (explain_workers (self, since))
        return;
    bool unanswered = active && active->unanswered;
    int64_t since_s = unanswered && active->target ? target_unresponsive_since (active->target) : 0;
    rfc3339_format (since_s, unresponsive);
    int64_t end_us = engine_run_end_us (self->plan);
    add_reason (self,
                end_us ? "its result, or its timeout"
                       : "its result, or the end of its lease without a heartbeat",
                end_us                ? end_us
                : self->place->queued ? self->place->score_us
                                      : 0,
                "a run is in progress since %s%s%s%s", since,
                unanswered ? ", its target has not answered yet" : "",
                since_s ? " and is unresponsive since " : "", since_s ? unresponsive : "");
}

static void explain_retry (struct facts *self)
{
    const struct plan *plan = self->plan;
    // A due plan may wait for a limit or its target, which other reasons cover; its score is then
    // the next check by the queue, not the time of a retry.
    if (self->running || plan->state != PLAN_RETRY || self->place->ready ||
        self->place->score_us <= self->now_us)
        return;
    add_reason (self, self->place->waits ? "its retry, or its target connects" : "its retry",
                self->place->score_us, "%s, %" PRId64 " times; the last time: %s",
                plan->tries ? "its target did not take it" : "it has failed",
                plan->tries ? plan->tries : plan->error_count,
                plan->error_info && !plan->tries ? plan->error_info
                                                 : status_word (plan->last_state));
}

static void explain_time (struct facts *self)
{
    enum plan_state state = self->plan->state;
    bool released = state == PLAN_QUEUE && self->plan->error_info &&
                    plan_due_time (self->plan) * 1000000 <= self->now_us;
    if (self->running || state == PLAN_PAUSE || state == PLAN_ERROR || state == PLAN_CLOSE)
        return;
    if (!self->place->queued)
        add_reason (self, "pause, then reset", 0, "it is not in the queue: it was removed by hand");
    else if (self->place->ready)
        return; // the plan is due
    else if (state == PLAN_EXECUTE && self->place->score_us > self->now_us)
        add_reason (self, "the end of its lease", self->place->score_us,
                    "its run is no longer known");
    else if (released && self->place->score_us > self->now_us) // delayed beyond its time
        add_reason (self, "the end of the delay", self->place->score_us,
                    "its worker released it: %s", self->plan->error_info);
    else if (state != PLAN_RETRY && self->place->score_us > self->now_us)
        add_reason (self, "its time", self->place->score_us, "it is not due yet");
}

static void explain_callbacks (struct facts *self)
{
    const struct policy *policy = self->plan->policy;
    if (!self->running && policy && policy->callback &&
        callback_book_full (self->station, self->loaded->station))
        add_reason (self, "they are delivered, or removed", 0,
                    "too many callbacks of its target are kept");
}

// Whether the plan is due and waits in the queue.
static bool is_due (const struct facts *self)
{
    return !self->running && self->place->queued &&
           (self->place->ready || self->place->score_us <= self->now_us);
}

static void explain_misses (struct facts *self)
{
    struct misses misses;
    struct occurrence next;
    bool ended;
    const struct zone *zone = zones_of (self->station, self->plan);
    if (is_due (self) &&
        misses_skip_late (self->plan, zone, self->now_us / 1000000, &misses, &next, &ended))
        add_reason (self, ended ? "never" : "its next time", ended ? 0 : next.time * 1000000,
                    "its current time has passed");
}

static void explain_queue_position (struct facts *self)
{
    if (!is_due (self) || self->plan->state == PLAN_CLOSE)
        return;
    if (self->place->before > 0)
        add_reason (self, "they have run", 0,
                    "%" PRId64 " due plans of the target run before it, by priority or time",
                    self->place->before);
    explain_limits (self);
}

static void explain_target (struct facts *self)
{
    char since[RFC3339_SIZE];
    struct target *target = station_target (self->station, self->loaded->station);
    if (self->plan->state == PLAN_CLOSE || self->running)
        return;
    if (!target && flow_book_takes (self->station, self->loaded->station)) {
        if (is_due (self) && !self->limited)
            add_reason (self, "at once", 0, "it is due, and its run begins");
    } else if (!target) {
        add_reason (self, "it is added", 0, "there is no target %s",
                    quoted (self->loaded->station));
    } else if (!target_connection (target)) {
        rfc3339_format (target_state_since (target), since);
        add_reason (self, "it connects", 0, "the target %s is not connected since %s",
                    target_name (target), since);
    } else if (target_unresponsive_since (target)) {
        rfc3339_format (target_unresponsive_since (target), since);
        add_reason (self, "it answers", 0,
                    "the target %s is unresponsive since %s: it gets no new runs",
                    target_name (target), since);
    } else if (is_due (self) && !self->limited) {
        bool full = due_is_full (self->station, target);
        add_reason (self, full ? "it answers some of them" : "at once", 0,
                    full ? "the target %s has as many unanswered runs as it may have"
                         : "it is due, and waits for its turn at the target %s",
                    target_name (target));
    }
}

static void (*const explainers[]) (struct facts *self) = {
    explain_stopped, explain_error,  explain_running,        explain_retry,  explain_callbacks,
    explain_time,    explain_misses, explain_queue_position, explain_target,
};

static json_t *why_object (struct facts *self)
{
    const struct plan *plan = self->plan;
    self->reasons = json_array ();
    for (size_t i = 0; i < sizeof explainers / sizeof *explainers; i++)
        explainers[i](self);
    return json_pack ("{s:I, s:i, s:b, s:o}", "plan_id", (json_int_t)plan->id, "plan_state",
                      (int)plan->state, "running", self->running, "reasons", self->reasons);
}

static json_t *describe_plan (struct station *self, uint64_t plan_id,
                              const struct store_loaded *answer, uint64_t *ret_run,
                              struct reason *reason)
{
    struct plan *plan = plan_from_stored_json (plan_id, answer->message, reason);
    if (!plan)
        return NULL;
    if (answer->exec_id)
        plan->exec_id = answer->exec_id;
    struct facts facts = {.station = self,
                          .plan = plan,
                          .loaded = answer,
                          .place = answer->place,
                          .now_us = store_now_us (self->store),
                          .running = runs_in_progress (self, plan, answer)};
    *ret_run = facts.running ? plan->flow_run : 0;
    json_t *object = why_object (&facts);
    plan_destroy (&plan);
    return object;
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct inquiry *inquiry = owner;
    struct station *self = inquiry->station;
    struct reason reason;
    uint64_t id = inquiry->plan.id, run = 0;
    enum store_result result = inquiry_check (inquiry, answer);
    json_t *object = NULL;
    if (result == STORE_DONE)
        object = describe_plan (self, id, answer, &run, &reason);
    if (object && run) {
        why_reply_run (self, inquiry->peer, id, run, object);
        free (inquiry);
        return;
    }
    if (object) {
        manage_reply_json (self, inquiry->peer, id, object);
    } else if (result == STORE_DONE) {
        reply_refuse (self, inquiry->peer, ZPLAN_EARGUMENT, reason.text);
    }
    inquiry_end (inquiry, result, answer->error);
}

int manage_why (struct station *self, struct request *request)
{
    struct step_name step;
    struct inquiry *inquiry;
    if (step_name_parse (request->args[0], &step)) {
        why_step (self, request, &step, describe_plan);
        return 0;
    }
    int rc = inquiry_new (self, request, &inquiry);
    if (!rc)
        reads_load_place (self, inquiry->peer, inquiry->plan.id, on_loaded, inquiry);
    return rc;
}
