// Definitions of flows as the station stores them.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "span.h"

// The text of a definition: the last member of an object, as the reply to `flow get` has it. A text
// that was written again might be another version. Empty: there is none.
struct span flow_stored_text (struct span object);

// Write that text on one line, without a newline. False: there is none.
bool flow_stored_write (FILE *file, struct span object);

// Each target that a definition names, some of them several times.
void flow_stored_targets (const json_t *definition, void (*take) (void *owner, const char *target),
                          void *owner);
