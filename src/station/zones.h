// The zones that plans name, read once each. Between two calls of these functions a zone that was
// given may be gone.
#pragma once

#include "core.h"

// The zone of a plan with this policy (NULL: the station's own). NULL: there is none of its name,
// with the reason.
const struct zone *zones_find (struct station *self, const struct policy *policy,
                               struct reason *reason);

// The same of a plan that was accepted. Its zone may have vanished from this machine since: that is
// told, and the station's own is taken.
const struct zone *zones_of (struct station *self, const struct plan *plan);

void zones_stop (struct station *self);
