// The plan id that is derived from the field `key`. Source: proto/plans.md.
#pragma once

#include "span.h"

// The id, 1..INT64_MAX; it is the same for the same key and scope. `scope`: a target's name, or
// empty.
uint64_t plan_key_id (struct span scope, struct span key);
