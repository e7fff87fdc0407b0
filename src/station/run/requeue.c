#include "requeue.h"

#include <inttypes.h>

#include "apply.h"
#include "callback_drop.h"
#include "clock.h"
#include "codes.h"
#include "due.h"
#include "log.h"
#include "plan_json.h"

enum {
    SWEEP_PAGE = 100,     // plans
    SWEEP_SOON_US = 10000 // between two pages where plans were missing in the queue
};

static void on_requeued (void *owner, enum store_result result, const char *error)
{
    struct station *self = owner;
    if (result == STORE_DONE) {
        self->counters.requeued++;
    } else if (result == STORE_ERROR) {
        log_event (LEVEL_ERROR, "plan.requeue_failed", "error=%s", quoted (span_text (error)));
    }
}

// Re-queue a plan that is missing in the queue, by an edit or a data loss, although its message
// says that it is to run: for its due time, or for the end of the lease if a run is in progress.
// Later changes of the plan are not overwritten.
static bool requeue_plan (struct station *self, const struct store_outside *outside)
{
    struct reason reason;
    struct plan *plan = plan_from_stored_json (outside->plan_id, outside->message, &reason);
    bool missing = plan && (plan->state == PLAN_QUEUE || plan->state == PLAN_EXECUTE ||
                            plan->state == PLAN_RETRY);
    if (missing) {
        log_event (LEVEL_WARN, "plan.requeued",
                   "plan=%" PRIx64 " state=%s reason=\"it was missing in plan:time:set, and is "
                   "re-queued\"",
                   outside->plan_id, plan_state_name (plan->state));
        bool runs = plan->last_state == ZERO_STATUS_RUNING_ID;
        int64_t revision = plan->revision;
        plan->revision = station_revision ();
        store_change (
            self->store,
            &(struct store_change){
                .plan = plan,
                .revision = revision,
                .key_station = outside->station,
                .exec_id = outside->exec_id,
                .queue = outside->exec_id && !outside->no_status ? REQUEUE_LEASE : REQUEUE_TIME,
                .lease_s = runs ? apply_lease_s (self, plan) : due_first_lease_s (self->settings)},
            on_requeued, self);
    }
    plan_destroy (&plan);
    return missing;
}

static void on_swept (void *owner, const struct store_swept *swept)
{
    struct station *self = owner;
    if (swept->result != STORE_DONE)
        return;
    bool missing = false;
    for (size_t i = 0; i < swept->count; i++)
        missing = requeue_plan (self, &swept->outside[i]) || missing;
    if (!swept->last)
        callback_drop_old (self);
    self->swept = swept->last;
    self->sweep_us = clock_mono_us () + (!swept->last ? self->settings->sweep_interval_s * 1000000
                                         : missing    ? SWEEP_SOON_US
                                                      : REQUEUE_TURN_US);
    if (missing)
        link_flush (store_link (self->store));
    if (swept->last)
        due_arm (self);
}

void requeue_sweep (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    if (now_us < self->sweep_us)
        return;
    self->sweep_us = now_us + REQUEUE_TURN_US; // a time in the past would fire again and again
    if (self->phase != PHASE_SERVING || !station_store_up (self))
        return;
    self->sweep_us = now_us + self->settings->sweep_interval_s * 1000000;
    store_sweep (self->store, self->swept, SWEEP_PAGE, on_swept, self);
}
