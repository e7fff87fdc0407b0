// Simulated runs of a flow on a virtual clock: with the rules of flows, the engine and the core of
// the station, and calls whose duration and outcome are guessed. Pure.
#pragma once

#include "flow_run.h"
#include "limit_state.h"

// A guess of how long the calls of a step last, and how they end. A step of a sub-flow is named
// STEP/INNER.
struct flow_guess {
    const char *step;
    int64_t last_ms;  // duration of one attempt, ms; -1: not given
    int64_t failures; // number of first attempts that fail; -1: all
    bool never;       // the call never ends, or the signal never arrives
    json_t *value;    // result of the call, or value of the signal; NULL: none
};

// A daily outage of a target, in seconds since midnight. It lasts past midnight if `to_s` is not
// after `from_s`.
struct flow_outage {
    const char *target;
    int64_t from_s, to_s;
};

struct flow_limit {
    const char *name; // "s:TARGET" or "g:GROUP"
    struct limit limit;
};

// The workers that fetch the plans of a target.
struct flow_workers {
    const char *target;
    const char *const *names; // NULL: worker-1, worker-2, ...
    size_t count;
};

struct flow_guesses {
    const struct flow_guess *steps;
    size_t step_count;
    const struct flow_outage *outages;
    size_t outage_count;
    const struct flow_limit *limits;
    size_t limit_count;
    const struct flow_workers *workers;
    size_t worker_count;
    int64_t last_ms; // duration of an attempt without a guess, ms
    const struct flow *(*find) (void *context,
                                const char *name); // finds a sub-flow; NULL: none is known
    void *context;
    const struct zone *zone; // NULL: UTC
    const json_t *plan;      // fields of the flow plan, as in a PLAN frame; NULL: one run, at once
    int64_t runs;            // maximum number of occurrences
};

enum { FLOW_SIMULATED_MAX = 100000 }; // events of one run, at which the simulation stops

// Simulate from `at_ms` on. `report` gets one row per occurrence, and frees it with json_decref:
// {"flow", "nominal", "began", "ended" (or "until", if it waits for ever or stops), "outcome",
// "failures", "output", "error", "uncaught": [...], "events": [{"at", "step", "item", "what",
// "why"}, ...], "critical": [{"step", "from", "to", "slot_ms", "target_ms", "limit_ms",
// "worker_ms"}, ...], "waits": [texts], "parked": true if the plan waits for an operator}; for a
// missed occurrence: {"flow", "nominal", "began", "outcome": "missed", "why"}. Times are ms. False:
// the flow plan is not valid, with the reason.
bool flow_simulate (const struct flow *flow, const struct flow_guesses *guesses, int64_t at_ms,
                    json_t *input, void (*report) (void *owner, json_t *row), void *owner,
                    struct reason *reason);
