// The kinds of plans that a definition names, written into it at its put: later changes of a kind
// change no version.
#pragma once

#include "station_state.h"

struct flow;

struct flow_resolved {
    enum store_result result;
    const char *error; // of Redis
    json_t *errors;    // a list of {"path", "reason"}: kinds that cannot be used; NULL: none
    char *text;        // the definition with its kinds, free it; NULL: it stays as it is
};

typedef void flow_resolved_fn (void *owner, const struct flow_resolved *answer);

// `flow` stays as long as that takes, and the caller is called once. A kind that the station does
// not know is the one that the definition brings. The answer's errors and text are the caller's.
void flow_resolve (struct station *self, const struct flow *flow, flow_resolved_fn *reply,
                   void *owner);
