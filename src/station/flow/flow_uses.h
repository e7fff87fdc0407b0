// Which versions of a flow its runs have, as Redis says: also those of runs that are not in memory,
// and of runs that have ended and are kept, as they may be retried.
#pragma once

#include "station_state.h"
#include "store_flow.h"

struct flow_uses {
    int versions[2 * STORE_FLOW_VERSIONS]; // that runs have, in any order, each once
    size_t count;
    struct station *station;
    const char *name;
};

// NULL: Redis was lost meanwhile.
typedef void flow_uses_fn (void *owner, const struct flow_uses *answer);

// Of these versions of the flow. Answered once, and never inside the call.
void flow_uses_read (struct station *self, const char *name, const int *versions, size_t count,
                     flow_uses_fn *reply, void *owner);

// Leave of these versions those that no run has, in memory or in Redis, and at most `most`. Returns
// how many.
size_t flow_uses_choose (const struct flow_uses *self, int *versions, size_t count, size_t most);
