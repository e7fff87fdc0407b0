// Private to policy.c, policy_when.c and policy_text.c.
#pragma once

#include "policy.h"

// The maximum depth of objects with names of a client's own. JSON that contains plans, such as a
// page of them, must stay within JSON_DEPTH_MAX.
enum { POLICY_DEPTH_MAX = 8 };

// Readers of fields (json_fields.h). The reason of `cron` names the expression in its list.
typedef bool policy_read_with_reason_fn (void *value_of_policy, const json_t *value,
                                         struct reason *reason);
typedef bool policy_read_fn (void *policy, const json_t *value);
policy_read_with_reason_fn policy_read_cron, policy_read_cycle, policy_read_instant;
policy_read_fn policy_read_gap, policy_read_overlap;
