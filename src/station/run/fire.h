// Sends a claimed plan to its target, or writes why it was not sent.
#pragma once

#include "station_state.h"

// Send the claimed plan. Afterwards its run is in flight, or it has ended.
void fire_run (struct station *self, const struct store_claimed *claimed);

// Whether nothing is sent to `target`, as it is a pull target or a flow. `owner` is the station.
bool fire_is_pull (void *owner, struct span target);

// -- flow plans (flow_fire.c): a claim starts or retries the run of the flow, or checks on the run
// in progress; the end of the run ends the plan's. Source: proto/flows.md

enum flow_claim {
    FLOW_CLAIM_START, // starts a new run
    FLOW_CLAIM_RETRY, // retries the plan's previous run, if there was one
    FLOW_CLAIM_CHECK  // checks the run in progress
};

// Handle a claimed plan whose target is a flow, or the timer of a step. `plan` is in its running
// state. Nothing is sent.
void flow_fire (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                enum flow_claim claim);
