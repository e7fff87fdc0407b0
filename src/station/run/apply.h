// An event of a run becomes a decision, and the decision is written; what follows from it is done
// when Redis has acknowledged. Where an admin command changed the plan in between, it is decided
// again on the changed plan.
#pragma once

#include "cause.h"
#include "runs.h"

struct run_outcome {
    struct plan *plan; // changed by the decision
    struct span key_station;
    struct run *run; // in flight; its phase may change
    enum cause cause;
    const struct answer *answer;     // CAUSE_ANSWER: the facts
    const struct message *message;   // the answer itself, NULL = there is none
    struct span voter;               // whose answer it is, empty = the station's
    const struct decision *decision; // CAUSE_DUE, and what it was made from
    const struct due *due;
    uint64_t lost;      // CAUSE_DUE: the run that the outcome is of; 0 = the one in flight
    int64_t nominal;    // CAUSE_DUE: its nominal time
    const char *reason; // as text, for the history; NULL = the answer has it
    bool keep_message;  // the stored message is not to be written
    applied_fn *done;   // called with the result of the write; NULL = not called
    void *owner;
};

// The lease of a run of this plan that begins now, in seconds.
int64_t apply_lease_s (const struct station *self, const struct plan *plan);

// Decide and commit; broadcast when it is written. Everything is copied. COMMIT_NONE: the answer is
// late, and nothing is done.
struct decision apply_outcome (struct station *self, const struct run_outcome *outcome);

enum { LEASE_PART = 4 }; // of a lease that may pass before it is extended

// The lease of a run that is kept, renewed while this station lives.
int64_t apply_kept_lease_s (const struct station *self);
