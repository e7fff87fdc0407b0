// The runs of flows. A plan of a flow starts one; each call of a step is a plan of the station; the
// end of such a plan is carried through flow_step, and all that follows from it is written in one
// batch with it. A run that something happens to is in memory; the truth is in Redis, and a run
// that is not here is read from there. Source: proto/flows.md.
#pragma once

#include "station_state.h"
#include "flow_run.h"
#include "plan_step.h"

// What became of the plan of a call.
struct flow_call_end {
    struct plan_step step;
    enum flow_status status;
    json_t *value;    // of its result; NULL = none. Borrowed
    const char *text; // why it failed
    uint64_t run;     // of a sub-flow: its run; 0 = none
};

// Runs of calls are ended by this, some time after they were taken back.
struct flow_cancel {
    uint64_t plan_id, exec_id;
    bool force; // of a sub-flow: its run undoes nothing more
};
typedef void flow_cancel_fn (struct station *self, const struct flow_cancel *cancel);
void flow_runs_start (struct station *self, flow_cancel_fn *cancel);
void flow_runs_stop (struct station *self);
void flow_runs_tick (struct station *self);

// Whether a run is in memory. flow_runs_want calls back when it is: at once, or when it was read;
// with `found` false when there is none of this number any more, or when its rows do not fit
// together: then `damage` says why, else it is NULL. When Redis was lost meanwhile it may not be
// there all the same.
bool flow_runs_has (struct station *self, uint64_t run);
typedef void flow_wanted_fn (void *owner, bool found, const char *damage);
void flow_runs_want (struct station *self, uint64_t run, flow_wanted_fn *call, void *owner);

// The plan of a call is over, and its run is in memory: call in the turn of that decision.
void flow_runs_ended (struct station *self, const struct flow_call_end *end);

// Carry a run that is in memory over an event; false: it was rejected, with the reason. What
// follows from it is in the batch of this turn.
bool flow_runs_carry (struct station *self, uint64_t run, const struct flow_event *event,
                      struct reason *reason);
