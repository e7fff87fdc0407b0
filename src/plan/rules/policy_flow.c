// Fields of flow plans. What needs the flow, names and types of params, is judged where that is
// known: submit_flow.c of the station.
#include "flow_defaults.h"
#include "json.h"
#include "policy_private.h"

enum { PARAMS_TEXT_MAX = 65536, BATCH_TEXT_MAX = 64 };

bool policy_read_params (struct policy *self, const char *name, const json_t *value,
                         struct reason *reason)
{
    size_t size = json_string_length (value);
    (void)self;
    if (json_is_string (value) && size >= 1 && size <= PARAMS_TEXT_MAX)
        return true;
    if (json_is_object (value) && json_depth (value) <= POLICY_DEPTH_MAX)
        return true;
    reason_set (reason, "%s: want an object, nested %d deep at most, or lines NAME = EXPRESSION",
                name, POLICY_DEPTH_MAX);
    return false;
}

bool policy_read_defaults (struct policy *self, const char *name, const json_t *value,
                           struct reason *reason)
{
    (void)self;
    (void)name;
    return flow_defaults_read (value, reason);
}

bool policy_read_batch (struct policy *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    size_t size = json_string_length (value);
    self->has_batch = json_is_string (value) && size >= 1 && size <= BATCH_TEXT_MAX;
    if (!self->has_batch)
        reason_set (reason, "%s: want a date or a time, as 2024-01-31 or 2024-01-31T08:30", name);
    return self->has_batch;
}
