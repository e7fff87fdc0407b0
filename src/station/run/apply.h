// An event of a run becomes a decision, and the decision is written; what follows from it is done
// when Redis has acknowledged. Where management changed the plan in between, it is decided anew on
// what stands there then.
#pragma once

#include "cause.h"
#include "runs.h"

struct outcome {
    struct plan *plan; // changed by the decision
    struct span key_station;
    struct run *run; // in hand; its phase may change
    enum cause cause;
    const struct answer *answer;     // CAUSE_ANSWER: the facts
    const struct message *message;   // the answer itself, NULL = there is none
    struct span voter;               // whose answer it is, empty = the station's
    const struct decision *decision; // CAUSE_DUE, and what it was made from
    const struct due *due;
    uint64_t lost;      // CAUSE_DUE: the run that the outcome is of; 0 = the one in hand
    int64_t nominal;    // CAUSE_DUE: its nominal time
    const char *reason; // in words, for the history; NULL = the answer tells
    bool keep_message;  // the stored message is not to be written
    applied_fn *done;   // told what came of the write; NULL = nobody is
    void *owner;
};

// The lease of a run of this plan that begins now, in seconds.
int64_t apply_lease_s (const struct station *self, const struct plan *plan);

// Decide and commit; broadcast when it is written. Everything is copied. COMMIT_NONE: the answer is
// late, and nothing is done.
struct decision apply (struct station *self, const struct outcome *outcome);

// The lease of a run that is kept, renewed while this station lives.
int64_t apply_kept_lease_s (const struct station *self);
