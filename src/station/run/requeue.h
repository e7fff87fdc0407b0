// The sweep: page by page, re-queues plans that are missing in the queue because of an edit or a
// data loss.
#pragma once

#include "station_state.h"

enum { REQUEUE_TURN_US = 1000000 }; // between two pages

// Read the next page if it is due.
void requeue_sweep (struct station *self);
