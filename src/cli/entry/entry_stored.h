// Reads an entry in the form that the station stores: a plan of `zplan export` with its messages
// and counters.
#pragma once

#include "entry.h"

// Read the plan into `ret`, with what remains of it at `now_us`. 0, or -1 with a reason.
int entry_read_stored (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                       struct reason *reason);
