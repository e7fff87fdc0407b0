// One timer, set to the earliest of: the next due plan, the next prefetched plan, the next deadline
// of a run, the next page of the sweep, and one second after the last claim. The last is only for
// edits of Redis by hand.
#include "due.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "prefetch.h"
#include "apply.h"
#include "clock.h"
#include "failpoint.h"
#include "fire.h"
#include "log.h"
#include "results.h"
#include "unresponsive.h"
#include "callback_book.h"
#include "codes.h"
#include "plan_json.h"

enum {
    BATCH = 256,         // plans per claim
    CLAIM_US = 1000000,  // between two claims, if nothing wakes the station before
    FORGET_US = 5000000, // a failed run is dropped from memory this long after its retry was due
    AWAY_SLOTS = 64,     // plans per claim for a target that is not connected: each fails to send
    AWAY_PAUSE_US = 20000,
    CONNECT_US = 200000, // time for a target's first connection
    RETRY_US = 50000,    // retry when no target takes due plans: a timeout may free slots
    SLOTS_PART = 3       // a claim is worth it when 1/SLOTS_PART of the slots are free
};

// -- the timer

// Set the timer to the first of its times.
static void arm_timer (struct station *self)
{
    const struct heap_node *first = heap_first (&self->deadlines);
    int64_t at_us = self->claiming ? INT64_MAX : self->claim_us,
            prefetched_us = prefetch_next_us (self);
    if (prefetched_us < at_us)
        at_us = prefetched_us;
    if (first && first->at < at_us)
        at_us = first->at;
    if (self->swept && self->sweep_us < at_us)
        at_us = self->sweep_us;
    // 0 would disarm the timer; a time in the past fires at once.
    at_us = at_us < 1 ? 1 : at_us;
    if (at_us == self->armed_us)
        return;
    self->armed_us = at_us;
    struct itimerspec spec = {
        .it_value = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000}};
    if (at_us == INT64_MAX)
        spec = (struct itimerspec){0};
    timerfd_settime (self->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

// Schedule a claim at this monotonic time at the latest.
static void schedule_claim (struct station *self, int64_t mono_us)
{
    if (mono_us >= self->claim_us)
        return;
    self->claim_us = mono_us;
    arm_timer (self);
}

void due_wake_at (void *owner, int64_t redis_us)
{
    struct station *self = owner;
    schedule_claim (self, store_mono_us (self->store, prefetch_claim_us (self, redis_us)));
}

void due_wake (struct station *self)
{
    schedule_claim (self, clock_mono_us ());
}

// -- the free slots of targets

// How many plans of the target may be claimed now; those of a target that is away fail to send.
static int64_t free_slots_of (struct station *self, const struct target *target, int64_t now_us)
{
    const struct target_load *load = target_load (target);
    if (target_connection (target))
        return unresponsive_free_slots (self, target);
    return now_us >= load->pause_us && now_us >= load->created_us + CONNECT_US ? AWAY_SLOTS : 0;
}

// Whether a third of the slots is free, enough for a claim. The runs in the other slots
// keep the target busy during the claim; waiting for half of the slots would let it run dry.
static bool has_enough_slots (struct station *self, const struct target *target, int64_t now_us)
{
    int64_t most = response_credit (target_response (target), self->settings->limits.runs_target);
    int64_t slots = free_slots_of (self, target, now_us);
    return target_response (target)->unresponsive ? slots > 0 : slots * SLOTS_PART >= most;
}

// Read the free slots and the limit of each target. They bound the claim, so a target without free
// slots delays no other target, however many of its plans are due. Returns whether a claim could
// take any plan; true without targets, as plans of unknown targets are claimed, too.
static bool read_free_slots (struct station *self, struct core_slots out[TARGETS_MAX],
                             struct limit limits[TARGETS_MAX])
{
    int64_t now_us = clock_mono_us ();
    bool can_claim = self->target_count == 0;
    for (size_t i = 0; i < self->target_count; i++) {
        struct target *target = self->targets[i];
        int64_t slots = free_slots_of (self, target, now_us);
        bool away = !target_connection (target), pull = target_type (target) == TARGET_PULL;
        if (away && slots > 0)
            target_load (target)->pause_us = now_us + AWAY_PAUSE_US;
        out[i] = (struct core_slots){.target = span_text (target_name (target)),
                                     .free_slots = slots,
                                     .pull = pull,
                                     .probe = away ? 0 : unresponsive_probe (self, target)};
        limits[i] = target_settings (target)->limit;
        can_claim = can_claim || slots > 0 || out[i].probe;
    }
    return can_claim;
}

// When to claim again for plans that are due already, monotonic; INT64_MAX: no such plan waits.
static int64_t next_claim_us (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    int64_t pause_us = self->more_due ? RETRY_US : INT64_MAX;
    bool many = self->more_due;
    for (size_t i = 0; i < self->target_count; i++) {
        const struct target *target = self->targets[i];
        int64_t retry_us = target_connection (target) ? RETRY_US : AWAY_PAUSE_US;
        if (core_ready (store_core (self->store), span_text (target_name (target))) <= 0)
            continue;
        pause_us = retry_us < pause_us ? retry_us : pause_us;
        many = many || has_enough_slots (self, target, now_us);
    }
    if (pause_us == INT64_MAX)
        return INT64_MAX;
    return self->claimed_any && many ? now_us : now_us + pause_us;
}

bool due_is_full (struct station *self, const struct target *target)
{
    return free_slots_of (self, target, clock_mono_us ()) <= 0;
}

// -- claim

// The lease until the first heartbeat, in seconds. Before it expires a live station writes either
// the heartbeat or that none came.
static int64_t first_lease_s (const struct station_settings *settings)
{
    enum { MARGIN_S = 3 };
    int64_t lease_s = (settings->send_timeout_ms + 999) / 1000 + MARGIN_S;
    if (settings->doubt_timeout_s)
        lease_s = settings->doubt_timeout_s;
    return lease_s < settings->exec_timeout_s ? lease_s : settings->exec_timeout_s;
}

// Log and count claimed plans whose lease has nearly expired, as after a suspension of this
// process. True: these plans must not be sent; they are due again when the lease ends.
static bool note_stale_claim (struct station *self, int64_t lease_end_us, size_t plans)
{
    enum { PART = 8, MARGIN_MAX_US = 1000000 };
    int64_t margin_us = first_lease_s (self->settings) * 1000000 / PART;
    margin_us = margin_us < MARGIN_MAX_US ? margin_us : MARGIN_MAX_US;
    if (store_now_us (self->store) <= lease_end_us - margin_us)
        return false;
    self->counters.stale_claims += plans;
    log_event (LEVEL_WARN, "claim.stale",
               "plans=%zu reason=\"their lease has expired, or nearly; was this process stopped?\"",
               plans);
    return true;
}

static void on_claimed (void *owner, const struct store_claim *claim)
{
    struct station *self = owner;
    self->claiming = false; // claim_us is kept, so that wake-ups during the claim are not lost
    if (claim->result == STORE_ERROR)
        log_event (LEVEL_ERROR, "claim.failed", "error=%s", quoted (span_text (claim->error)));
    if (claim->result == STORE_DONE) {
        prefetch_count_claimed (self, claim->count);
        if (claim->count)
            FAILPOINT ("claim_done");
        for (size_t i = 0; i < claim->count; i++) {
            const struct store_claimed *claimed = &claim->taken[i];
            if (note_stale_claim (self, claim->lease_end_us, claim->count - i))
                break;
            if (claimed->at_us > claim->now_us || !store_is_leased (self->store))
                prefetch_keep (self, claimed);
            else
                fire_run (self, claimed);
        }
        if (claim->broken) {
            self->counters.lost_plans += claim->broken;
            log_event (LEVEL_ERROR, "plan.lost", "count=%zu first=%s", claim->broken,
                       quoted (claim->first_broken));
        }
        if (claim->has_next)
            due_wake_at (self, claim->next_us);
        self->more_due = claim->more;
        self->claimed_any = claim->count > 0;
        self->limits_full = claim->full;
        schedule_claim (self, next_claim_us (self));
    }
    arm_timer (self);
}

static void claim_plans (struct station *self)
{
    struct core_slots targets[TARGETS_MAX];
    struct limit limits[TARGETS_MAX];
    struct claim_wish wish = {.core = {.lease_us = first_lease_s (self->settings) * 1000000,
                                       .targets = targets,
                                       .target_count = self->target_count},
                              .limits = limits,
                              .is_pull = fire_is_pull};
    self->claim_us = clock_mono_us () + CLAIM_US;
    // Before the targets are loaded, plans of added targets would find none.
    if (self->claiming || self->phase != PHASE_SERVING || !station_store_up (self) ||
        !self->targets_read)
        return;
    int64_t slots =
        self->settings->limits.runs - (int64_t)(self->runs_unanswered + self->prefetched.count);
    wish.core.limit = slots < BATCH ? slots : BATCH;
    if (wish.core.limit <= 0 || store_busy (self->store)) {
        // The next answer or timeout frees slots; claim again soon.
        self->claim_us = clock_mono_us () + CLAIM_US / 100;
        return;
    }
    if (!read_free_slots (self, targets, limits)) {
        self->claim_us = clock_mono_us () + CLAIM_US / 20; // or when a target connects or answers
        return;
    }
    wish.core.ahead_us = prefetch_reach_us (self);
    self->claiming = true;
    store_claim (self->store, &wish, on_claimed, self);
}

void due_resume_target (void *owner, struct target *target)
{
    struct station *self = owner;
    if (!self->claiming &&
        core_ready (store_core (self->store), span_text (target_name (target))) > 0 &&
        has_enough_slots (self, target, clock_mono_us ())) {
        claim_plans (self);
        arm_timer (self);
    }
    link_flush (store_link (self->store));
}

// -- deadlines

// Handle a run whose status did not come in time. It stays in flight until its retry: a status that
// arrives before is still accepted.
static void handle_missing_status (struct station *self, struct active_run *active)
{
    char reason[64];
    if (unresponsive_keeps (self, active))
        return;
    snprintf (reason, sizeof reason, "no status within %" PRId64 " ms",
              self->settings->send_timeout_ms);
    struct run_outcome outcome = run_outcome_of (active, CAUSE_NO_STATUS, reason);
    struct decision decision = apply_outcome (self, &outcome);
    if (commit_ends_run (decision.commit))
        runs_drop (&active);
    else
        runs_forget_at (active, clock_mono_us () + decision.delay_ms * 1000 + FORGET_US);
}

static void handle_deadline (struct station *self, struct active_run *run)
{
    if (run->end_us && clock_mono_us () >= run->end_us)
        results_run_timed_out (run);
    else if (run->unanswered)
        handle_missing_status (self, run);
    else
        runs_drop (&run);
}

static void handle_deadlines (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    bool handled = false;
    for (struct heap_node *node; (node = heap_first (&self->deadlines)) && node->at <= now_us;) {
        handle_deadline (
            self, (struct active_run *)((uint8_t *)node - offsetof (struct active_run, deadline)));
        handled = true;
    }
    if (handled) // the runs may have freed slots
        schedule_claim (self, next_claim_us (self));
}

// -- the sweep: re-queues, page by page, plans that are missing in the queue because of an edit or
// a data loss

enum {
    SWEEP_PAGE = 100,       // plans
    SWEEP_SOON_US = 10000,  // between two pages where plans were missing in the queue
    SWEEP_TURN_US = 1000000 // between two other pages
};

static void on_requeued (void *owner, enum store_result result, const char *error)
{
    struct station *self = owner;
    if (result == STORE_DONE)
        self->counters.requeued++;
    else if (result == STORE_ERROR)
        log_event (LEVEL_ERROR, "plan.requeue_failed", "error=%s", quoted (span_text (error)));
}

// Re-queue a plan that is not in the queue although its state says that it is to run: for its due
// time, or for the end of the lease if a run is in progress. Later changes of the plan are not
// overwritten. Returns whether the plan was missing.
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
        bool running = plan->last_state == ZERO_STATUS_RUNING_ID;
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
                .lease_s = running ? apply_lease_s (self, plan) : first_lease_s (self->settings)},
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
                                                      : SWEEP_TURN_US);
    if (missing)
        link_flush (store_link (self->store));
    if (swept->last)
        arm_timer (self);
}

// Read the next page if it is due.
static void sweep_queue (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    if (now_us < self->sweep_us)
        return;
    self->sweep_us = now_us + SWEEP_TURN_US; // a time in the past would fire again and again
    if (self->phase != PHASE_SERVING || !station_store_up (self))
        return;
    self->sweep_us = now_us + self->settings->sweep_interval_s * 1000000;
    store_sweep (self->store, self->swept, SWEEP_PAGE, on_swept, self);
}

// -- start and stop

static void on_timer (void *owner, uint32_t events)
{
    struct station *self = owner;
    uint64_t expirations;
    (void)events;
    if (read (self->timer_fd, &expirations, sizeof expirations) < 0)
        return;
    self->armed_us = INT64_MAX;
    for (struct prefetched_plan *plan; (plan = prefetch_take (self));) {
        if (!note_stale_claim (self, plan->claimed.lease_end_us, 1))
            fire_run (self, &plan->claimed);
        free (plan);
    }
    handle_deadlines (self);
    if (!self->claiming && clock_mono_us () >= self->claim_us)
        claim_plans (self);
    sweep_queue (self);
    link_flush (store_link (self->store));
    arm_timer (self);
}

int due_start (struct station *self, struct reason *reason)
{
    self->timer_fd = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (self->timer_fd < 0)
        return reason_set (reason, "timer: %s", strerror (errno));
    self->due_source = (struct source){.call = on_timer, .owner = self};
    source_set (&self->due_source, self->reactor, self->timer_fd, EPOLLIN);
    self->claim_us = clock_mono_us ();
    self->sweep_us = self->claim_us + SWEEP_TURN_US;
    arm_timer (self);
    return 0;
}

void due_stop (struct station *self)
{
    source_end (&self->due_source);
    prefetch_stop (self);
    if (self->timer_fd >= 0)
        close (self->timer_fd);
    self->timer_fd = -1;
}
