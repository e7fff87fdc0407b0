// The `callback` of a plan: where the outcomes of its runs are sent over HTTP, and how. Pure.
// Source: task module (callback, security); protocol, plans.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "reason.h"

enum { CALLBACK_TIMEOUT_MAX = 60 }; // seconds

// Check {"success": {"url", "method"}, "error": {"url", "method"}, "secret", "form", "when",
// "timeout", "retry", "headers"}. False: the reason names the field and the rule. `none` is unused.
bool callback_rule_check (void *none, const json_t *object, struct reason *reason);

// A copy of a callback rule for readers who may not know its URLs: they are masked
// (callback_masked_url). callback_rule_check rejects it, so that it is never stored by mistake.
json_t *callback_rule_masked (const json_t *object);

// A new string: a URL without its path and query; @NAME unchanged; "(masked)" for anything else.
json_t *callback_masked_url (const json_t *text);

// A new string: the JSON PLAN frame with its callback masked; "(masked)" for a msgpack frame.
json_t *callback_masked_frame (struct span frame);
