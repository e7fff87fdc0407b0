// The kinds that read the wall clock of a zone: week, month, the days of a calendar, and cron.
// Source: plan document 3.3.3 and 3.3.4.
#pragma once

#include "kind.h"

extern const struct schedule_kind calendar_kind;

// Whether each week or month has exactly one occurrence, so that the N-th one is found without a
// walk. Their times ascend with the number of the week or month, as clock changes move them by less
// than the week between two of them.
bool calendar_one_each (const struct schedule *self);
