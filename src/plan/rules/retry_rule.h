// The `retry` object of a plan. The PLAN frame, a kind and the stored message share this reader.
// Source: task module (retry_strategy, retry_interval, retry_sequence, max_error_count,
// need_manual).
#pragma once

#include <jansson.h>

#include "reason.h"
#include "retry.h"

// Read {"strategy": "none" | "fixed" | "sequence" | "exponential", "interval": seconds, "sequence":
// [seconds, ...], "max": n, "jitter": seconds, "need_manual": flag} into `ret`, a struct
// retry_policy, and check it. False: the reason names the field and the rule.
bool retry_rule_read (void *ret, const json_t *object, struct reason *reason);
