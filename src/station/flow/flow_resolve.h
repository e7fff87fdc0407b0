// Copies the kinds of plans that a definition names into it when it is put, so that later changes
// of a kind do not affect stored versions.
#pragma once

#include "station_state.h"

struct flow;

struct flow_resolved {
    enum store_result result;
    const char *error; // the error of Redis, if `result` is one
    json_t *errors;    // unknown kinds as a list of {"path", "reason"}; NULL: none
    char *text;        // the definition with its kinds; NULL: it has them already
};

typedef void flow_resolved_fn (void *owner, const struct flow_resolved *answer);

// Copy the kinds into the text of `flow`, which must stay valid until `reply` is called, once. A
// kind that the station does not know is taken from the definition itself. The callee owns the
// answer's errors and text.
void flow_resolve_kinds (struct station *self, const struct flow *flow, flow_resolved_fn *reply,
                         void *owner);
