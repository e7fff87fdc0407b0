// Flow plans: their runs begin when they are claimed, are tried again, and end them; in between
// they are claimed to be looked at. Source: proto/flows.md.
#pragma once

#include "station_state.h"

enum flow_claim {
    FLOW_BEGINS,
    FLOW_RETRIES, // the run that it had, if it had one
    FLOW_GOES_ON  // its run is looked at
};

// A claimed plan whose target is a flow, or what it waits for: the timer of a step. It is as it
// runs. Nothing is sent.
void flow_fire (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                enum flow_claim claim);
