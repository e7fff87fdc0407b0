// Turns an event of a run into a decision and writes it; the consequences follow when Redis has
// acknowledged the write. If an admin command changed the plan in between, the decision is made
// again on the changed plan.
#pragma once

#include "runs.h"
#include "store.h"

// The event that a run is decided on.
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

// The callback for the written decision.
typedef void applied_fn (void *owner, enum store_result result);

struct run_outcome {
    struct plan *plan;       // changed by the decision
    struct span key_station; // station of the message key
    struct run *run;         // in flight; its phase may change
    enum cause cause;
    const struct answer *answer;     // CAUSE_ANSWER: the facts of the answer
    const struct message *message;   // the answer itself, NULL = there is none
    struct span voter;               // who gave the answer, empty = the station
    const struct decision *decision; // CAUSE_DUE: the decision, and the facts it was made from
    const struct due *due;
    int64_t nominal;    // CAUSE_DUE: its nominal time
    const char *reason; // text for the history; NULL = taken from the answer
    bool keep_message;  // do not overwrite the stored message
    applied_fn *done;   // called with the result of the write; NULL = not called
    void *owner;
};

// The outcome of a run in flight for this cause.
static inline struct run_outcome run_outcome_of (struct active_run *active, enum cause cause,
                                                 const char *reason)
{
    return (struct run_outcome){.plan = active->plan,
                                .key_station = span_text (active->key_station),
                                .run = &active->run,
                                .cause = cause,
                                .reason = reason};
}

// The lease, in seconds, of a run of this plan that starts now.
int64_t apply_lease_s (const struct station *self, const struct plan *plan);

// Decide and commit; the result is broadcast once it is written. Everything is copied. COMMIT_NONE:
// the answer is late, and nothing is written.
struct decision apply_outcome (struct station *self, const struct run_outcome *outcome);

enum { LEASE_PART = 4 }; // a lease is extended when 1/LEASE_PART of it has passed

// The lease, in seconds, of a kept run (CAUSE_KEPT), which the station renews while it is alive.
int64_t apply_kept_lease_s (const struct station *self);
