// The text of a limit in Redis (plan:limits).
#pragma once

#include "limit_state.h"

enum { LIMIT_TEXT_MAX = 80 };

// As it stands in Redis, and read from there: what is none of ours is no limit.
void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX]);
struct limit limit_read (struct span text);
