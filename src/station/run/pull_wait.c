// Takes that found nothing wait in a queue per target, the oldest first. An offer for n workers
// retries up to n takes at a time, then the next ones as long as some get nothing, so each offer
// walks the queue at most once. A check each second finds offers made while no take could be
// retried. While a limit keeps plans from being taken, the first take in the queue is retried when
// a run ends or when the rate allows the next start, then those after it until one gets nothing.
#include <stdlib.h>

#include "callback_rule.h"
#include "clock.h"
#include "codes.h"
#include "inquiry.h"
#include "json.h"
#include "memory.h"
#include "plan_json.h"
#include "plan_message.h"
#include "pull.h"

enum {
    WAITERS_MAX = 4096,
    PAGES_MAX = 64,     // per take, of 256 offers each
    CHECK_US = 1000000, // between two checks for offers
    WAKES_MAX = 64,     // takes retried concurrently
    WORKER_S = 60,      // a worker that sends nothing for longer is gone
    START_S = 10        // time for workers to find a newly started station
};

struct take_queue {
    char name[STATION_NAME_MAX + 1];
    struct take *first, **last;
    struct take *untried; // the next take to retry since the last offer; NULL = none left
    int64_t free;         // most workers that the last offers still take
    int64_t asking;       // calls of the store in flight for its takes
    bool limited;         // a limit kept plans from being taken since the last probe
    bool probe_mode;      // probing such a limit: ends with the first take that it stops
    int64_t rate_us;      // when the rate allows the next start, monotonic; 0 = no rate involved
    char asker[WORKER_NAME_MAX + 1]; // the worker that asked last
    int64_t asked_us;                // when `asker` did, monotonic
    int64_t previous_us;             // when the worker before `asker` last asked; 0 = never
    struct take_queue *next;
};

struct pull_queues {
    struct take_queue *queues;
    size_t waiters;
    int64_t check_us;
    struct timer timer; // fires at the earliest rate_us
};

static struct take_queue *find_queue (const struct station *self, const char *name)
{
    struct take_queue *queue = self->pull ? self->pull->queues : NULL;
    while (queue && strcmp (queue->name, name) != 0)
        queue = queue->next;
    return queue;
}

static void on_rate (void *owner);

static struct take_queue *find_or_create_queue (struct station *self, const char *name)
{
    struct take_queue *queue = find_queue (self, name);
    if (queue)
        return queue;
    if (!self->pull) {
        self->pull = memory_new (sizeof *self->pull);
        self->pull->timer = (struct timer){.call = on_rate, .owner = self};
    }
    queue = memory_new (sizeof *queue);
    snprintf (queue->name, sizeof queue->name, "%s", name);
    queue->last = &queue->first;
    queue->next = self->pull->queues;
    self->pull->queues = queue;
    return queue;
}

static void queue_add (struct take *take)
{
    struct take_queue *queue = take->queue;
    take->waits = true;
    take->next = NULL;
    *queue->last = take;
    queue->last = &take->next;
    take->station->pull->waiters++;
}

static void queue_remove (struct take *take)
{
    struct take_queue *queue = take->queue;
    struct take **at = &queue->first;
    while (*at != take)
        at = &(*at)->next;
    *at = take->next;
    if (queue->last == &take->next)
        queue->last = at;
    if (queue->untried == take)
        queue->untried = take->next;
    take->waits = false;
    take->station->pull->waiters--;
}

bool pull_may_wait (const struct station *self)
{
    return !self->pull || self->pull->waiters < WAITERS_MAX;
}

// -- answers

static json_t *job_json (const struct core_job *job)
{
    char id[IDENT_SIZE], exec_id[IDENT_SIZE];
    struct reason reason;
    struct plan *plan = plan_from_stored_json (job->id, job->message, &reason);
    if (!plan)
        return NULL; // edited by hand: the run counts as taken until worker_timeout
    int64_t nominal = plan_nominal (plan, job->exec_id);
    char *text = plan_run_text (plan, job->exec_id, nominal);
    json_t *frames = json_array ();
    struct span plan_frame = plan_sent_frame (plan, ZERO_FRAME_PLAN);
    bool masked = plan->policy && plan->policy->callback;
    for (size_t i = 1; i < plan->message_count; i++)
        json_array_append_new (frames, masked && plan->messages[i].data == plan_frame.data
                                           ? callback_masked_frame (plan_frame)
                                           : json_from_frame (plan->messages[i]));
    json_t *object = json_pack (
        "{s:s, s:s, s:I, s:I, s:I, s:o*, s:o}", "plan_id", ident_text (job->id, id), "exec_id",
        ident_text (job->exec_id, exec_id), "plan_time", (json_int_t)nominal, "ping_interval",
        (json_int_t)job->ping_s, "worker_timeout", (json_int_t)job->timeout_s, "plan",
        json_loads (text, 0, NULL), "frames", frames);
    free (text);
    plan_destroy (&plan);
    return object;
}

struct job_release {
    struct station *station;
    char name[STATION_NAME_MAX + 1];
};

static void on_released (void *owner, const struct store_pulled *answer)
{
    struct job_release *release = owner;
    if (answer->result == STORE_DONE)
        pull_wake (release->station, release->name, 1);
    free (release);
}

// Release the jobs of a worker that is gone and never got them, so that others can take them at
// once.
static void release_jobs (const struct take *take, const struct store_pulled *answer)
{
    for (size_t i = 0; answer && i < answer->taken.count; i++) {
        struct job_release *release = memory_new (sizeof *release);
        release->station = take->station;
        memcpy (release->name, take->name, sizeof release->name);
        store_report_worker (
            take->station->store,
            &(struct core_worker){.id = answer->jobs[i].id,
                                  .target = span_text (take->name),
                                  .worker = span_text (take->worker),
                                  .exec_id = answer->jobs[i].exec_id,
                                  .lease_us = take->station->settings->exec_timeout_s * 1000000},
            &(struct core_heartbeat){.release = true}, on_released, release);
    }
}

// Answer with the jobs, NULL = none, and free the take.
static void answer_take (struct take *take, const struct store_pulled *answer)
{
    struct station *self = take->station;
    json_t *jobs = json_array ();
    for (size_t i = 0; answer && i < answer->taken.count; i++) {
        json_t *job = job_json (&answer->jobs[i]);
        if (job)
            json_array_append_new (jobs, job);
    }
    json_t *object = json_pack ("{s:s, s:o}", "worker", take->worker, "jobs", jobs);
    if (!manage_reply_json (self, take->peer, 0, object))
        release_jobs (take, answer);
    free (take);
}

// -- taking from the store

static void ask_for_plans (struct take *take);
static void retry_waiting_takes (struct station *self, struct take_queue *queue);

// Update the queue after a waiting take was retried, and retry the next ones.
static void finish_retry (struct station *self, struct take_queue *queue, bool got, bool limited)
{
    queue->asking--;
    queue->free -= got && !queue->probe_mode && queue->free > 0;
    if (queue->probe_mode && limited && !got)
        queue->untried = NULL;
    retry_waiting_takes (self, queue);
}

// -- limits

static void arm_rate_timer (struct station *self)
{
    int64_t first_us = INT64_MAX, left_us;
    for (const struct take_queue *queue = self->pull->queues; queue; queue = queue->next)
        if (queue->rate_us && queue->rate_us < first_us)
            first_us = queue->rate_us;
    if (first_us == INT64_MAX)
        return;
    left_us = first_us - clock_mono_us ();
    timer_set (&self->pull->timer, self->reactor, left_us > 0 ? (left_us + 999) / 1000 : 0);
}

static void retry_limited_queue (struct station *self, struct take_queue *queue)
{
    queue->limited = false;
    if (!queue->first)
        return;
    queue->probe_mode = queue->probe_mode || !queue->untried;
    queue->free += queue->free == 0;
    queue->untried = queue->first;
    retry_waiting_takes (self, queue);
}

static void on_rate (void *owner)
{
    struct station *self = owner;
    int64_t now_us = clock_mono_us ();
    for (struct take_queue *queue = self->pull->queues; queue; queue = queue->next) {
        if (queue->rate_us && queue->rate_us <= now_us) {
            queue->rate_us = 0;
            retry_limited_queue (self, queue);
        }
    }
    arm_rate_timer (self);
    link_flush (store_link (self->store));
}

void pull_retry_limited (struct station *self)
{
    bool retried = false;
    for (struct take_queue *queue = self->pull ? self->pull->queues : NULL; queue;
         queue = queue->next) {
        retried = retried || queue->limited;
        if (queue->limited)
            retry_limited_queue (self, queue);
    }
    if (retried)
        link_flush (store_link (self->store));
}

static void on_taken (void *owner, const struct store_pulled *answer)
{
    struct take *take = owner;
    struct station *self = take->station;
    struct take_queue *queue = take->queue;
    bool limited = answer->result == STORE_DONE && answer->taken.limited;
    bool waited = take->waits, got = answer->result == STORE_DONE && answer->taken.count > 0;
    take->asking = false;
    if (answer->result == STORE_DONE && !got && answer->taken.next && ++take->pages < PAGES_MAX) {
        take->from = answer->taken.next;
        ask_for_plans (take);
        return;
    }
    bool ends = got || answer->result != STORE_DONE || clock_mono_us () >= take->until_us ||
                self->phase != PHASE_SERVING;
    if (ends && waited)
        queue_remove (take);
    if (answer->result != STORE_DONE) {
        reply_refuse_store (self, take->peer, answer->result, answer->error);
        free (take);
    } else if (ends) {
        answer_take (take, got ? answer : NULL);
    } else if (!waited) {
        queue_add (take);
    }
    if (limited) { // a limit kept the take from getting plans
        int64_t wait_ms = answer->taken.wait_ms;
        queue->limited = true;
        queue->rate_us = wait_ms > 0 ? clock_mono_us () + wait_ms * 1000 : 0;
        arm_rate_timer (self);
    }
    if (waited)
        finish_retry (self, queue, got, limited);
    if (answer->result == STORE_DONE)
        link_flush (store_link (self->store));
    station_resume (self);
}

// Note that the worker asks. Returns whether no other worker has asked for plans of this target
// recently.
static bool note_asker (struct take *take)
{
    struct take_queue *queue = take->queue;
    int64_t now_us = clock_mono_us ();
    if (strcmp (queue->asker, take->worker) != 0) {
        memcpy (queue->asker, take->worker, sizeof queue->asker);
        queue->previous_us = queue->asked_us;
    }
    queue->asked_us = now_us;
    return !queue->previous_us || now_us - queue->previous_us > (int64_t)WORKER_S * 1000000;
}

static void ask_for_plans (struct take *take)
{
    const struct target *target = station_target (take->station, span_text (take->name));
    struct span members[TAKE_MEMBERS];
    for (size_t i = 0; i < take->member_count; i++)
        members[i] = span_text (take->members[i]);
    take->asking = true;
    store_take_jobs (
        take->station->store,
        &(struct core_pull_take){.target = span_text (take->name),
                                 .worker = span_text (take->worker),
                                 .limit = take->limit,
                                 .from = take->from,
                                 .lease_us = take->station->settings->exec_timeout_s * 1000000,
                                 .alone = note_asker (take),
                                 .members = members,
                                 .member_count = take->member_count},
        target ? &target_settings (target)->limit : &(struct limit){0}, on_taken, take);
}

void pull_take (struct take *take)
{
    struct target *target = station_target (take->station, span_text (take->name));
    if (target)
        target_tally (target)->asked_s = clock_wall_us () / 1000000;
    take->queue = find_or_create_queue (take->station, take->name);
    ask_for_plans (take);
}

// -- a worker that leaves

// All earlier takes of the worker have their answer from Redis now, so the unanswered ones are in
// the queue.
static void on_takes_settled (void *owner, enum store_result result, const char *error)
{
    struct take *leaving = owner;
    (void)result, (void)error;
    const struct take_queue *queue = find_queue (leaving->station, leaving->name);
    for (struct take *take = queue ? queue->first : NULL, *next; take; take = next) {
        next = take->next;
        if (strcmp (take->worker, leaving->worker) != 0)
            continue;
        take->until_us = 0;
        if (take->asking)
            continue; // it is answered when the store answers
        queue_remove (take);
        answer_take (take, NULL);
    }
    answer_take (leaving, NULL);
}

void pull_end_takes (struct take *take)
{
    store_call_when_settled (take->station->store, on_takes_settled, take);
}

// -- whether there are workers

void pull_worker_reported (struct station *self, struct span target)
{
    struct target *found = station_target (self, target);
    if (found)
        target_tally (found)->reported_s = clock_wall_us () / 1000000;
}

static bool has_waiting_takes (const struct station *self, const struct target *target)
{
    const struct take_queue *queue = find_queue (self, target_name (target));
    return queue && queue->first;
}

// When a worker of the target was last seen, Unix seconds; 0 = never.
static int64_t last_seen_s (struct target *target)
{
    const struct target_tally *tally = target_tally (target);
    return tally->asked_s > tally->reported_s ? tally->asked_s : tally->reported_s;
}

bool pull_lacks_worker_contact (struct station *self)
{
    int64_t now_s = clock_wall_us () / 1000000;
    for (size_t i = 0; i < self->target_count; i++) {
        struct target *target = self->targets[i];
        // At half of the timeout, so that reports in the other half are still noted.
        if (target_type (target) == TARGET_PULL && !has_waiting_takes (self, target) &&
            now_s - last_seen_s (target) >= WORKER_S / 2)
            return true;
    }
    return false;
}

int64_t pull_no_worker (struct station *self, struct target *target)
{
    int64_t last_s = last_seen_s (target), now_s = clock_wall_us () / 1000000;
    if (has_waiting_takes (self, target))
        return 0;
    if (!last_s) // none since the start, or since the target was added
        return now_s - target_state_since (target) < START_S ? 0 : target_state_since (target);
    return now_s - last_s < WORKER_S ? 0 : last_s;
}

static void retry_waiting_takes (struct station *self, struct take_queue *queue)
{
    // Without Redis each take would be answered before ask_for_plans () returns.
    while (station_store_up (self) && queue->untried && queue->asking < queue->free &&
           queue->asking < WAKES_MAX) {
        struct take *take = queue->untried;
        queue->untried = take->next;
        if (take->asking)
            continue;
        take->from = take->pages = 0;
        queue->asking++;
        ask_for_plans (take);
    }
    if (!queue->untried && queue->asking == 0)
        queue->free = 0;
}

void pull_wake (struct station *self, const char *name, int64_t places)
{
    struct take_queue *queue = find_queue (self, name);
    if (!queue || !queue->first || places <= 0)
        return;
    queue->free += places;
    queue->probe_mode = false;
    queue->untried = queue->first;
    retry_waiting_takes (self, queue);
}

// -- timeouts and the periodic check

static void answer_expired_takes (struct take_queue *queue, int64_t now_us)
{
    for (struct take *take = queue->first, *next; take; take = next) {
        next = take->next;
        if (take->asking || take->until_us > now_us)
            continue;
        queue_remove (take);
        answer_take (take, NULL);
    }
}

void pull_tick (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    if (!self->pull)
        return;
    bool check = now_us >= self->pull->check_us && station_store_up (self);
    for (struct take_queue *queue = self->pull->queues; queue; queue = queue->next) {
        answer_expired_takes (queue, now_us);
        int64_t offers = check && queue->first && queue->asking == 0
                             ? core_pull_offers (store_core (self->store), span_text (queue->name))
                             : 0;
        pull_wake (self, queue->name, offers < WAKES_MAX ? offers : WAKES_MAX);
    }
    if (check)
        self->pull->check_us = now_us + CHECK_US;
}

void pull_stop (struct station *self)
{
    for (struct take_queue *queue = self->pull ? self->pull->queues : NULL; queue;
         queue = queue->next)
        answer_expired_takes (queue, INT64_MAX);
}

void pull_destroy (struct station *self)
{
    if (!self->pull)
        return;
    pull_stop (self);
    for (struct take_queue *queue = self->pull->queues, *next; queue; queue = next) {
        next = queue->next;
        free (queue);
    }
    timer_end (&self->pull->timer);
    free (self->pull);
    self->pull = NULL;
}
