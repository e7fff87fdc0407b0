// The runs of flows. A flow plan starts a run, and each call of a step is a plan of the station.
// When such a plan ends, flow_step decides what follows, and that is written in the same batch as
// the end. Active runs are cached in memory; Redis has the authoritative state, and a run that is
// not in memory is read from there. Source: proto/flows.md.
#pragma once

#include "station_state.h"
#include "flow_run.h"
#include "plan_step.h"

// How the plan of a call ended.
struct flow_call_end {
    struct plan_step step;
    enum flow_status status;
    json_t *value;    // its result; NULL = none. Borrowed
    const char *text; // why it failed
    uint64_t run;     // the run of a sub-flow; 0 = none
};

// Cancels the run of a call's plan, shortly after the flow decided to end the call.
struct flow_cancel {
    uint64_t plan_id, exec_id;
    bool force; // of a sub-flow: cancel its run without further undos
};
typedef void flow_cancel_fn (struct station *self, const struct flow_cancel *cancel);
void flow_runs_start (struct station *self, flow_cancel_fn *cancel);
void flow_runs_stop (struct station *self);
void flow_runs_tick (struct station *self);

// Whether a run is in memory. flow_runs_want loads the run if necessary, then calls back, possibly
// at once. `found` is false if the run does not exist or is damaged: then `damage` says why, else
// it is NULL. If Redis was lost meanwhile, `found` is true although the run is not in memory:
// check with flow_runs_has.
bool flow_runs_has (struct station *self, uint64_t run);
typedef void flow_loaded_fn (void *owner, bool found, const char *damage);
void flow_runs_want (struct station *self, uint64_t run, flow_loaded_fn *call, void *owner);

// Report that the plan of a call has ended. The run must be in memory, and this must be called in
// the same turn as the decision about the plan.
void flow_runs_ended (struct station *self, const struct flow_call_end *end);

// Apply an event to a run in memory. False: the run rejected it, with the reason, or is not in
// memory. The effects are part of this turn's batch.
bool flow_runs_carry (struct station *self, uint64_t run, const struct flow_event *event,
                      struct reason *reason);
