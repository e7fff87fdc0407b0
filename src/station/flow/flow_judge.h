// Checks a well-formed definition against this station: each target must exist, and the key must
// be allowed to use it.
#pragma once

#include "flow_book.h"

// Append {"path", "reason"} to the list of errors, unless it is full.
void flow_errors_add (json_t *errors, const char *path, const char *reason);

// Summarize the list: the first error, and the number of further ones.
void flow_errors_summarize (const json_t *errors, struct reason *ret);

// Add the errors of the targets of its calls. Returns whether the key may use all of them.
bool flow_check_targets (struct station *station, const char *user, const struct flow *flow,
                         json_t *errors);
