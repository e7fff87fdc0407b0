// Workers that fetch plans: each fetches one at a time, and works for the guessed time.
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "memory.h"
#include "sim_station.h"

enum {
    BEAT_MS =
        12 * 3600 * 1000, // time between heartbeats, below the worker_timeout of a simulated plan
    ALONE_MS = 60000      // a worker is alone if no other has asked for this long (proto 7.9)
};

// When to recheck an unfetched offer: a worker that failed may fetch the next attempt 5 s after the
// offer if it is alone.
static const int64_t polls_ms[] = {6000, ALONE_MS + 6000};

struct sim_team *sim_team_of (const struct sim_station *self, const char *target)
{
    for (size_t i = 0; i < self->guesses->worker_count; i++)
        if (strcmp (self->teams[i].target, target) == 0)
            return &self->teams[i];
    return NULL;
}

static struct core_worker core_worker_of (const struct sim_worker *self)
{
    return (struct core_worker){.id = self->plan->plan->id,
                                .target = span_text (self->team->target),
                                .worker = span_text (self->name),
                                .exec_id = self->exec_id,
                                .lease_us = SIM_LEASE_US};
}

static void make_worker_idle (struct sim_worker *self)
{
    self->station->beats -= self->only_beats;
    self->only_beats = false;
    self->plan = NULL;
    sim_timer_stop (self->station, &self->timer);
}

static void on_worker_timer (void *owner);

// Set the timer to the end of the work or the next heartbeat.
static void set_worker_timer (struct sim_worker *self)
{
    int64_t beat = self->station->now + BEAT_MS;
    self->only_beats = self->end_ms == SIM_NEVER;
    self->station->beats += self->only_beats;
    sim_timer_set (self->station, &self->timer, beat < self->end_ms ? beat : self->end_ms,
                   on_worker_timer, self);
}

// Report the result of a worker, which becomes idle.
static void report_result (struct sim_worker *self)
{
    struct sim_plan *plan = self->plan;
    struct core_worker worker = core_worker_of (self);
    const struct core_report report = {.success = plan->result.ok};
    struct core_reported reported;
    core_pull_report (self->station->core, &worker, &report, self->station->now * 1000, &reported);
    make_worker_idle (self);
    if (reported.outcome.complete)
        sim_plan_end_run (plan,
                          reported.outcome.failed ? ZERO_STATUS_FAILED_ID : ZERO_STATUS_OK_ID);
}

static void on_worker_timer (void *owner)
{
    struct sim_worker *self = owner;
    self->station->beats -= self->only_beats;
    self->only_beats = false;
    if (self->station->now >= self->end_ms) {
        report_result (self);
        return;
    }
    struct core_worker worker = core_worker_of (self);
    struct core_alive alive;
    core_pull_alive (self->station->core, &worker, &(struct core_heartbeat){0},
                     self->station->now * 1000, &alive);
    set_worker_timer (self);
}

// Do nothing: the timer only makes the station recheck the offers.
static void on_poll (void *owner)
{
    (void)owner;
}

// Whether no other worker of the team has asked for ALONE_MS. Idle workers ask all the time.
static bool is_alone_in_team (const struct sim_station *self, const struct sim_worker *worker)
{
    const struct sim_team *team = worker->team;
    for (size_t i = 0; i < team->count; i++) {
        const struct sim_worker *colleague = &team->workers[i];
        if (colleague != worker &&
            (!colleague->plan || self->now - colleague->taken_ms <= ALONE_MS))
            return false;
    }
    return true;
}

// Set the timer that rechecks the offers; `wait_ms` 0: after the next of polls_ms, if one is left.
static void schedule_poll (struct sim_station *self, struct sim_team *team, int64_t wait_ms)
{
    if (!wait_ms && team->polls == sizeof polls_ms / sizeof *polls_ms)
        return;
    if (!wait_ms && !team->poll.node.position)
        wait_ms = polls_ms[team->polls++];
    if (wait_ms)
        sim_timer_set (self, &team->poll, self->now + wait_ms, on_poll, NULL);
}

// Let a worker fetch a plan, if the core gives it one.
static void fetch_plan (struct sim_station *self, struct sim_worker *worker)
{
    struct sim_team *team = worker->team;
    struct core_job job;
    struct core_pull_taken taken;
    struct core_pull_take take = {.target = span_text (team->target),
                                  .worker = span_text (worker->name),
                                  .limit = 1,
                                  .lease_us = SIM_LEASE_US,
                                  .alone = is_alone_in_team (self, worker)};
    do {
        core_pull_take (self->core, &take, self->now * 1000, &job, &taken);
        take.from = taken.next;
    } while (taken.count == 0 && taken.next);
    if (taken.count == 0) {
        schedule_poll (self, team, taken.wait_ms);
        return;
    }
    worker->plan = sim_plan_of (self, job.id);
    worker->exec_id = job.exec_id;
    worker->taken_ms = self->now;
    if (!worker->plan->begun)
        sim_plan_begin_run (worker->plan);
    worker->end_ms = sim_plan_end_ms (worker->plan);
    set_worker_timer (worker);
}

void sim_workers_fetch (struct sim_station *self)
{
    for (size_t i = 0; i < self->guesses->worker_count; i++) {
        struct sim_team *team = &self->teams[i];
        bool away = sim_target_available_ms (self, team->target, self->now) > self->now;
        for (size_t j = 0; j < team->count && !away; j++)
            if (!team->workers[j].plan &&
                core_pull_offers (self->core, span_text (team->target)) > 0)
                fetch_plan (self, &team->workers[j]);
    }
}

void sim_workers_release (struct sim_station *self, const struct sim_plan *plan)
{
    for (size_t i = 0; plan->offered && i < self->guesses->worker_count; i++)
        for (size_t j = 0; j < self->teams[i].count; j++)
            if (self->teams[i].workers[j].plan == plan)
                make_worker_idle (&self->teams[i].workers[j]);
}

void sim_workers_begin (struct sim_station *self)
{
    const struct flow_guesses *guesses = self->guesses;
    self->teams = memory_new ((guesses->worker_count + 1) * sizeof *self->teams);
    for (size_t i = 0; i < guesses->worker_count; i++) {
        const struct flow_workers *guess = &guesses->workers[i];
        struct sim_team *team = &self->teams[i];
        *team = (struct sim_team){.target = guess->target, .count = guess->count};
        team->workers = memory_new ((guess->count + 1) * sizeof *team->workers);
        for (size_t j = 0; j < guess->count; j++) {
            struct sim_worker *worker = &team->workers[j];
            worker->station = self;
            worker->team = team;
            if (guess->names)
                snprintf (worker->name, sizeof worker->name, "%s", guess->names[j]);
            else
                snprintf (worker->name, sizeof worker->name, "worker-%zu", j + 1);
        }
    }
}

void sim_workers_end (struct sim_station *self)
{
    for (size_t i = 0; i < self->guesses->worker_count; i++)
        free (self->teams[i].workers);
    free (self->teams);
}
