// The plan as JSON: the stored message, and the public form that travels. Source: contract 6.2.
#pragma once

#include "json.h"
#include "plan.h"

// All fields but `messages`: what targets, subscribers and lists get. A new reference.
json_t *plan_to_json (const struct plan *self);

// The same with `messages`: what the store keeps. A new reference.
json_t *plan_to_stored_json (const struct plan *self);

// Read a stored message, which an operator may have edited: types and bounds are checked, a missing
// counter is 0. `id` is the key's. NULL with a reason.
struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason);
