// Fields of flow plans. The station's submit_flow.c checks names and types of params, as it knows
// the flow.
#include "json.h"
#include "policy_private.h"

enum { PARAMS_TEXT_MAX = 65536, BATCH_TEXT_MAX = 64 };

// Check `params`: an object, or a text of lines NAME = EXPRESSION.
bool policy_check_params (void *none, const json_t *value, struct reason *reason)
{
    size_t size = json_string_length (value);
    (void)none;
    if (json_is_string (value) && size >= 1 && size <= PARAMS_TEXT_MAX)
        return true;
    if (json_is_object (value) && json_depth (value) <= POLICY_DEPTH_MAX)
        return true;
    return reason_reject (reason,
                          "want an object, nested %d deep at most, or lines NAME = EXPRESSION",
                          POLICY_DEPTH_MAX);
}

bool policy_read_batch (void *policy, const json_t *value)
{
    struct policy *self = policy;
    size_t size = json_string_length (value);
    self->has_batch = json_is_string (value) && size >= 1 && size <= BATCH_TEXT_MAX;
    return self->has_batch;
}
