// Occurrences that did not run, as an entry of the history of their own. It is written in one step
// with the decision that drops them. Source: proto 6.3, 9.4.
#pragma once

#include "misses.h"

// The record (store_record) of what was dropped; NULL: nothing was, or the plan logs nothing.
// `exec_id`: the claim's that saw it, else the microsecond of the decision: no run has it. Free it.
char *missed_record (const struct plan *plan, const struct misses *misses, uint64_t exec_id,
                     size_t *ret_size);
