// The kinds second, minute, hour and day: a grid of equal steps, or of a cycle of steps, from a
// base, as plain arithmetic on instants (a day is 24 hours). Constant time for any distance.
// Source: plan document 3.3.2.
#pragma once

#include "kind.h"

extern const struct schedule_kind interval_kind;
