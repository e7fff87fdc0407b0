// Why a run comes to a decision, and who is notified of it.
#pragma once

#include "store.h"

enum cause {
    CAUSE_ANSWER,    // of the target
    CAUSE_NOT_SENT,  // it could not be handed over
    CAUSE_PUT_BACK,  // its target has as many runs as it may have
    CAUSE_HELD,      // it waits for something else
    CAUSE_NO_STATUS, // none came in time
    CAUSE_KEPT,      // the same, and its target answers nothing at all
    CAUSE_TIMEOUT,   // it took too long
    CAUSE_CANCEL,    // a command ends it
    CAUSE_DUE        // it was claimed, and is not to be sent; decided by the caller
};

typedef void applied_fn (void *owner, enum store_result result);
