// Submission of new plans. An id that the station generated is known to be new; an id chosen by a
// client is looked up first.
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "store_private.h"

struct submit_call {
    struct waiter waiter;
    struct store *store;
    struct plan *plan;
    bool made_here;
    int64_t due_s;
    char caller[CALLER_FIELD_MAX];
    char *missed;
    size_t missed_size;
    store_done_fn *reply;
    void *owner;
};

static void answer_submit (void *owner, enum store_result result, const char *error)
{
    struct submit_call *self = owner;
    self->reply (self->owner, result, error);
    plan_destroy (&self->plan);
    free (self->missed);
    free (self);
}

// -- placing the plan

// The plan is written. The submission is acknowledged when the replicas have it, too.
static void on_plan_replicated (void *owner, bool enough)
{
    answer_submit (owner, enough ? STORE_DONE : STORE_UNSURE, "");
}

static void resubmit (void *owner, bool serves);

// If the data were reset, submit the plan again when the store serves. If Redis rejected the plan,
// undo the write of its stop state.
static void on_submit_written (struct waiter *waiter, enum written how, const char *error)
{
    struct submit_call *self = (struct submit_call *)waiter; // it is the first member
    const struct plan *plan = self->plan;
    if (how == WRITTEN_REFUSED && plan_stop_state (plan) != STOP_NONE)
        store_write_stop_state (self->store, plan->station, plan->id, STOP_NONE);
    if (how == WRITTEN)
        link_replicate (self->store->link, on_plan_replicated, self);
    else if (how == WRITTEN_RESET)
        store_call_when_serving (self->store, WAITER_SUBMISSION, resubmit, self);
    else
        answer_submit (self, store_result_of_wait (how), error);
}

// Add the plan, and answer when it is written or a limit rejects it.
static void add_plan_to_core (struct submit_call *self)
{
    struct store *store = self->store;
    const struct plan *plan = self->plan;
    struct core_refusal refusal;
    struct reason reason;
    struct core_submission submission = make_core_submission (store, plan, self->caller);
    submission.made_here = self->made_here;
    submission.missed = span_of (self->missed, self->missed_size);
    if (self->due_s)
        submission.due_us = self->due_s * 1000000;
    enum core_result result =
        core_submit (store->core, &submission, store_now_us (store), &refusal);
    if (result == CORE_DONE) {
        if (plan_stop_state (plan) != STOP_NONE)
            store_write_stop_state (store, plan->station, plan->id, plan_stop_state (plan));
        self->waiter = (struct waiter){.kind = WAITER_SUBMISSION, .release = on_submit_written};
        writer_wait_batch (store->writer, &self->waiter, clock_mono_us ());
    } else if (result == CORE_FULL) {
        reason_set (&reason, "quota exceeded: %" PRId64 " plans (%s)", refusal.most, refusal.bound);
        answer_submit (self, STORE_FULL, reason.text);
    } else {
        answer_submit (self, STORE_HELD, "");
    }
}

// -- reading: first the caller's number of plans, then whether the plan exists. The core is called
// right after the latter, so that no other submission can come in between.

static void on_existence_checked (void *owner, const struct store_loaded *found)
{
    struct submit_call *self = owner;
    if (found->result == STORE_NONE && store_is_serving (self->store))
        add_plan_to_core (self);
    else if (found->result == STORE_DONE)
        answer_submit (self, STORE_HELD, "");
    else
        answer_submit (self, found->result == STORE_NONE ? STORE_LOST : found->result,
                       found->error);
}

// Submit the plan, after a check that its id is free unless the station has just generated it.
static void submit_if_new (struct submit_call *self)
{
    if (self->made_here)
        add_plan_to_core (self);
    else
        store_exists (self->store, self->plan->id, self->plan->station, on_existence_checked, self);
}

static void on_caller_count (void *owner, const redisReply *reply)
{
    struct submit_call *self = owner;
    if (!reply || !store_is_serving (self->store)) {
        answer_submit (self, STORE_LOST, "");
        return;
    }
    core_load_caller (self->store->core, span_text (self->caller), reply_counter (reply));
    submit_if_new (self);
}

// Begin a submission: reject it at once if it cannot be written, else read what the core lacks.
static void begin_submit (struct submit_call *self)
{
    struct store *store = self->store;
    const char *refusal = writer_refusal (store->writer);
    // If Redis' memory was full, submit: the next batch shows whether it still is.
    bool is_full = strncmp (refusal, "OOM", 3) == 0;
    if (!store_is_serving (store))
        store_reply_at_turn_end (store, STORE_LOST, "", answer_submit, self);
    else if (*refusal && !is_full)
        store_reply_at_turn_end (store, STORE_ERROR, refusal, answer_submit, self);
    else if (core_knows_caller (store->core, span_text (self->caller)))
        submit_if_new (self);
    else
        store_get (store, WORDS (TEXT ("HGET"), TEXT (KEY_COUNT), TEXT (self->caller)),
                   on_caller_count, self);
}

static void resubmit (void *owner, bool serves)
{
    if (serves)
        begin_submit (owner);
    else
        answer_submit (owner, STORE_UNKNOWN, ""); // the first attempt may have been applied
}

void store_submit (struct store *self, const struct store_submission *submission,
                   store_done_fn *reply, void *owner)
{
    struct submit_call *call = memory_new (sizeof *call);
    *call = (struct submit_call){.store = self,
                                 .plan = plan_keep (submission->plan),
                                 .made_here = submission->made_here,
                                 .due_s = submission->due,
                                 .missed_size = submission->missed.size,
                                 .reply = reply,
                                 .owner = owner};
    if (submission->missed.size)
        call->missed = memory_copy (submission->missed.data, submission->missed.size);
    caller_field_make (self, submission->plan->caller, call->caller);
    begin_submit (call);
}
