// What became of runs is written.
#include <inttypes.h>
#include <stdlib.h>

#include "decimal.h"
#include "json.h"
#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

static const char *const commit_modes[COMMITS] = {
    [COMMIT_LEASE] = "lease", [COMMIT_RETRY] = "retry", [COMMIT_DOUBT] = "doubt",
    [COMMIT_NEXT] = "next",   [COMMIT_PARK] = "park",   [COMMIT_END] = "end",
};

static const char *const broadcast_modes[] = {
    [BROADCAST_NONE] = "none", [BROADCAST_RESULT] = "result", [BROADCAST_FAILURE] = "failure"};

// Who waits for one of a call's runs.
struct committer {
    store_committed_fn *reply;
    void *owner;
    struct store *store;
    struct plan *plan; // kept where it is needed once more; else NULL
    char key_station[STATION_NAME_MAX + 1];
    uint64_t exec_id;
    bool sign_of_life; // nothing is lost when a later write of the run takes its place
    bool writes;       // the message, too
    char when[DECIMAL_SIZE];
    bool as_claimed;               // see store_commit
    char decided_on[DECIMAL_SIZE]; // the revision
};

static void answer_committer (struct committer *committer, const struct store_committed *answer)
{
    committer->reply (committer->owner, answer);
    plan_destroy (&committer->plan);
    free (committer);
}

// One of the answers: seq or -1, {message}, {seq, votes}.
static void read_answer (const redisReply *reply, struct store_committed *answer)
{
    const redisReply *first = reply_is_array (reply, 1) ? reply->element[0] : reply;
    if (first->type != REDIS_REPLY_INTEGER &&
        (first == reply || first->type != REDIS_REPLY_STRING)) {
        answer->result = STORE_ERROR;
        answer->error = ODD_ANSWER;
        return;
    }
    if (first->type == REDIS_REPLY_STRING) {
        answer->result = STORE_CHANGED;
        answer->message = reply_text (first);
        return;
    }
    answer->seq = reply_number (first);
    if (answer->seq < 0) {
        answer->result = STORE_HELD;
        answer->seq = 0;
    } else if (reply_is_array (reply, 2)) {
        answer->votes = reply_is_array (reply->element[1], 0) ? reply->element[1] : NULL;
        answer->full =
            reply_is_array (reply, 3) ? reply_text (reply->element[2]) : (struct span){0};
    }
}

static void remember_seq (struct store *self, const struct store_committed *answer)
{
    if (answer->seq <= 0)
        return;
    self->seq = answer->seq;
    if (strcmp (self->epoch, answer->epoch) != 0)
        snprintf (self->epoch, sizeof self->epoch, "%s", answer->epoch);
}

enum { COMMIT_HEAD = 2 }; // answers before those of the runs

void store_on_committed (void *owner, struct batch *batch, const redisReply *reply)
{
    struct store *self = owner;
    struct store_committed all = {.epoch = ""};
    all.result = reply_result (reply, &all.error);
    bool good =
        all.result == STORE_DONE && reply_is_array (reply, COMMIT_HEAD + batch_size (batch));
    if (good) {
        store_learn_time (self, batch_asked_us (batch), reply_time_us (reply->element[0]));
        all.epoch = reply_text (reply->element[1]).size ? reply->element[1]->str : "";
    } else if (all.result == STORE_DONE) {
        all.result = STORE_ERROR;
        all.error = ODD_ANSWER;
    }
    for (size_t i = 0; i < batch_size (batch); i++) {
        struct store_committed answer = all;
        if (good)
            read_answer (reply->element[COMMIT_HEAD + i], &answer);
        remember_seq (self, &answer);
        answer_committer (batch_owner (batch, i), &answer);
    }
}

size_t store_commit_head (void *owner, struct batch *batch)
{
    struct store *self = owner;
    const char *const keys[] = {KEY_TIME_SET, KEY_RUNS, KEY_INDEX,
                                KEY_META,     KEY_TOLD, self->sent_key};
    enum { KEYS = sizeof keys / sizeof *keys };
    for (size_t i = 0; i < KEYS; i++)
        batch_add_text (batch, keys[i]);
    batch_add_number (batch, (int64_t)++self->commits);
    batch_add_number (batch, self->bounds.history_count);
    return KEYS;
}

char *store_votes_json (const redisReply *votes)
{
    json_t *object = json_object (), *all = json_object ();
    for (size_t i = 0; votes && i + 1 < votes->elements; i += 2) {
        struct span name = reply_text (votes->element[i]),
                    text = reply_text (votes->element[i + 1]);
        json_t *frames = json_loadb ((const char *)text.data, text.size, 0, NULL);
        json_t *key = json_stringn ((const char *)name.data, name.size);
        if (key && frames)
            json_object_set (all, json_string_value (key), frames);
        json_decref (key);
        json_decref (frames);
    }
    json_object_set_new (object, "votes", all);
    char *text = json_write (object);
    json_decref (object);
    return text;
}

static char *work_json (const struct participant *participant)
{
    json_t *array = json_array ();
    for (size_t i = 0; i < participant->count; i++)
        json_array_append_new (array, json_from_frame (participant->frames[i]));
    char *text = json_write (array);
    json_decref (array);
    return text;
}

// Seconds from now, or the score.
static void commit_when (const struct store_commit *commit, char out[DECIMAL_SIZE])
{
    const struct decision *decision = commit->decision;
    if (decision->unqueued || decision->commit == COMMIT_END)
        *out = '\0';
    else if (decision->commit == COMMIT_NEXT)
        decimal_text (plan_due_time (commit->plan), out);
    else if (decision->commit == COMMIT_LEASE)
        decimal_text (commit->lease_s, out);
    else
        snprintf (out, DECIMAL_SIZE, "%.3f", (double)decision->delay_ms / 1000);
}

static const char *commit_mode (const struct decision *decision)
{
    bool outlived = decision->commit == COMMIT_RETRY && decision->outlived;
    return outlived ? "retry+" : commit_modes[decision->commit];
}

// What is unusual about what follows: votes, and a plan that is placed with the outcome.
static const char *more_mode (const struct store_commit *commit)
{
    static const char *const modes[2][2][2] = {{{"", "p"}, {"c", "cp"}},
                                               {{"o", "op"}, {"oc", "ocp"}}};
    const struct decision *decision = commit->decision;
    return modes[decision->open_poll][decision->close_poll][commit->called != NULL];
}

// What a commit says of a run, beside its plan and its number.
struct commit_words {
    const char *mode, *when, *tell, *more;
    bool writes; // the message as it is to stand there; else it stays or goes
    bool waits_for_target;
    struct span record, missed, output;
};

static void add_words (struct batch *batch, const struct committer *committer,
                       const struct plan *plan, const struct commit_words *words)
{
    struct store *self = committer->store;
    store_add_plan (self, batch, span_text (committer->key_station), plan);
    batch_add_number (batch, (int64_t)committer->exec_id);
    batch_add_text (batch, words->mode);
    batch_add_text (batch, words->when);
    if (words->writes)
        store_add_message (self, batch, plan);
    else
        batch_add_text (batch, "");
    batch_add_text (batch, committer->decided_on);
    batch_add_text (batch, words->tell);
    batch_add_text (batch, words->waits_for_target ? "1" : "0");
    batch_add (batch, words->record);
    batch_add (batch, words->missed);
    batch_add (batch, words->output);
    batch_add_text (batch, words->more);
}

// A sign of life is put into words when the call goes out: mostly the result has taken its place by
// then. Not that of a large plan: its words count in the call's size.
enum { LATE_BYTES = 65536 };

void store_commit_late (void *item_owner, struct batch *batch)
{
    const struct committer *committer = item_owner;
    add_words (batch, committer, committer->plan,
               &(struct commit_words){.mode = commit_modes[COMMIT_LEASE],
                                      .when = committer->when,
                                      .tell = broadcast_modes[BROADCAST_NONE],
                                      .more = "",
                                      .writes = committer->writes});
    batch_add_number (batch, 0); // participants
}

enum { CALLED_TEXTS = 9 }; // commit.lua, PLACED

// A plan that is placed with the outcome, as submit.lua has new ones, and the bounds of all.
static void add_called (struct store *self, struct batch *batch, const struct store_commit *commit)
{
    const struct plan *plan = commit->called;
    char member[MEMBER_MAX], class[CLASS_MAX];
    member_make (member, plan->station, plan->id);
    class_make (class, plan);
    batch_add_text (batch, member);
    store_add_message (self, batch, plan);
    batch_add_number (batch, plan_due_time (plan));
    store_add_entry (batch, plan->station, plan->id);
    batch_add_text (batch, class);
    batch_add_number (batch, self->bounds.plans);
    batch_add_number (batch, self->bounds.plans_station);
    batch_add_number (batch, self->bounds.plans_caller);
    batch_add (batch, commit->uncalled);
}

static void add_participants (struct batch *batch, const struct store_commit *commit)
{
    batch_add_number (batch,
                      2 * (int64_t)commit->participant_count + (commit->called ? CALLED_TEXTS : 0));
    for (size_t i = 0; i < commit->participant_count; i++) {
        char *text = work_json (&commit->participants[i]);
        batch_add (batch, commit->participants[i].name);
        batch_add_text (batch, text);
        free (text);
    }
}

static struct committer *committer_new (struct store *store, const struct store_commit *commit,
                                        store_committed_fn *reply, void *owner)
{
    const struct decision *decision = commit->decision;
    struct committer *self = memory_new (sizeof *self);
    *self = (struct committer){.store = store,
                               .reply = reply,
                               .owner = owner,
                               .exec_id = commit->exec_id,
                               .as_claimed = commit->as_claimed};
    memcpy (self->key_station, commit->key_station.data, commit->key_station.size);
    self->sign_of_life = decision->commit == COMMIT_LEASE && !commit->participant_count &&
                         decision->broadcast == BROADCAST_NONE && !commit->record.size &&
                         !*more_mode (commit) && decision->waiting != WAITING_FOR_TARGET;
    self->writes = !commit->keep_message && !decision->unchanged && decision->commit != COMMIT_END;
    commit_when (commit, self->when);
    if (commit->revision != REVISION_ANY)
        decimal_text (commit->revision, self->decided_on);
    return self;
}

// A plan stands in a call once: what is there already goes out first.
static void send_before (struct store *self, uint64_t plan_id)
{
    if (batches_find (self->commits_gathered, plan_id))
        batches_send (self->commits_gathered);
    if (batches_find (self->ends, plan_id))
        batches_send (self->ends);
}

// A sign of life that waits is outdone by what was decided behind it of the same run, which is then
// decided on what the sign of life was.
static void outdo (struct store *self, uint64_t plan_id, struct committer *committer)
{
    struct committer *before = batches_find (self->commits_gathered, plan_id);
    if (!before || !before->sign_of_life || before->exec_id != committer->exec_id)
        return;
    memcpy (committer->decided_on, before->decided_on, sizeof committer->decided_on);
    committer->as_claimed = before->as_claimed;
    batches_drop (self->commits_gathered, plan_id);
    answer_committer (before, &(struct store_committed){.result = STORE_DONE, .epoch = ""});
}

// -- plans that are over, the usual way

// Whether end.lua may do it: all that it looks at is known here.
static bool is_plain_end (const struct store_commit *commit)
{
    const struct decision *decision = commit->decision;
    return decision->commit == COMMIT_END && decision->broadcast == BROADCAST_RESULT &&
           commit->record.size && !commit->missed.size && !*more_mode (commit) && !commit->again &&
           !commit->has_team && commit->revision != REVISION_ANY;
}

// An item's arguments; what the history gets is sent as one.
enum { END_OUTCOME = 3, END_RECORD, END_OUTPUT };

static void add_outcomes (struct batch *batch)
{
    size_t count = batch_size (batch), size = 0;
    struct span *parts = memory_new (2 * count * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        parts[2 * i] = batch_argument (batch, i, END_OUTCOME);
        parts[2 * i + 1] = batch_argument (batch, i, END_RECORD);
    }
    char *packed = store_outcomes (parts, count, &size);
    batch_add (batch, span_of (packed, size));
    free (packed);
    free (parts);
}

static void add_outputs (struct batch *batch)
{
    size_t count = batch_size (batch), size = 0, texts = 0;
    struct span *outputs = memory_new (count * sizeof *outputs);
    for (size_t i = 0; i < count; i++) {
        struct span output = batch_argument (batch, i, END_OUTPUT);
        if (output.size)
            outputs[texts++] = output;
    }
    char *packed = store_outputs (outputs, texts, &size);
    batch_add (batch, span_of (packed, texts ? size : 0));
    free (packed);
    free (outputs);
}

size_t store_end_head (void *owner, struct batch *batch)
{
    struct store *self = owner;
    const char *const keys[] = {KEY_TIME_SET, KEY_RUNS, KEY_INDEX, KEY_META, self->sent_key};
    enum { KEYS = sizeof keys / sizeof *keys };
    for (size_t i = 0; i < KEYS; i++)
        batch_add_text (batch, keys[i]);
    batch_add_number (batch, (int64_t)++self->commits);
    batch_add_number (batch, self->bounds.history_count);
    batch_add_number (batch, (int64_t)batch_size (batch));
    add_outcomes (batch);
    add_outputs (batch);
    tallies_add (&self->ending, -1, batch);
    batch_columns (batch, "0|1|2|6");
    return KEYS;
}

// The run in hand, as plan:run has it.
static void run_make (char out[2 * DECIMAL_SIZE], const struct committer *committer)
{
    static const char as_given[] = "="; // plan.lua
    size_t size = decimal_text ((int64_t)committer->exec_id, out);
    const char *revision = committer->as_claimed ? as_given : committer->decided_on;
    out[size] = ' ';
    memcpy (out + size + 1, revision, strlen (revision) + 1);
}

static void add_end (struct store *self, struct committer *committer,
                     const struct store_commit *commit)
{
    char member[MEMBER_MAX], run[2 * DECIMAL_SIZE];
    size_t outcome_size;
    const struct plan *plan = committer->plan;
    struct span station = span_text (committer->key_station);
    if (tallies_full (&self->ending))
        batches_send (self->ends);
    struct batch *batch = batches_item (self->ends, plan->id, committer);
    if (commit->others_follow)
        batch_may_wait (batch);
    store_tally (self, &self->ending, station, plan);
    member_make (member, station, plan->id);
    run_make (run, committer);
    batch_add_text (batch, member);
    batch_add_text (batch, run);
    store_add_entry (batch, station, plan->id);
    char *outcome = store_outcome (plan->id, station, commit->record, &outcome_size);
    batch_add (batch, span_of (outcome, outcome_size));
    free (outcome);
    batch_add (batch, commit->record);
    batch_add (batch, commit->output);
    if (!plan->first_run || plan->poll)
        store_add_work (batch, station, plan->id);
}

// Not as it was expected: the same by the way that looks at each. A sign of life that waits now may
// be decided on another message than this was, so it is not outdone.
static void end_by_commit (struct committer *committer, struct span record, struct span output)
{
    struct store *self = committer->store;
    send_before (self, committer->plan->id);
    struct batch *batch = batches_item (self->commits_gathered, committer->plan->id, committer);
    add_words (batch, committer, committer->plan,
               &(struct commit_words){.mode = commit_modes[COMMIT_END],
                                      .when = "",
                                      .tell = broadcast_modes[BROADCAST_RESULT],
                                      .more = "",
                                      .record = record,
                                      .output = output});
    batch_add_number (batch, 0);
}

void store_on_ended (void *owner, struct batch *batch, const redisReply *reply)
{
    struct store *self = owner;
    struct store_committed answer = {.epoch = ""};
    answer.result = reply_result (reply, &answer.error);
    bool written = answer.result == STORE_DONE && reply_is_array (reply, 3);
    int64_t first = written ? reply_number (reply->element[2]) : 0;
    if (answer.result == STORE_DONE &&
        (!reply_is_array (reply, 1) ||
         (written && (first <= 0 || first > INT64_MAX - (int64_t)batch_size (batch))))) {
        answer.result = STORE_ERROR;
        answer.error = ODD_ANSWER;
        written = false;
    }
    if (answer.result == STORE_DONE)
        store_learn_time (self, batch_asked_us (batch), reply_time_us (reply->element[0]));
    if (written)
        answer.epoch = reply_text (reply->element[1]).size ? reply->element[1]->str : "";
    for (size_t i = 0; i < batch_size (batch); i++) {
        struct committer *committer = batch_owner (batch, i);
        answer.seq = written ? first + (int64_t)i : 0;
        remember_seq (self, &answer);
        if (written || answer.result != STORE_DONE)
            answer_committer (committer, &answer);
        else
            end_by_commit (committer, batch_argument (batch, i, END_RECORD),
                           batch_argument (batch, i, END_OUTPUT));
    }
}

// -- a commit

void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner)
{
    const struct decision *decision = commit->decision;
    struct committer *committer = committer_new (self, commit, reply, owner);
    store_outputs_written (self, commit->output.size);
    outdo (self, commit->plan->id, committer);
    send_before (self, commit->plan->id);
    if (is_plain_end (commit)) {
        committer->plan = plan_keep (commit->plan);
        add_end (self, committer, commit);
        return;
    }
    struct batch *batch = batches_item (self->commits_gathered, commit->plan->id, committer);
    if (committer->sign_of_life || (decision->commit == COMMIT_NEXT && commit->others_follow))
        batch_may_wait (batch);
    if (committer->sign_of_life && commit->plan->store_size <= LATE_BYTES) {
        committer->plan = plan_keep (commit->plan);
        batch_is_late (batch);
        return;
    }
    add_words (batch, committer, commit->plan,
               &(struct commit_words){.mode = commit_mode (decision),
                                      .when = committer->when,
                                      .tell = broadcast_modes[decision->broadcast],
                                      .more = more_mode (commit),
                                      .writes = committer->writes,
                                      .waits_for_target = decision->waiting == WAITING_FOR_TARGET,
                                      .record = commit->record,
                                      .missed = commit->missed,
                                      .output = commit->output});
    add_participants (batch, commit);
    if (commit->called)
        add_called (self, batch, commit);
}
