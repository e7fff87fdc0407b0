// Private to the files of submission.
#pragma once

#include "misses.h"
#include "reply.h"

// A submission whose write is in flight.
struct submission {
    struct station *station;
    struct peer *peer;
    struct plan *plan;
    int tries;   // with ids of our own; 0 = the client gave one, or a key
    int changes; // of the plan that has the key
    int64_t received;
    int64_t received_us;  // monotonic time of `received`
    struct misses misses; // occurrences before it, which are not made up for
    // The refusal of a plan that would never run now, unless it repeats one that was accepted.
    bool never;
    struct reason reason;
    struct plan *changed; // what takes the place of the plan that has the key, while it is stored
    char words[96];       // the reply about a plan that was there
    int64_t next;         // of its plan, for the reply; 0 = none
};

void submission_end (struct submission *self);

// Read the frames of a submission of this user: the fields of its plan, and its id if it gives one
// (else 0). 0, or the error with its reason. submit_check.c
int submission_check (struct station *self, const char *user, const struct message *message,
                      struct plan_fields *fields, uint64_t *ret_id, struct reason *reason);

// Answer PLAN; `words` NULL: it is a new plan.
void submission_accept (struct submission *self, const char *words);

// Reply with `words` once enough replicas have the existing plan. Frees the submission.
void submission_accept_existing (struct submission *self);

// The reply about an existing plan; its state too, when it is out of the queue.
void submission_set_words (struct submission *self, const char *words, enum plan_state state);

// Reject it: another plan has its id, which follows these words. It ends.
void submission_refuse_in_use (struct submission *self, const char *words);

// The nominal time of the next occurrence, which the reply carries; 0: there is none any more.
int64_t submission_next (const struct plan *plan);

// -- keys: submit_key.c

// The key of a plan; empty: it has none.
const char *submission_key (const struct plan *plan);

// A plan with a key has the id that the key makes, within its scope, a target's name, if that is
// not empty: put it into `id`, which may name that one already. 0, or ZPLAN_EPLAN with a reason.
int submission_check_key (const struct plan_fields *fields, struct span scope, uint64_t *id,
                          struct reason *reason);

// Deal with the plan that has its key, when it was read: leave it, update it or replace it.
void submission_load_held (struct submission *self);
