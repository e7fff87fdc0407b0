// The plan id that is derived from the field `key`. Source: proto/plans.md.
#pragma once

#include "span.h"

// 1..INT64_MAX, the same for the same key within the same scope: a target's name, or empty for
// none.
uint64_t plan_key_id (struct span scope, struct span key);
