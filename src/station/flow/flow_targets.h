// Checks a well-formed definition against this station: each target must exist, and the key must
// be allowed to use it.
#pragma once

#include "flow_book.h"

// Set `ret` to the first error and the number of further ones.
void flow_errors_summarize (const json_t *errors, struct reason *ret);

// Add an error for each target of a call that does not exist or that the key may not use. Returns
// whether the key may use all of them.
bool flow_check_targets (struct station *station, const char *user, const struct flow *flow,
                         json_t *errors);
