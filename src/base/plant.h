// Bugs that a test enables on purpose, to check that the checks of the simulation find each of them
// (tests/sim/test_plants.c). They exist only in sources that a test compiles with -DPLANTS.
#pragma once

#include <stdbool.h>

#ifdef PLANTS
enum plant {
    PLANT_NONE,
    PLANT_TOKEN_WATCHED,      // a batch watches the token instead of the previous batch's number
    PLANT_EPOCH_ALONE,        // a token is an epoch without a nonce
    PLANT_EFFECT_FIRST,       // a waiter waits for the batch in flight instead of its own batch
    PLANT_LEASE_FROM_RECEIPT, // the lease begins when the answer is received
    PLANT_OPEN_NOT_KEPT,      // plans of the batch in flight are dropped, and read again
    PLANT_SENT_GIVEN_UP,      // runs of the previous owner without a status are abandoned at once
    PLANT_TOKEN_BY_NAME,      // a station with the owner's name counts as the owner
    PLANT_PX_LEASE,           // plan:owner expires by Redis' clock
    PLANT_BEHIND_WAIT,        // dispatches and broadcasts wait for replicas
    PLANT_WINDOW_DROPPED,     // a plan that is due later is not loaded into memory
    PLANT_LOST_FORGOTTEN,     // a lost run that is to be ended gets a new number
    PLANTS_END
};
extern enum plant planted; // the bug that is enabled; set by the test
#define PLANTED(name) (planted == PLANT_##name)
#else
#define PLANTED(name) false
#endif
