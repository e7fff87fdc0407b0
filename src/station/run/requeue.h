// The sweep, page by page: plans that are missing in the queue, by an edit or a loss, are
// re-queued.
#pragma once

#include "station_state.h"

enum { REQUEUE_TURN_US = 1000000 }; // between two pages

// Read the next page, if its time has come.
void requeue_sweep (struct station *self);
