// Finds in Redis the versions of a flow that its runs use. These include runs that are not in
// memory, and stored runs that have ended, as they may be retried.
#pragma once

#include "station_state.h"
#include "store_flow.h"

struct flow_uses {
    int versions[2 *
                 STORE_FLOW_VERSIONS]; // versions that runs use, in any order, without duplicates
    size_t count;
    struct station *station;
    const char *name;
};

// Receives the uses; NULL: Redis was lost meanwhile.
typedef void flow_uses_fn (void *owner, const struct flow_uses *answer);

// Find which of these versions are in use. `reply` is called once, never before this returns.
void flow_uses_read (struct station *self, const char *name, const int *versions, size_t count,
                     flow_uses_fn *reply, void *owner);

// Reduce `versions` to those that no run uses, in memory or in Redis, and to at most `most` of
// them. Returns their number.
size_t flow_uses_filter_unused (const struct flow_uses *self, int *versions, size_t count,
                                size_t most);
