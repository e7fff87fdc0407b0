// The station's own time zone and those that plans name. Each is read once, and again by
// zones_reread. A returned zone may be freed by the next call of these functions.
#pragma once

#include "station_state.h"

// The zone of this name, "" = the station's own. NULL: not found, with a reason.
const struct zone *zones_named (struct station *self, const char *name, struct reason *reason);

// The zone of a plan with this policy (NULL: the station's own). NULL: not found, with a reason.
const struct zone *zones_find (struct station *self, const struct policy *policy,
                               struct reason *reason);

// The zone of an accepted plan. If it has vanished from this machine since, that is logged and the
// station's own zone is used.
const struct zone *zones_of (struct station *self, const struct plan *plan);

// Read the files of all zones again. A zone that cannot be read stays as it was.
void zones_reread (struct station *self);

void zones_stop (struct station *self);
