// The names of targets that a user may know.
#pragma once

#include "station_state.h"

// Why nothing can be done for a target that station_target does not find: there is none
// (ZPLAN_ENOTFIND), or the targets in Redis are not read yet (ZPLAN_ENET). `field` is what named
// it. The reason names those that are there, of which only some may be named to this user.
int target_not_found (const struct station *self, const char *user, const char *field,
                      struct span name, struct reason *reason);
