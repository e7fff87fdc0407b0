// An entry of import as the station keeps it: a plan of `zplan export` with its messages and
// counters.
#pragma once

#include "entry.h"

// Read what is left of the plan at this moment into `ret`. 0, or -1 with a reason.
int entry_read_kept (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                     struct reason *reason);
