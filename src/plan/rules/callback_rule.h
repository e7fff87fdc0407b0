// The `callback` of a plan: where the outcomes of its runs are sent over HTTP, and how. Pure.
// Source: task module (callback, security); protocol, plans.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "reason.h"

enum { CALLBACK_TIMEOUT_MAX = 60 };

// Check {"success": {"url", "method"}, "error": the same, "secret", "form", "when", "timeout",
// "retry", "headers"}. False: the reason names the field and the rule.
bool callback_rule_judge (void *none, const json_t *object, struct reason *reason);

// The same for those who may not know the whole: of each URL only scheme and host. A new object,
// which callback_rule_judge rejects, so that it is never stored by mistake.
json_t *callback_rule_masked (const json_t *object);

// Of a URL only scheme and host.
json_t *callback_masked_url (const json_t *text);

// A PLAN frame with a callback, masked, as JSON has frames (json_from_frame).
json_t *callback_masked_frame (struct span frame);
