// Flow plans: their runs begin when they are claimed, are tried again, and end them; in between
// they are claimed to be looked at. Source: proto/flows.md.
#pragma once

#include "core.h"

void flow_fire_start (struct station *self);

// A claimed plan whose target is a flow, or what it waits for: the timer of a step. It is as it
// runs, and was in the state `was`. Nothing is sent.
void flow_fire (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                enum plan_state was);
