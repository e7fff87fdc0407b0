// A command for many plans. A job walks the list once and keeps the ids that it found, so that what
// was shown is what is changed; it begins when its count is confirmed. Commands are paced.
#pragma once

#include "exchange.h"

struct bulk_job;

// All jobs end.
void bulk_end (struct bulk_job **first);
