// Private to the files of submission.
#pragma once

#include "misses.h"
#include "reply.h"

// A submission whose write is in flight.
struct submission {
    struct station *station;
    struct peer *peer;
    struct plan *plan;
    int tries;   // number of own ids tried; 0 = the client gave an id or a key
    int changes; // how often the plan that has the key has changed in between
    int64_t received;
    int64_t received_us;  // monotonic time of `received`
    struct misses misses; // occurrences before it that are not caught up
    // The plan would never run: it is refused with `reason`, unless it repeats an accepted plan.
    bool never;
    struct reason reason;
    struct plan *changed; // replaces the plan that has the key; set while it is being stored
    char reply_text[96];  // the reply about an existing plan
    int64_t next;         // next time of its plan, for the reply; 0 = none
};

void submission_end (struct submission *self);

// Read the frames of a submission of this user: the fields of the plan, and its id if the client
// gave one (else 0). 0, or the error with its reason. submit_check.c
int submission_check (struct station *self, const char *user, const struct message *message,
                      struct plan_fields *fields, uint64_t *ret_id, struct reason *reason);

// Reply that the plan is accepted; `reply_text` NULL: it is a new plan.
void submission_accept (struct submission *self, const char *reply_text);

// Reply with `reply_text` once enough replicas have the existing plan. Frees the submission.
void submission_accept_existing (struct submission *self);

// Set the reply about an existing plan; it includes the state when the plan is not in the queue.
void submission_set_reply (struct submission *self, const char *reply_text, enum plan_state state);

// Reject the submission because another plan has its id; the reason is `reply_text` and the id. The
// submission ends.
void submission_refuse_in_use (struct submission *self, const char *reply_text);

// The nominal time of the next occurrence, for the reply; 0: no occurrence is left.
int64_t submission_next (const struct plan *plan);

// -- keys: submit_key.c

// The key of a plan; empty: the plan has none.
const char *submission_key (const struct plan *plan);

// Set `id` to the id derived from the plan's key, if it has one, and from `scope`, a target's name
// or empty. `id` may have this value already. 0, or ZPLAN_EPLAN with a reason.
int submission_check_key (const struct plan_fields *fields, struct span scope, uint64_t *id,
                          struct reason *reason);

// Load the plan that has the submission's key, then keep, update or replace it.
void submission_load_key_holder (struct submission *self);
