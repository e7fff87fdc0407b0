// What policy.c and policy_when.c share.
#pragma once

#include "policy.h"

// Which of the words a JSON string is; -1: none of them.
int word_of (const char *const *words, size_t count, const json_t *value);

// The readers of the fields that tell when. False: the reason names the field and the rule.
typedef bool policy_read_fn (struct policy *self, const char *name, const json_t *value,
                             struct reason *reason);
policy_read_fn policy_read_cron, policy_read_timezone, policy_read_gap, policy_read_overlap,
    policy_read_iteration, policy_read_cycle, policy_read_start, policy_read_end;
