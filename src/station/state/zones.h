// The station's own zone and those that plans name, read once each, and again when that is asked
// for. Between two calls of these functions a zone that was given may be gone.
#pragma once

#include "station_state.h"

// The zone of this name, "" = the station's own. NULL: there is none, with the reason.
const struct zone *zones_named (struct station *self, const char *name, struct reason *reason);

// The zone of a plan with this policy (NULL: the station's own). NULL: there is none of its name,
// with the reason.
const struct zone *zones_find (struct station *self, const struct policy *policy,
                               struct reason *reason);

// The same of a plan that was accepted. Its zone may have vanished from this machine since: that is
// logged, and the station's own is taken.
const struct zone *zones_of (struct station *self, const struct plan *plan);

// Read the files of all of them again. One that cannot be read stays as it was.
void zones_reread (struct station *self);

void zones_stop (struct station *self);
