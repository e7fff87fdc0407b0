// Starts the runs of due plans: the core chooses plans, the messages that it does not have in
// memory are read, and the claim is answered when the start of the runs is written.
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

enum { CHOICES_MAX = 256, WRITES_MAX = 32 };

// Chosen plans that are read from Redis.
struct plan_reads {
    size_t left, answered; // how many commands have no answer yet; how many have
    size_t count;
    const struct core_choice *choices[CHOICES_MAX];
};

struct claim_call {
    struct waiter waiter;
    struct store *store; // NULL: the claim was aborted (store_claim_detach)
    store_claim_fn *reply;
    bool (*is_pull) (void *owner, struct span target);
    void *owner;
    struct core_wish wish; // without the targets
    struct core_choice choices[CHOICES_MAX];
    size_t count;
    struct plan_reads reads; // reads of the choices that are not in the core's memory
    struct store_claim answer;
    struct store_claimed taken[CHOICES_MAX];
    char first_broken[PLAN_KEY_SIZE];
};

// Answer the claim, and keep its memory for the next one.
static void finish_claim (struct claim_call *self, enum store_result result, const char *error)
{
    self->answer.result = result;
    self->answer.error = error;
    self->answer.taken = self->taken;
    if (result != STORE_DONE)
        self->answer.count = 0;
    struct store *store = self->store;
    if (store && store->claim == self)
        store->claim = NULL;
    self->reply (self->owner, &self->answer);
    if (store && !store->spare_claim)
        store->spare_claim = self;
    else
        free (self);
}

static void on_claim_written (struct waiter *waiter, enum written how, const char *error)
{
    struct claim_call *self = (struct claim_call *)waiter; // it is the first member
    enum store_result result = self->answer.result;        // other than STORE_DONE: it failed early
    finish_claim (self, result != STORE_DONE ? result : store_result_of_wait (how), error);
}

// -- runs whose lease ended

// Record the outcome of a run whose lease expired without a result.
static void record_lost_run (struct store *self, const struct plan *plan,
                             const struct core_taken *taken)
{
    if (plan->policy && plan->policy->log == LOG_NONE)
        return;
    char step[OUTCOME_STEP_SIZE];
    struct outcome_record record = {.title = plan->description,
                                    .key = policy_key (plan->policy),
                                    .nominal = plan_nominal (plan, taken->lost),
                                    .status = ZERO_STATUS_TIMEOUT_ID,
                                    .state = PLAN_EXECUTE,
                                    .exec_id = taken->lost,
                                    .worker = taken->target,
                                    .reason = TEXT ("no result within the lease")};
    outcome_set_flow (&record, plan, step);
    if (plan->policy && plan->policy->log == LOG_TRIGGER) { // this policy records only the dispatch
        record.status = ZERO_STATUS_OK_ID;
        record.reason = (struct span){0};
    }
    size_t size;
    char *packed = store_record (&record, &size);
    core_outcome (self->core, taken->target, taken->id, store_now_us (self) / 1000,
                  span_of (packed, size), (struct span){0});
    free (packed);
}

// A run's lease expired without a result: either the engine ends it, or its outcome is recorded in
// the same batch as the new run. Nothing is recorded of runs that nobody has begun: plans that
// workers fetch, as they were not offered yet, and flow runs. Returns whether the engine ends it.
static bool end_or_record_lost_run (const struct claim_call *call, const struct core_choice *choice,
                                    struct core_taken *taken)
{
    struct reason reason;
    bool pull = call->is_pull && call->is_pull (call->owner, taken->target);
    struct plan *plan = plan_from_stored_json (taken->id, taken->message, &reason);
    const struct due due = {
        .exec_id = taken->lost, .lost = true, .pull = pull, .now_us = taken->at_us};
    bool ends = plan && engine_ends_lost (plan, &due);
    if (ends)
        core_keep_lost_run (choice, taken);
    else if (plan && !pull)
        record_lost_run (call->store, plan, taken);
    plan_destroy (&plan);
    return ends;
}

// -- starting the runs

// Start the runs of the chosen plans in the core, and answer when that is written.
static void start_chosen_runs (struct claim_call *self)
{
    struct store *store = self->store;
    int64_t now_us = store_now_us (store), next_us;
    for (size_t i = 0; i < self->count; i++) {
        const struct core_choice *choice = &self->choices[i];
        struct core_taken taken;
        enum core_result result = core_begin_run (store->core, choice, &self->wish, now_us, &taken);
        if (result == CORE_CHANGED && !self->answer.broken++) {
            plan_key_make (self->first_broken, KEY_MESSAGE, taken.target, taken.id);
            self->answer.first_broken = span_text (self->first_broken);
        }
        if (result != CORE_DONE)
            continue;
        bool ends = taken.lost && end_or_record_lost_run (self, choice, &taken);
        self->taken[self->answer.count++] =
            (struct store_claimed){.station = taken.target,
                                   .plan_id = taken.id,
                                   .message = taken.message,
                                   .exec_id = taken.exec_id,
                                   .earlier_may_answer = taken.earlier_may_answer,
                                   .lost = ends,
                                   .at_us = taken.at_us,
                                   .lease_end_us = now_us + self->wish.lease_us,
                                   .unwritten = !taken.written};
    }
    if (store->invalid_members && !self->answer.broken) {
        snprintf (self->first_broken, sizeof self->first_broken, "%s", store->invalid_member);
        self->answer.first_broken = span_text (self->first_broken);
    }
    self->answer.broken += store->invalid_members;
    store->invalid_members = 0;
    self->answer.now_us = now_us;
    self->answer.lease_end_us = now_us + self->wish.lease_us;
    self->answer.more = core_has_due (store->core, &self->wish, now_us);
    self->answer.full = core_waits_for_limit (store->core);
    next_us = core_next_us (store->core);
    self->answer.has_next = next_us < INT64_MAX;
    self->answer.next_us = next_us;
    self->waiter = (struct waiter){.kind = WAITER_SURE, .release = on_claim_written};
    if (self->answer.count || self->answer.broken)
        writer_wait_batch (store->writer, &self->waiter, clock_mono_us ());
    else
        writer_wait_flush (store->writer, &self->waiter);
}

// -- reading the chosen plans: messages, scores, and runs that may still answer

void store_claim_detach (struct store *self)
{
    if (self->claim)
        self->claim->store = NULL; // the core has dropped the choices, too
    self->claim = NULL;
}

// Send up to three commands that read messages, scores and, if earlier runs may still answer,
// fields of plan:run. They are answered in this order: pass_plan_answer.
static void send_plan_reads (struct store *self, struct plan_reads *reads, link_reply_fn *reply,
                             void *owner)
{
    size_t count = reads->count;
    bool wants_runs = core_wants_runs (self->core);
    char (*members)[PLAN_KEY_SIZE] = memory_resize (NULL, count * sizeof *members);
    struct span *words = memory_resize (NULL, (count + 2) * sizeof *words);
    reads->left = (size_t)2 + wants_runs;
    for (size_t i = 0; i < count; i++) {
        plan_key_make (members[i], KEY_MESSAGE, core_choice_target (reads->choices[i]),
                       core_choice_id (reads->choices[i]));
        words[2 + i] = span_text (members[i]);
    }
    words[1] = TEXT ("MGET");
    store_get (self, words + 1, count + 1, reply, owner);
    words[0] = TEXT ("ZMSCORE");
    words[1] = TEXT (KEY_TIME_SET);
    store_get (self, words, count + 2, reply, owner);
    words[0] = TEXT ("HMGET");
    words[1] = TEXT (KEY_RUNS);
    if (wants_runs)
        store_get (self, words, count + 2, reply, owner);
    free (words);
    free (members);
}

// Pass the answer to the command at this place of send_plan_reads to the core.
static void pass_plan_answer (const struct plan_reads *reads, size_t command,
                              const redisReply *reply)
{
    for (size_t i = 0; i < reads->count && reply_is_array (reply, reads->count); i++) {
        if (command == 0)
            core_found_message (reads->choices[i], reply_text (reply->element[i]));
        else if (command == 1)
            core_found_score (reads->choices[i], reply_score_us (reply->element[i]));
        else
            core_found_run (reads->choices[i], reply_text (reply->element[i]));
    }
}

// Process one of the answers to send_plan_reads; after the last one, start the runs.
static void on_chosen_plans (void *owner, const redisReply *reply)
{
    struct claim_call *self = owner;
    size_t command = self->reads.answered++;
    if (self->store && (!reply || reply->type == REDIS_REPLY_ERROR)) {
        // A read failed: leave all choices to a later claim.
        for (size_t i = 0; i < self->count; i++)
            core_unchoose (self->store->core, &self->choices[i]);
        store_claim_detach (self->store);
    } else if (self->store) {
        pass_plan_answer (&self->reads, command, reply);
    }
    if (--self->reads.left)
        return;
    if (self->store)
        start_chosen_runs (self);
    else
        finish_claim (self, STORE_LOST, "");
}

// -- reading the next due plans ahead of time

struct prefetch_call {
    struct store *store;
    uint64_t resets; // core_resets at the start: if it differs later, the choices are invalid
    struct core_choice choices[CHOICES_MAX];
    struct plan_reads reads;
    bool failed;
};

// Process one of the answers for prefetched plans; after the last one, end their choices.
static void on_prefetched (void *owner, const redisReply *reply)
{
    struct prefetch_call *self = owner;
    bool current = core_resets (self->store->core) == self->resets;
    size_t command = self->reads.answered++;
    self->failed = self->failed || !reply || reply->type == REDIS_REPLY_ERROR;
    if (current && !self->failed)
        pass_plan_answer (&self->reads, command, reply);
    if (--self->reads.left)
        return;
    for (size_t i = 0; current && i < self->reads.count; i++)
        core_end_prefetch (self->store->core, &self->choices[i], !self->failed);
    free (self);
}

// Read the plans that are likely to run next, so that their claim needs no read.
static void prefetch_plans (struct store *self)
{
    struct prefetch_call *call = memory_resize (NULL, sizeof *call);
    *call = (struct prefetch_call){.store = self, .resets = core_resets (self->core)};
    call->reads.count = core_choose_prefetch (self->core, call->choices, CHOICES_MAX);
    for (size_t i = 0; i < call->reads.count; i++)
        call->reads.choices[i] = &call->choices[i];
    if (call->reads.count)
        send_plan_reads (self, &call->reads, on_prefetched, call);
    else
        free (call);
}

// -- a claim

void store_claim (struct store *self, const struct claim_wish *wish, store_claim_fn *reply,
                  void *owner)
{
    struct claim_call *call = self->spare_claim;
    self->spare_claim = NULL;
    call = call ? call : memory_resize (NULL, sizeof *call);
    memset (call, 0, offsetof (struct claim_call, choices));
    call->count = call->reads.count = call->reads.answered = 0;
    call->answer = (struct store_claim){.error = ""};
    call->store = self;
    call->reply = reply;
    call->is_pull = wish->is_pull;
    call->owner = owner;
    if (!store_is_serving (self)) {
        call->answer.result = STORE_LOST;
        call->waiter.release = on_claim_written;
        writer_wait_flush (self->writer, &call->waiter);
        return;
    }
    for (size_t i = 0; i < wish->core.target_count; i++)
        configure_target_limit (self, wish->core.targets[i].target, &wish->limits[i]);
    call->wish = wish->core;
    call->count =
        core_choose (self->core, &call->wish, store_now_us (self), call->choices, CHOICES_MAX);
    call->wish.targets = NULL;
    call->wish.writes = call->count <= WRITES_MAX;
    for (size_t i = 0; i < call->count; i++)
        if (call->choices[i].needs_read)
            call->reads.choices[call->reads.count++] = &call->choices[i];
    if (call->reads.count) {
        self->claim = call;
        send_plan_reads (self, &call->reads, on_chosen_plans, call);
    }
    prefetch_plans (self); // before the start of the runs, which forgets what each target took
    if (!call->reads.count)
        start_chosen_runs (call);
}
