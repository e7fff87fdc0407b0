// A simulated station in virtual time, shared by the files of a simulation: a clock, a core,
// targets that behave as guessed, and plans that the engine decides on.
#pragma once

#include "core_pull.h"
#include "engine.h"
#include "heap.h"
#include "simulation.h"
#include "table.h"

#define SIM_NEVER    INT64_MAX
#define SIM_LEASE_US (INT64_C (100) * 365 * 86400 * 1000000) // never expires: all answers arrive

struct sim_station;
struct sim_call;

// A timer on the virtual clock. Timers of equal times expire in the order in which they were set.
struct sim_timer {
    struct heap_node node; // must be the first member
    void (*on_expiry) (void *owner);
    void *owner;
};

// Why a plan that is due does not run: its target is away, a limit, or no free worker.
enum sim_block { SIM_NOT_BLOCKED, SIM_AWAY, SIM_LIMIT, SIM_WORKERS, SIM_BLOCKS };

// When a run ends if it is not cancelled, and how.
struct sim_result {
    int64_t after_ms; // ms after its start; SIM_NEVER: it does not end
    bool ok;
    bool same; // all later runs of the plan end the same way
};

struct sim_plan {
    struct table_node node; // must be the first member
    struct sim_station *station;
    struct sim_call *call; // the call that submitted it, as sim_call.c knows it
    const char *target;    // borrowed
    struct plan *plan;
    struct run run;
    struct sim_result result; // result of the run in flight
    bool queued;              // the plan waits for its due time, or to be claimed
    bool offered;             // its run is offered to workers; some may work on it already
    bool begun;               // its run has begun at a target or worker
    bool deleted;             // the core has deleted it
    int64_t due_us;           // due time, if it is queued
    int64_t end_ms;           // end of the run in flight
    enum sim_block block;
    int64_t blocked_since_ms; // when `block` was set, ms
    struct sim_timer due;
    struct sim_timer deadline; // the end or timeout of the run
    struct sim_plan *next_to_examine;
    bool to_examine;
    json_t *team; // fields of its team of workers, as in Redis: name -> value
};

// A worker that fetches plans of a target.
struct sim_worker {
    struct sim_timer timer; // must be the first member
    struct sim_station *station;
    struct sim_team *team;
    char name[64 + 1];
    struct sim_plan *plan; // the plan it works on; NULL: it is idle
    uint64_t exec_id;
    int64_t taken_ms, end_ms; // when it fetched the plan, and when its work ends
    bool only_beats;          // its work never ends: the timer is for heartbeats only
};

// The workers of a target.
struct sim_team {
    const char *target;
    struct sim_worker *workers;
    size_t count;
    struct sim_timer poll; // makes the station recheck an unfetched offer
    size_t polls;          // number of polls since the last offer
};

struct sim_station {
    const struct flow_guesses *guesses;
    const struct zone *zone;
    struct zone *utc; // used when no zone was given
    int64_t now;      // ms
    struct heap timers;
    struct core *core;
    struct table plans;
    uint64_t last_id; // of the plans
    // List of plans that became due: report_waits reports why they wait.
    struct sim_plan *examine, **examine_end;
    struct sim_team *teams;
    size_t beats; // number of timers that are for heartbeats only
};

// Make a station that starts at `now`, in ms.
void sim_station_begin (struct sim_station *self, const struct flow_guesses *guesses, int64_t now);
// Free what the station owns.
void sim_station_end (struct sim_station *self);

// Start what is due, and advance to the next event. False: there is none.
bool sim_station_step (struct sim_station *self);

// Set a timer that calls `on_expiry` at `at`, in ms; SIM_NEVER: do not set it.
void sim_timer_set (struct sim_station *self, struct sim_timer *timer, int64_t at,
                    void (*on_expiry) (void *owner), void *owner);
void sim_timer_stop (struct sim_station *self, struct sim_timer *timer);

// The first time from `at` on at which the target takes calls; SIM_NEVER: its outages never end.
int64_t sim_target_available_ms (const struct sim_station *self, const char *target, int64_t at);
// The team of workers of a target; NULL: it has none.
struct sim_team *sim_team_of (const struct sim_station *self, const char *target);
// The plan with this id; NULL: none.
struct sim_plan *sim_plan_of (const struct sim_station *self, uint64_t id);

// -- plans

// Submit a plan with these fields of a PLAN frame; the target is borrowed. NULL: not valid, with
// the reason.
struct sim_plan *sim_plan_new (struct sim_station *station, const char *target, json_t *fields,
                               struct sim_call *call, struct reason *reason);
void sim_plan_destroy (struct sim_plan **self);

// Start the run of a plan that the core has claimed.
void sim_plan_claimed (struct sim_plan *self, const struct core_taken *taken);

// Begin the run of a plan at its target, or with its first worker.
void sim_plan_begin_run (struct sim_plan *self);

// When work on the run that begins now ends; SIM_NEVER: it does not.
int64_t sim_plan_end_ms (const struct sim_plan *self);

// End the run in flight with this status.
void sim_plan_end_run (struct sim_plan *self, uint8_t status);

// -- what becomes of the plan of a call: sim_call.c. Only sim_call_over may destroy the plan.

// A run begins now. Returns when and how it ends.
struct sim_result sim_call_sent (struct sim_call *call);
// The plan is due, but cannot run yet.
void sim_call_waits (struct sim_call *call, const char *why);
// A run failed, and another follows.
void sim_call_retries (struct sim_call *call, int64_t delay_ms);
// The occurrence is over: the plan waits for the next one, is parked, or has ended.
void sim_call_over (struct sim_call *call, const struct decision *decision);

// -- workers: sim_workers.c

void sim_workers_begin (struct sim_station *self);
void sim_workers_end (struct sim_station *self);

// Let idle workers fetch offered runs.
void sim_workers_fetch (struct sim_station *self);

// Make the workers of a run that is over idle.
void sim_workers_release (struct sim_station *self, const struct sim_plan *plan);

// -- teams as Redis would store them: sim_teams.c

// Apply the rows of the core to the teams of plans.
void sim_teams_write (struct sim_station *self, const struct rows *rows);

// Call core_pull_offer, with the team as Redis would have it.
enum core_result sim_team_offer (struct sim_plan *plan, struct core_offer *offer,
                                 struct core_offered *ret);
