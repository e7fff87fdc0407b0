// A command for many plans. A job reads the list once and keeps the ids, so that exactly the plans
// that were shown are changed; it starts when the client confirms their count. Commands are
// rate-limited.
#pragma once

#include "exchange.h"

struct bulk_job;

// End all jobs of the list.
void bulk_end (struct bulk_job **first);
