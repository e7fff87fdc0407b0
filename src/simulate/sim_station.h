// A station in virtual time, shared by the files of a simulation: a clock, a core, targets that
// behave as guessed, and plans that the engine decides on.
#pragma once

#include "core_pull.h"
#include "engine.h"
#include "heap.h"
#include "simulation.h"
#include "table.h"

#define SIM_NEVER    INT64_MAX
#define SIM_LEASE_US (INT64_C (100) * 365 * 86400 * 1000000) // never expires: all answers arrive

struct sim_station;
struct sim_plan;

// An event at a time. Timers of equal times ring in the order in which they were set.
struct sim_timer {
    struct heap_node node; // first
    void (*ring) (struct sim_timer *self);
};

// Why a plan that is due does not run.
enum sim_block { SIM_NOT_BLOCKED, SIM_AWAY, SIM_LIMIT, SIM_WORKERS, SIM_BLOCKS };

// When a run ends without intervention, and how.
struct sim_result {
    int64_t after_ms; // SIM_NEVER: it does not end
    bool ok;
    bool same; // all later runs end the same way
};

// Callbacks to the submitter of a plan. Only `over` may destroy it.
struct sim_plan_events {
    // A run begins now.
    struct sim_result (*sent) (struct sim_plan *plan);
    // The plan is due, and waits.
    void (*waits) (struct sim_plan *plan, const char *why);
    // A run failed, and another follows.
    void (*retries) (struct sim_plan *plan, int64_t delay_ms);
    // The occurrence is over: the plan waits for the next, is parked, or has ended.
    void (*over) (struct sim_plan *plan, const struct decision *decision);
};

struct sim_plan {
    struct table_node node; // first
    struct sim_station *station;
    const struct sim_plan_events *events;
    void *owner;
    const char *target; // borrowed
    struct plan *plan;
    struct run run;
    struct sim_result result; // of the run in flight
    bool queued;              // it waits for its time or its turn
    bool offered;             // its run waits for workers, or some are at work
    bool begun;               // its run has begun
    bool gone;                // the core has deleted it
    int64_t due_us;           // when it is queued
    int64_t end_ms;           // of the run in flight
    enum sim_block block;
    int64_t blocked_since_ms; // since when
    struct sim_timer due, deadline;
    struct sim_plan *next_to_examine;
    bool to_examine;
    struct sim_field *team; // fields of its team, as in Redis
};

struct sim_worker {
    struct sim_timer timer; // first
    struct sim_station *station;
    struct sim_team *team;
    char name[64 + 1];
    struct sim_plan *plan; // NULL: it is idle
    uint64_t exec_id;
    int64_t taken_ms, end_ms;
    bool beats; // its work never ends; the timer is for heartbeats only
};

struct sim_team {
    const char *target;
    struct sim_worker *workers;
    size_t count;
    struct sim_timer poll;
    size_t polls; // since the last offer
};

struct sim_station {
    const struct flow_guesses *guesses;
    const struct zone *zone;
    struct zone *utc; // used when no zone was given
    int64_t now;      // ms
    struct heap timers;
    struct core *core;
    struct table plans;
    uint64_t ids;
    struct sim_plan *examine, **examine_end; // plans that became due, and are examined next
    struct sim_team *teams;
    size_t beats; // timers that are for heartbeats only
};

void sim_station_begin (struct sim_station *self, const struct flow_guesses *guesses, int64_t now);
void sim_station_end (struct sim_station *self);

// Advance to the next event. False: there is none.
bool sim_station_step (struct sim_station *self);

void sim_timer_set (struct sim_station *self, struct sim_timer *timer, int64_t at,
                    void (*ring) (struct sim_timer *self));
void sim_timer_stop (struct sim_station *self, struct sim_timer *timer);

// The first time from `at` on at which the target takes calls; SIM_NEVER: its outages never end.
int64_t sim_target_available_ms (const struct sim_station *self, const char *target, int64_t at);
struct sim_team *sim_team_of (const struct sim_station *self, const char *target);
struct sim_plan *sim_plan_of (const struct sim_station *self, uint64_t id);

// -- plans

// Submit a plan with these fields of a PLAN frame; the target is borrowed. NULL with a reason.
struct sim_plan *sim_plan_new (struct sim_station *station, const char *target, json_t *fields,
                               const struct sim_plan_events *events, void *owner,
                               struct reason *reason);
void sim_plan_destroy (struct sim_plan **self);

// The core has begun a run of the plan.
void sim_plan_claimed (struct sim_plan *self, const struct core_taken *taken);

// The run begins at its target, or with its first worker.
void sim_plan_begin_run (struct sim_plan *self);

// The run in flight ends with this status.
void sim_plan_end_run (struct sim_plan *self, uint8_t status);

// -- workers: sim_workers.c

void sim_workers_begin (struct sim_station *self);
void sim_workers_end (struct sim_station *self);

// Idle workers take offered runs.
void sim_workers_fetch (struct sim_station *self);

// The run is over: its workers become idle.
void sim_workers_release (struct sim_station *self, const struct sim_plan *plan);

// -- teams as Redis would store them: sim_teams.c

void sim_teams_write (struct sim_station *self, const struct rows *rows);
void sim_team_clear (struct sim_plan *plan);

// Call core_pull_offer, with the team as Redis would have it.
enum core_result sim_team_offer (struct sim_plan *plan, struct core_offer *offer,
                                 struct core_offered *ret);
