// The runs of flows. A flow plan starts a run, and each call of a step is a plan of the station.
// When such a plan ends, flow_step decides what follows, and that is written in the same batch as
// the end. Active runs are cached in memory; Redis has the authoritative state, and other runs are
// read from there. Source: proto/flows.md.
#pragma once

#include "station_state.h"
#include "flow_run.h"
#include "plan_step.h"

// How the plan of a call ended.
struct flow_call_end {
    struct plan_step step;
    enum flow_status status;
    json_t *value;    // result of the call, borrowed; NULL: none
    const char *text; // why the call failed
    uint64_t run;     // the run of the sub-flow that it started; 0: none
};

// A cancel of the run of a call's plan, made shortly after the flow decided to end the call.
struct flow_cancel {
    uint64_t plan_id, exec_id;
    bool force; // cancel the run of a sub-flow without further undos
};
typedef void flow_cancel_fn (struct station *self, const struct flow_cancel *cancel);
// Create the cache of runs; `cancel` cancels runs of calls.
void flow_runs_start (struct station *self, flow_cancel_fn *cancel);
void flow_runs_stop (struct station *self);
// Evict idle runs. Call it about once a second.
void flow_runs_tick (struct station *self);

// Whether a run is in memory.
bool flow_runs_has (struct station *self, uint64_t run);
// `found`: whether the run exists and is sound. `damage`: why a damaged run is not sound, else
// NULL. If Redis was lost meanwhile, `found` is true although the run is not in memory: check with
// flow_runs_has.
typedef void flow_loaded_fn (void *owner, bool found, const char *damage);
// Load a run into memory if necessary, then call back, possibly at once.
void flow_runs_load (struct station *self, uint64_t run, flow_loaded_fn *call, void *owner);

// Handle the end of the plan of a call. The run must be in memory, and this must be called in the
// same turn as the decision about the plan.
void flow_runs_ended (struct station *self, const struct flow_call_end *end);

// Apply an event to a run in memory. False: the run is not in memory, or rejected the event, with
// the reason. The effects are part of this turn's batch.
bool flow_runs_apply (struct station *self, uint64_t run, const struct flow_event *event,
                      struct reason *reason);
