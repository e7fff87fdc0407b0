// What policy.c and policy_when.c share.
#pragma once

#include "policy.h"

// What holds plans, as a page of them, must stay within JSON_DEPTH_MAX: objects with names of a
// client's own are no deeper than this.
enum { POLICY_DEPTH_MAX = 8 };

// Which of the words a JSON string is; -1: none of them.
int word_of (const char *const *words, size_t count, const json_t *value);

// The readers of the fields for times. False: the reason names the field and the rule.
typedef bool policy_read_fn (struct policy *self, const char *name, const json_t *value,
                             struct reason *reason);
policy_read_fn policy_read_cron, policy_read_timezone, policy_read_gap, policy_read_overlap,
    policy_read_iteration, policy_read_cycle, policy_read_start, policy_read_end;

// The same of the fields of flow plans.
policy_read_fn policy_read_params, policy_read_defaults, policy_read_batch;
