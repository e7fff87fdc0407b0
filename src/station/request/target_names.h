// Errors about unknown targets, which name only the targets that the user may know.
#pragma once

#include "station_state.h"

// The error for a target that station_target did not find: it does not exist (ZPLAN_ENOTFIND), or
// the targets in Redis are not read yet (ZPLAN_ENET). `field` is the field that named it. The
// reason lists the existing targets that this user may know.
int target_not_found (const struct station *self, const char *user, const char *field,
                      struct span name, struct reason *reason);
