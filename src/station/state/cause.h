// The event that a run is decided on, and the callback for the written decision.
#pragma once

#include "store.h"

enum cause {
    CAUSE_ANSWER,         // the target answered
    CAUSE_NOT_SENT,       // the run could not be sent
    CAUSE_NO_SLOT,        // its target has no free slot
    CAUSE_CALLBACKS_FULL, // it has to wait, as its source has too many callbacks
    CAUSE_NO_STATUS,      // no status came in time
    CAUSE_KEPT,           // no status came in time, as the target answers nothing at all
    CAUSE_TIMEOUT,        // the run took too long
    CAUSE_CANCEL,         // a command cancels the run
    CAUSE_DUE             // claimed but not sent; the caller has decided
};

typedef void applied_fn (void *owner, enum store_result result);
