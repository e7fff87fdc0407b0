// The `retry` object of a plan. One reader for the PLAN frame, a kind, and the stored message.
// Source: task module (retry_strategy, retry_interval, retry_sequence, max_error_count,
// need_manual).
#pragma once

#include <jansson.h>

#include "reason.h"
#include "retry.h"

// {"strategy": "none" | "fixed" | "sequence" | "exponential", "interval": seconds, "sequence":
// [seconds, ...], "max": n, "jitter": seconds, "need_manual": flag}, a judge of json_fields.h.
// False: the reason names the field and the rule.
bool retry_rule_judge (void *ret, const json_t *object, struct reason *reason);
