// Runs of flows and the calls of their steps, shared by the files of a simulation.
#pragma once

#include "sim_station.h"

struct sim_run;

// A call of a step; or, without `run`, the flow plan of the outermost run.
struct sim_call {
    struct table_node node; // first; among those in flight, by step and item
    struct sim_run *run;
    struct simulation *simulation; // of the flow plan
    struct sim_station *station;
    struct sim_plan *plan;   // NULL: it needs none, or no longer
    const struct flow *flow; // of a sub-flow that is known; NULL: an ordinary call
    struct sim_run *inner;   // the run of that sub-flow
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    bool undo;
    int64_t timeout_s;
    enum flow_status status;
    const char *text; // why it failed
    json_t *value, *input;
    int64_t blocked_ms[SIM_BLOCKS]; // ms for which its plan was due and did not run
    struct sim_timer start, end, total;
};

// A timer of a step, or a signal that arrives.
struct sim_wait {
    struct sim_timer timer; // first
    struct sim_run *run;
    uint32_t step;
    bool signal;
    struct sim_wait *next;
};

struct sim_span {
    int64_t ready, begin, end;      // ms; -1: not yet
    int64_t blocked_ms[SIM_BLOCKS]; // of the call that waited longest
};

// Attempts of a step by item, from item -1 on.
struct sim_attempts {
    uint32_t *counts;
    size_t room;
};

struct sim_run {
    struct simulation *simulation;
    struct sim_station *station;
    struct sim_call *caller;
    const struct flow *flow;
    struct flow_run *run;
    char *path; // "" or "STEP/"
    unsigned depth;
    int64_t began;
    struct sim_span *spans;
    struct sim_attempts *tries;
    struct table calls; // in flight
    struct sim_wait *waits;
    struct sim_timer limit, done;
    struct sim_run *subs, *next; // kept runs of its sub-flows
    uint32_t sub_step;           // the step of the outer run that calls it
    int64_t sub_item;
};

struct simulation {
    struct sim_station station;
    const struct flow_guesses *guesses;
    const struct flow *flow;
    struct sim_call root;
    json_t *input, *events;
    int64_t created, fire; // ms: of the flow plan, nominal of its occurrence
    int64_t last_event_ms; // of the last event
    int64_t rows;          // occurrences that were reported
    void (*report) (void *owner, json_t *row);
    void *owner;
    bool over;
    bool stopped; // at FLOW_SIMULATED_MAX events
};

// -- runs: sim_run.c

// The first attempt of a call begins a run of its flow, a later one continues it.
void sim_run_start (struct sim_call *call);
// False: the event was rejected.
bool sim_run_apply (struct sim_run *self, const struct flow_event *event);
void sim_run_destroy (struct sim_run **self);

// The run of a sub-flow that an earlier call of this step or item had, or NULL.
struct sim_run *sim_run_find_sub (const struct sim_run *self, uint32_t step, int64_t item);

// -- calls: sim_call.c

const struct flow_guess *sim_guess_of (const struct sim_run *self, uint32_t step);
extern const struct sim_plan_events sim_call_events;
void sim_call_begin (struct sim_run *run, const struct flow_effect *effect);

// Cancel the call that this effect names, or start the timer of its total_timeout.
void sim_call_cancel (struct sim_run *run, const struct flow_effect *effect);
void sim_call_start_total_timeout (struct sim_run *run, const struct flow_effect *effect);

// The run of the sub-flow has ended.
void sim_call_end_inner (struct sim_call *call);
void sim_call_destroy (struct sim_call *call);

// -- occurrences of the flow plan: simulation.c

void sim_occurrence_begins (struct sim_call *root);
void sim_occurrence_ends (struct sim_call *root, const struct decision *decision);

// -- reports: sim_report.c

void sim_add_event (const struct sim_run *self, int64_t step, int64_t item, const char *what,
                    const char *why);
void sim_add_change_events (struct sim_run *self, uint32_t step);
void sim_add_parked_event (const struct sim_run *self);
void sim_span_clear (struct sim_span *span);

// The row of the outermost run: {"flow", "began", ...}.
json_t *sim_run_report (const struct sim_run *self);
