// Checks a well-formed definition against this station: each target must exist, the key must be
// allowed to use it, and each kind must be known.
#pragma once

#include "flow_book.h"

// Set `ret` to the first error and the number of further ones.
void flow_errors_summarize (const json_t *errors, struct reason *ret);

// Add an error for each target of a call that does not exist or that the key may not use. Returns
// whether the key may use all of them.
bool flow_check_targets (struct station *station, const char *user, const struct flow *flow,
                         json_t *errors);

// -- kinds of plans: they are copied into a definition that is put, so that later changes of a kind
// do not affect stored versions

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
