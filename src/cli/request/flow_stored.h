// Definitions of flows as the station stores them.
#pragma once

#include <stdio.h>

#include "call.h"

// The text of a definition: the last member of an object, as the reply to `flow get` has it. A text
// that was written again might be another version. Empty: there is none.
struct span flow_stored_text (struct span object);

// Write that text on one line, without a newline. False: there is none.
bool flow_stored_write (FILE *file, struct span object);

// The params that the flow in use declares. NULL where the station does not say, for any reason: it
// rejects what is wrong.
json_t *flow_stored_params (struct zplan_client *client, const char *flow);

// Each target that a definition names, some of them several times.
void flow_stored_targets (const json_t *definition, void (*take) (void *owner, const char *target),
                          void *owner);
