// Missed occurrences get a history entry of their own, which is written in one step with the
// decision to skip them. Source: proto 6.3, 9.4.
#pragma once

#include "misses.h"

// The record (store_record) of the missed occurrences; NULL: there are none, or the plan keeps no
// history. `exec_id`: that of the claim that found them, else the time of the decision in
// microseconds, which is no run's exec_id. The caller frees the record.
char *missed_record (const struct plan *plan, const struct misses *misses, uint64_t exec_id,
                     size_t *ret_size);
