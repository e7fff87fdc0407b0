// A run of a flow on a virtual clock: the engine itself, with calls that last and end as one says.
#pragma once

#include "flow_run.h"

// What is said of a step; of one within a sub-flow the name is STEP/INNER.
struct flow_guess {
    const char *step;
    int64_t last_ms;  // of one attempt; -1: not said
    int64_t failures; // so many first attempts fail; -1: all
    bool never;       // it never ends, a signal never arrives
    json_t *value;    // NULL: none
};

// A target that takes nothing each day from one time to another, in seconds of the day; over
// midnight when `to_s` is not behind `from_s`.
struct flow_outage {
    const char *target;
    int64_t from_s, to_s;
};

struct flow_guesses {
    const struct flow_guess *steps;
    size_t step_count;
    const struct flow_outage *outages;
    size_t outage_count;
    int64_t last_ms; // of steps of which nothing is said
    const struct flow *(*find) (void *context, const char *name); // sub-flows; NULL: not known
    void *context;
    const struct zone *zone; // NULL: UTC
};

enum { FLOW_SIMULATED_MAX = 100000 }; // events of one simulation

// Run it from `at_ms` on. A new object: {"flow", "began", "ended" (or "until", where it waits for
// ever), "outcome", "output", "error", "uncaught": [...], "events": [{"at", "step", "item", "what",
// "why"}, ...], "critical": [{"step", "from", "to", "why"}, ...], "waits": [texts]}. Times are ms.
json_t *flow_simulate (const struct flow *flow, const struct flow_guesses *guesses, int64_t at_ms,
                       json_t *input);
