// Writes the outcomes and heartbeats of runs.
#include <stdlib.h>

#include "clock.h"
#include "frames.h"
#include "json.h"
#include "memory.h"
#include "store_private.h"

// A commit whose caller waits. If it closes a vote, the commit is kept until all votes are read.
struct commit_call {
    struct waiter waiter;
    struct store *store;
    store_committed_fn *reply;
    void *owner;
    struct store_committed answer;
    char epoch[24];
    uint8_t *message;           // STORE_CHANGED: the message that is stored
    char full[40];              // name of the limit that rejected `called`; "" = none
    enum stop_state stop_state; // stop state of the plan after the commit
    bool was_stopped;           // the plan was stopped before the run, or may have been
    struct span failure;        // record for the plan's last failures; empty = it did not fail
    int64_t ended_ms;           // time of the commit, as in its outcome; Unix milliseconds
    // the members below are used only while a vote is being closed
    struct core_commit commit;
    struct plan *called;
    void (*then) (void *owner);
    struct frames *texts; // texts of `commit`
    struct span uncalled; // the record if a limit rejects `called`
    char target[STATION_NAME_MAX + 1], caller[CALLER_FIELD_MAX], work[PLAN_KEY_SIZE];
    char *votes;
};

static void end_commit_call (struct commit_call *self)
{
    self->answer.epoch = self->epoch;
    self->reply (self->owner, &self->answer);
    free (self->texts);
    plan_destroy (&self->called);
    free (self->message);
    free (self->votes);
    free (self);
}

// -- preparing the commit for the core

// The commit for the core. Its message is in the store's text buffer, and valid until that is
// reused.
static struct core_commit make_core_commit (struct store *self, const struct store_commit *commit,
                                            const char *caller)
{
    static const int broadcasts[] = {[BROADCAST_NONE] = CORE_UNPUBLISHED,
                                     [BROADCAST_RESULT] = CORE_PUBLISHED,
                                     [BROADCAST_FAILURE] = CORE_FAILURE};
    static const enum core_end ends[COMMITS] = {
        [COMMIT_LEASE] = CORE_LEASE, [COMMIT_RETRY] = CORE_RETRY, [COMMIT_DOUBT] = CORE_DOUBT,
        [COMMIT_NEXT] = CORE_OVER,   [COMMIT_PARK] = CORE_OVER,   [COMMIT_END] = CORE_GONE,
    };
    const struct decision *decision = commit->decision;
    const struct plan *plan = commit->plan;
    bool outlived = decision->commit == COMMIT_RETRY && decision->outlived;
    int64_t due_us = decision->commit == COMMIT_NEXT ? plan_due_time (plan) * 1000000
                     : decision->commit == COMMIT_LEASE
                         ? store_now_us (self) + commit->lease_s * 1000000
                         : store_now_us (self) + decision->delay_ms * 1000;
    static const struct span none = {0}; // for callbacks, which have a history of their own
    struct span record = commit->callback ? none : commit->record;
    bool writes = !commit->keep_message && !decision->unchanged && decision->commit != COMMIT_END;
    return (struct core_commit){
        .target = commit->key_station,
        .id = plan->id,
        .exec_id = commit->exec_id,
        .end = commit->flow ? CORE_FLOW
               : outlived   ? CORE_RETRY_OUTLIVED
                            : ends[decision->commit],
        .queued = decision->commit != COMMIT_PARK && !decision->unqueued,
        .due_us = due_us,
        .message = writes ? write_plan_message (self, plan) : (struct span){0},
        .revision = plan->revision,
        .decided_on = commit->revision,
        .broadcast = commit->callback ? CORE_UNPUBLISHED : broadcasts[decision->broadcast],
        .waits = decision->waiting == WAITING_FOR_TARGET,
        .has_work = !plan->first_run || plan->poll || commit->participant_count,
        .has_team = commit->has_team,
        .caller = span_text (caller),
        .record = record,
        .missed = commit->missed,
        .output = commit->output};
}

// -- results of participants

// The answer's frames of a participant as a JSON array. Free it.
static char *participant_json (const struct participant *participant)
{
    json_t *array = json_array ();
    for (size_t i = 0; i < participant->count; i++)
        json_array_append_new (array, json_from_frame (participant->frames[i]));
    char *text = json_write (array);
    json_decref (array);
    return text;
}

// Write the participants' answers to plan:work; a new vote first deletes former ones.
static void write_participants (struct store *self, const struct store_commit *commit,
                                const char *work)
{
    if (commit->decision->open_poll)
        store_put (self, WORDS (TEXT ("DEL"), TEXT (work)));
    for (size_t i = 0; i < commit->participant_count; i++) {
        char *text = participant_json (&commit->participants[i]);
        store_put (self, WORDS (TEXT ("HSET"), TEXT (work), commit->participants[i].name,
                                span_text (text)));
        free (text);
    }
}

// -- placing a plan in the same batch as the outcome

// Store the plan `called` of the commit. If a limit rejects it, write the record `unplaced` to the
// history instead.
static void submit_called_plan (struct commit_call *self, const struct plan *plan,
                                struct span unplaced)
{
    struct store *store = self->store;
    struct core_refusal refusal;
    char caller[CALLER_FIELD_MAX];
    struct core_submission submission = make_core_submission (store, plan, caller);
    submission.is_required = true;
    enum core_result result =
        core_submit (store->core, &submission, store_now_us (store), &refusal);
    if (result == CORE_FULL) {
        snprintf (self->full, sizeof self->full, "%s", refusal.bound);
        core_outcome (store->core, self->commit.target, self->commit.id,
                      store_now_us (store) / 1000, unplaced, (struct span){0});
    }
}

// -- writing

static void on_commit_written (struct waiter *waiter, enum written how, const char *error)
{
    struct commit_call *self = (struct commit_call *)waiter; // it is the first member
    if (self->answer.result == STORE_DONE)                   // else it was rejected
        self->answer.result = store_result_of_wait (how);
    self->answer.error = error;
    self->answer.full = span_text (self->full);
    self->answer.votes = self->votes;
    end_commit_call (self);
}

// Answer that the commit was not written, and why.
static void reject_commit (struct commit_call *self, enum core_result result,
                           const struct core_committed *committed)
{
    self->answer.result = result == CORE_CHANGED ? STORE_CHANGED : STORE_HELD;
    if (result == CORE_CHANGED) {
        size_t size;
        self->message = message_as_running (committed->message, self->commit.exec_id, &size);
        self->answer.message = span_of (self->message, size);
    }
    self->waiter.release = on_commit_written;
    writer_wait_flush (self->store->writer, &self->waiter);
}

// Pass the commit to the core, and answer when it is written. False: it was rejected, and `self` is
// answered later.
static bool commit_to_core (struct commit_call *self)
{
    struct core_committed committed;
    struct store *store = self->store;
    int64_t now_us = store_now_us (store);
    enum core_result result = core_commit (store->core, &self->commit, now_us, &committed);
    self->ended_ms = now_us / 1000;
    if (result != CORE_DONE) {
        reject_commit (self, result, &committed);
        return false;
    }
    self->answer.seq = committed.seq;
    memcpy (self->epoch, core_epoch (store->core), strlen (core_epoch (store->core)) + 1);
    self->waiter = (struct waiter){.kind = WAITER_SURE, .release = on_commit_written};
    writer_wait_batch (store->writer, &self->waiter, clock_mono_us ());
    return true;
}

// -- data kept besides the plan: its stop state after the run, and its last failures

// Note what write_stop_and_failure is to write, once the commit is accepted.
static void prepare_stop_and_failure (struct commit_call *self, const struct store_commit *commit)
{
    const struct plan *plan = commit->plan;
    bool ends = commit->decision->commit == COMMIT_END;
    self->stop_state = ends ? STOP_NONE : plan_stop_state (plan);
    self->was_stopped = plan->stopped || plan->verdict != VERDICT_NONE;
    self->failure = commit->failed && !ends ? commit->record : (struct span){0};
}

static void write_stop_and_failure (const struct commit_call *self)
{
    const struct core_commit *commit = &self->commit;
    if (self->stop_state != STOP_NONE || self->was_stopped)
        store_write_stop_state (self->store, commit->target, commit->id, self->stop_state);
    if (self->failure.size)
        store_add_failure (self->store, commit->target, commit->id, self->ended_ms, self->failure);
}

// -- closing a vote: all votes are published, so they are read after the last one is written

// The votes in a reply of HGETALL as text: {"votes": {PARTICIPANT: [frame, ...]}}. Free it.
static char *votes_to_json (const redisReply *votes)
{
    json_t *all = json_object ();
    for (size_t i = 0; i + 1 < votes->elements; i += 2) {
        struct span name = reply_text (votes->element[i]),
                    text = reply_text (votes->element[i + 1]);
        json_t *frames = json_loadb ((const char *)text.data, text.size, 0, NULL);
        json_t *key = json_stringn ((const char *)name.data, name.size);
        if (key && frames)
            json_object_set (all, json_string_value (key), frames);
        json_decref (key);
        json_decref (frames);
    }
    json_t *object = json_pack ("{s:o}", "votes", all);
    char *text = json_write (object);
    json_decref (object);
    return text;
}

// All votes are read: now make the commit that was kept.
static void on_votes_read (void *owner, const redisReply *reply)
{
    struct commit_call *self = owner;
    if (!reply) { // the link is being destroyed; otherwise the call would wait for Redis
        self->answer.result = STORE_LOST;
        end_commit_call (self);
        return;
    }
    self->votes = reply_is_array (reply, 0) ? votes_to_json (reply) : NULL;
    if (!commit_to_core (self))
        return;
    write_stop_and_failure (self);
    if (self->called)
        submit_called_plan (self, self->called, self->uncalled);
    if (self->then)
        self->then (self->owner);
}

static void on_vote_written (struct waiter *waiter, enum written how, const char *error)
{
    struct commit_call *self = (struct commit_call *)waiter;
    if (how == WRITTEN)
        store_send_command (self->store, LINK_REPEAT, WORDS (TEXT ("HGETALL"), TEXT (self->work)),
                            on_votes_read, self);
    else
        on_commit_written (waiter, how, error);
}

// Keep a copy of the commit until the last vote is written and all votes are read.
static void wait_for_votes (struct commit_call *self, const struct store_commit *commit)
{
    struct core_commit *kept = &self->commit;
    self->texts = frames_copy (
        WORDS (kept->message, kept->record, kept->missed, kept->output, commit->uncalled));
    if (kept->message.data) // else it is unchanged
        kept->message = self->texts->at[0];
    kept->record = self->texts->at[1];
    self->failure = self->failure.size ? kept->record : self->failure;
    kept->missed = self->texts->at[2];
    kept->output = self->texts->at[3];
    self->uncalled = self->texts->at[4];
    self->called = commit->called ? plan_keep (commit->called) : NULL;
    self->then = commit->then;
    self->waiter = (struct waiter){.kind = WAITER_SURE, .release = on_vote_written};
    writer_wait_batch (self->store->writer, &self->waiter, clock_mono_us ());
}

// -- the separate history of callbacks: their attempts must not displace runs from the main history

void store_callback_try (struct store *self, uint64_t plan_id, struct span station,
                         struct span record)
{
    char id[IDENT_SIZE];
    store_put (self, WORDS (TEXT ("XADD"), TEXT (KEY_HISTORY_CALLBACKS), TEXT ("MAXLEN"),
                            TEXT ("~"), NUMBER (self->bounds.history_count), TEXT ("*"), TEXT ("p"),
                            TEXT (ident_text (plan_id, id)), TEXT ("s"), station, TEXT ("t"),
                            NUMBER (store_now_us (self) / 1000), TEXT ("r"), record));
}

// -- a commit

void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner)
{
    struct commit_call *call = memory_new (sizeof *call);
    call->store = self;
    call->reply = reply;
    call->owner = owner;
    call->answer.error = "";
    memcpy (call->target, commit->key_station.data, commit->key_station.size);
    bool has_work = commit->participant_count || commit->decision->open_poll;
    if (commit->decision->commit == COMMIT_END) // the plan no longer counts for its caller
        caller_field_make (self, commit->plan->caller, call->caller);
    if (has_work || commit->decision->close_poll)
        plan_key_make (call->work, KEY_WORK, commit->key_station, commit->plan->id);
    prepare_stop_and_failure (call, commit);
    call->commit = make_core_commit (self, commit, call->caller);
    call->commit.target = span_of (call->target, commit->key_station.size);
    if (commit->output.size)
        store_count_output (self, commit->output.size);
    if (commit->decision->close_poll) {
        write_participants (self, commit, call->work);
        wait_for_votes (call, commit);
        return;
    }
    if (!commit_to_core (call))
        return;
    if (has_work && commit->decision->commit != COMMIT_END)
        write_participants (self, commit, call->work);
    write_stop_and_failure (call);
    if (commit->callback && commit->record.size)
        store_callback_try (self, commit->plan->id, commit->key_station, commit->record);
    if (commit->called)
        submit_called_plan (call, commit->called, commit->uncalled);
    if (commit->then)
        commit->then (owner);
}

void store_extend_lease (struct store *self, struct span key_station, uint64_t plan_id,
                         uint64_t exec_id, int64_t lease_s)
{
    int64_t now_us = store_now_us (self);
    core_extend (self->core, key_station, plan_id, exec_id, now_us + lease_s * 1000000, now_us);
}
