// The kinds that read the wall clock of a zone: week, month, the days of a calendar, and cron.
// Source: plan document 3.3.3 and 3.3.4.
#pragma once

#include "kind.h"

extern const struct kind calendar_kind;
