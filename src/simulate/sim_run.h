// Runs of flows and the calls of their steps, shared by the files of a simulation.
#pragma once

#include "sim_station.h"

struct sim_run;

// A call of a step or, if `run` is NULL, the flow plan of the outermost run.
struct sim_call {
    struct table_node node; // first member; in run.calls, by step and item
    struct sim_run *run;
    struct simulation *simulation; // set for the flow plan only
    struct sim_station *station;
    struct sim_plan *plan;   // plan of the call; NULL: it has none or has ended
    const struct flow *flow; // the sub-flow that is called; NULL: an ordinary call
    struct sim_run *inner;   // the run of that sub-flow
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    bool undo;
    int64_t timeout_s;
    enum flow_status status;
    const char *text; // why the call failed
    json_t *value, *input;
    int64_t blocked_ms[SIM_BLOCKS]; // ms for which its plan was due and did not run, by cause
    struct sim_timer start;         // the start of the sub-flow's run
    struct sim_timer end;           // the end of the call
    struct sim_timer total;         // the total_timeout of the call
};

// The timer of a step, or of a signal that will arrive.
struct sim_wait {
    struct sim_timer timer;
    struct sim_run *run;
    uint32_t step;
    bool signal; // a signal arrives; false: the timer of the step expires
};

// The times of a step, for the critical path.
struct sim_span {
    int64_t ready, begin, end;      // times in ms; -1: not yet
    int64_t blocked_ms[SIM_BLOCKS]; // by cause, the longest time that one call was blocked
};

// Numbers of attempts of a step's calls, by item; that of item -1 is the first.
struct sim_tries {
    uint32_t *counts; // owned
    size_t count, room;
};

struct sim_run {
    struct simulation *simulation;
    struct sim_station *station;
    struct sim_call *caller;
    const struct flow *flow;
    struct flow_run *run;
    char *path; // prefix of step names: "" or "STEP/" for each level
    unsigned depth;
    int64_t began;
    struct sim_span *spans;
    struct sim_tries *tries; // by step
    struct table calls;      // in flight
    struct sim_wait *waits;  // two for each step: its timer, and the signal for it
    struct sim_timer limit;  // timeout of the run
    struct sim_timer done;   // end of the run, to be handled by the caller
    struct sim_run *subs;    // runs of its sub-flows, kept for retries
    struct sim_run *next;    // next sibling
    uint32_t sub_step;       // the step of the outer run that calls it
    int64_t sub_item;        // the item of that step; -1: none, -2: the run is not used any more
};

struct simulation {
    struct sim_station station;
    const struct flow_guesses *guesses;
    const struct flow *flow;
    struct sim_call root;
    json_t *input, *events;
    int64_t created;       // submission of the flow plan, ms
    int64_t fire;          // nominal time of its occurrence, ms
    int64_t last_event_ms; // time of the last event, ms
    int64_t rows;          // occurrences that were reported
    void (*report) (void *owner, json_t *row);
    void *owner;
    bool over;    // no further occurrence follows
    bool stopped; // the simulation stopped at FLOW_SIMULATED_MAX events
};

// -- runs: sim_run.c

// Start an attempt of a call of a flow: the first attempt begins a run, a later one continues it.
void sim_run_start (void *call);
// Apply an event to a run and its effects to the station. Returns whether the event was accepted.
bool sim_run_apply (struct sim_run *self, const struct flow_event *event);
void sim_run_destroy (struct sim_run **self);

// Find the run of a sub-flow that an earlier call of this step or item had; NULL: none.
struct sim_run *sim_run_find_sub (const struct sim_run *self, uint32_t step, int64_t item);

// -- calls: sim_call.c

// The guess for a step of a run; NULL: none.
const struct flow_guess *sim_guess_of (const struct sim_run *self, uint32_t step);
// Begin the call that an effect places.
void sim_call_begin (struct sim_run *run, const struct flow_effect *effect);

// Cancel the call that this effect names.
void sim_call_cancel (struct sim_run *run, const struct flow_effect *effect);
// Start the timer of the total_timeout of the call that this effect names.
void sim_call_start_total_timeout (struct sim_run *run, const struct flow_effect *effect);

// End the call whose sub-flow's run has ended.
void sim_call_end_inner (struct sim_call *call);
void sim_call_destroy (struct sim_call *call);

// -- occurrences of the flow plan: simulation.c

// An attempt of the flow plan begins: if it is the first one, begin the report of the occurrence.
void sim_occurrence_begins (struct sim_call *root);
// An occurrence of the flow plan is over: report it.
void sim_occurrence_ends (struct sim_call *root, const struct decision *decision);

// -- reports: sim_report.c

// Add an event to the report; `step` -1: about the run; `item` -1: about no item.
void sim_add_event (const struct sim_run *self, int64_t step, int64_t item, const char *what,
                    const char *why);
// Add the events about the new state of a step.
void sim_add_change_events (struct sim_run *self, uint32_t step);
// Add the event that the next undo, or an expression of it, has failed.
void sim_add_parked_event (const struct sim_run *self);
// Set all times of a span to not yet.
void sim_span_clear (struct sim_span *span);

// Make the row of the outermost run: {"flow", "began", ...}.
json_t *sim_run_report (const struct sim_run *self);
