// Copies the kinds of plans that a definition names into it when it is put, so that later changes
// of a kind do not affect stored versions.
#pragma once

#include "station_state.h"

struct flow;

struct flow_resolved {
    enum store_result result;
    const char *error; // of Redis
    json_t *errors;    // a list of {"path", "reason"}: unknown kinds; NULL: none
    char *text;        // the definition with its kinds, free it; NULL: it is unchanged
};

typedef void flow_resolved_fn (void *owner, const struct flow_resolved *answer);

// `flow` must stay valid until `reply` is called, once. A kind that the station does not know is
// taken from the definition itself. The callee owns the answer's errors and text.
void flow_resolve_kinds (struct station *self, const struct flow *flow, flow_resolved_fn *reply,
                         void *owner);
