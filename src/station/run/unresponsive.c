#include "unresponsive.h"

#include <inttypes.h>

#include "apply.h"
#include "clock.h"
#include "log.h"

// The run of the probe, if it is in memory: it has no status yet, or waits for its retry.
static const struct active_run *find_probe_run (struct station *self, const struct target *target)
{
    uint64_t plan_id = target_response (target)->probe;
    const struct active_run *active = plan_id ? runs_find (self, plan_id) : NULL;
    return active && active->target == target ? active : NULL;
}

// Keep the run and check it again at `until_us`, or earlier to extend its lease.
static void keep_run (struct station *self, struct active_run *active, int64_t until_us)
{
    int64_t now_us = clock_mono_us ();
    int64_t part_us = apply_kept_lease_s (self) * 1000000 / LEASE_PART;
    bool extend = !active->extended_us || now_us - active->extended_us >= part_us;
    runs_keep (active, until_us < now_us + part_us ? until_us : now_us + part_us);
    if (!extend)
        return;
    active->extended_us = now_us;
    struct run_outcome outcome = run_outcome_of (active, CAUSE_KEPT, NULL);
    apply_outcome (self, &outcome);
}

bool unresponsive_keeps (struct station *self, struct active_run *active)
{
    struct target *target = active->target;
    int64_t until_us = clock_mono_us () + self->settings->send_timeout_ms * 1000;
    if (!target || !target_connection (target))
        return false;
    struct response *response = target_response (target);
    bool present = active->connection == target_connection (target);
    enum no_status verdict = response->unresponsive ? NO_STATUS_UNRESPONSIVE : NO_STATUS_RETRY;
    if (present && target_paused (target)) // its messages wait in the socket
        verdict = NO_STATUS_WAIT;
    else if (present)
        verdict =
            response_find_cause (response, active->number, self->settings->send_timeout_ms * 1000,
                                 clock_mono_us (), &until_us);
    if (verdict == NO_STATUS_RETRY)
        return false;
    if (verdict == NO_STATUS_UNRESPONSIVE) {
        if (!response->unresponsive) {
            response_set_unresponsive (response, clock_wall_us () / 1000000);
            log_event (LEVEL_WARN, "target.unresponsive",
                       "station=%s unanswered=%d timeout_ms=%" PRId64, target_name (target),
                       target_unanswered (target), self->settings->send_timeout_ms);
        }
        target_check_stuck (target);
        const struct active_run *probe = find_probe_run (self, target);
        if (!probe || probe == active) {
            response->probe = active->plan_id;
            target_try_connection (target);
            return false;
        }
    }
    keep_run (self, active, until_us);
    return true;
}

void unresponsive_ends (void *owner, struct target *target)
{
    struct station *self = owner;
    int64_t until_us = clock_mono_us () + self->settings->send_timeout_ms * 1000;
    log_event (LEVEL_INFO, "target.responsive", "station=%s unanswered=%d", target_name (target),
               target_unanswered (target));
    for (struct active_run *run = NULL; (run = runs_next (self, run));)
        if (run->target == target && run->unanswered)
            runs_wait_status (run, until_us);
}

uint64_t unresponsive_probe (struct station *self, const struct target *target)
{
    const struct active_run *probe =
        target_response (target)->unresponsive ? find_probe_run (self, target) : NULL;
    return probe && !probe->unanswered ? probe->plan_id : 0;
}

// The credit of the target without its runs in flight. An unresponsive one without a probe and
// without runs gets one new run.
int64_t unresponsive_free_slots (struct station *self, const struct target *target)
{
    const struct response *response = target_response (target);
    int64_t credit = response_credit (response, self->settings->limits.runs_target);
    int64_t in_flight = target_unanswered (target) + target_load (target)->prefetched;
    if (response->unresponsive)
        credit = !in_flight && !find_probe_run (self, target);
    return credit - in_flight;
}

bool unresponsive_allows (struct station *self, const struct target *target, uint64_t plan_id)
{
    if (!target_response (target)->unresponsive || !target_connection (target))
        return target_unanswered (target) < self->settings->limits.runs_target;
    const struct active_run *probe = find_probe_run (self, target);
    return probe ? probe->plan_id == plan_id : target_unanswered (target) == 0;
}

void unresponsive_sent (struct target *target, uint64_t plan_id)
{
    struct response *response = target_response (target);
    if (response->unresponsive)
        response->probe = plan_id;
}
