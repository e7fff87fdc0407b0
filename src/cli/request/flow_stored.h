// Definitions of flows as the station stores them.
#pragma once

#include <stdio.h>

#include "call.h"

// Find the text of a definition: the last member of an object such as the reply to `flow get`. It
// must be kept byte by byte, as serializing it again might yield another version. Empty: there is
// none.
struct span flow_stored_text (struct span object);

// Write that text of the object on one line, without a newline. False: there is none.
bool flow_stored_write (FILE *file, struct span object);

// Request the params that the flow's version in use declares. NULL if the station does not return
// them, for any reason; it will reject invalid params anyway.
json_t *flow_stored_params (struct zplan_client *client, const char *flow);

// Call `take` for each target that a definition names, possibly several times for one.
void flow_stored_targets (const json_t *definition, void (*take) (void *owner, const char *target),
                          void *owner);
