// `defaults` of a flow plan: `retry` and `on_error` of the steps of its flow that have none.
// Source: flow module (is_retry, block_on_error); proto 18.11.
#pragma once

#include <jansson.h>

#include "reason.h"

// Check {"retry": 0 | 1 | the `retry` of a plan, "on_error": "block" | "continue" | 1 | 0}, both
// optional. False: the reason names the field and the rule. `none` is unused.
bool flow_defaults_check (void *none, const json_t *value, struct reason *reason);

// The `retry` of a step without one; NULL: it is not retried. A new reference. `value`: the
// defaults, or NULL.
json_t *flow_defaults_retry (const json_t *value);

// Whether the failure of a step without `on_error` counts as a success. `value`: the defaults, or
// NULL.
bool flow_defaults_continue (const json_t *value);
