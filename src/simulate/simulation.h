// Runs of a flow on a virtual clock: the rules of flows, the engine and the core of the station,
// with calls whose duration and outcome are guessed here. Pure.
#pragma once

#include "flow_run.h"
#include "limit_state.h"

// How long the calls of a step last, and how they end; a step of a sub-flow is named STEP/INNER.
struct flow_guess {
    const char *step;
    int64_t last_ms;  // of one attempt; -1: not given
    int64_t failures; // first attempts that fail; -1: all
    bool never;       // it never ends, a signal never arrives
    json_t *value;    // NULL: none
};

// A target that takes no calls at these times of each day, in seconds of the day; over midnight if
// `to_s` is not after `from_s`.
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
    int64_t last_ms;                                              // the default
    const struct flow *(*find) (void *context, const char *name); // sub-flows; NULL: not known
    void *context;
    const struct zone *zone; // NULL: UTC
    const json_t *plan;      // fields of the flow plan, as in a PLAN frame; NULL: one run, at once
    int64_t runs;            // at most this many occurrences
};

enum { FLOW_SIMULATED_MAX = 100000 }; // events of one run, at which the simulation stops

// Simulate from `at_ms` on. `report` gets one row per occurrence, and frees it with json_decref:
// {"flow", "nominal", "began", "ended" (or "until", if it waits for ever or stops),
// "outcome", "failures", "output", "error", "uncaught": [...], "events": [{"at", "step", "item",
// "what", "why"}, ...], "critical": [{"step", "from", "to", "slot_ms", "target_ms", "limit_ms",
// "worker_ms"}, ...], "waits": [texts], "parked": true if the plan waits for an operator}; for one
// that does not run: {"flow", "nominal", "began", "outcome": "missed", "why"}. Times are ms. False:
// the plan has no such occurrence.
bool flow_simulate (const struct flow *flow, const struct flow_guesses *guesses, int64_t at_ms,
                    json_t *input, void (*report) (void *owner, json_t *row), void *owner,
                    struct reason *reason);
