// New plans.
#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

// Who waits for one of a call's plans.
struct submitter {
    store_submitted_fn *reply;
    void *owner;
};

static void answer_submitter (struct submitter *submitter, const struct store_submitted *answer)
{
    submitter->reply (submitter->owner, answer);
    free (submitter);
}

// A submission is acknowledged when the replicas have it as well.
static void on_submission_safe (void *owner, bool enough)
{
    answer_submitter (owner, &(struct store_submitted){.result = enough ? STORE_DONE : STORE_UNSURE,
                                                       .error = ""});
}

// One of the answers: 1, or an array that begins with a number.
static void read_answer (const redisReply *reply, struct store_submitted *answer,
                         struct reason *reason)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        return;
    int64_t how = reply_is_array (reply, 2) ? reply_number (reply->element[0]) : -1;
    answer->result = STORE_ERROR;
    answer->error = ODD_ANSWER;
    if (how == 2 && reply_is_array (reply, 3)) {
        struct span bound = reply_text (reply->element[1]), most = reply_text (reply->element[2]);
        reason_set (reason, "quota exceeded: %.*s plans (%.*s)", (int)most.size,
                    (const char *)most.data, (int)bound.size, (const char *)bound.data);
        answer->result = STORE_FULL;
        answer->error = reason->text;
    } else if (how == 0 && reply_is_array (reply, 3) && reply_text (reply->element[2]).data) {
        answer->result = STORE_HELD;
        answer->error = "";
        answer->message = reply_text (reply->element[2]);
    } else if (how == 3 && reply_text (reply->element[1]).size) {
        answer->error = reply->element[1]->str;
    }
}

// place.lua stored none, or is not for them: submit.lua looks at each of them.
static void look_at_each (struct store *self, struct batch *batch)
{
    for (size_t i = 0; i < batch_size (batch); i++) {
        struct batch *each = batches_item (self->looked_at, 0, batch_owner (batch, i));
        for (size_t k = 0; k < batch_arguments (batch, i); k++)
            batch_add (each, batch_argument (batch, i, k));
    }
}

static bool is_number (const redisReply *reply, int64_t number)
{
    return reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == number;
}

// Whether the answer says that all of them are stored.
static bool all_stored (const struct batch *batch, const redisReply *reply)
{
    return batch_script (batch) == SCRIPT_PLACE ? is_number (reply, 1)
                                                : reply_is_array (reply, 0) && !reply->elements;
}

void store_on_submitted (void *owner, struct batch *batch, const redisReply *reply)
{
    struct store *self = owner;
    if (batch_script (batch) == SCRIPT_PLACE && is_number (reply, 0)) {
        look_at_each (self, batch);
        return;
    }
    struct store_submitted all = {0};
    all.result = reply_result (reply, &all.error);
    bool each = batch_script (batch) == SCRIPT_SUBMIT && all.result == STORE_DONE &&
                reply_is_array (reply, 1) && reply->elements == batch_size (batch);
    if (all.result == STORE_DONE && !each && !all_stored (batch, reply))
        all = (struct store_submitted){.result = STORE_ERROR, .error = ODD_ANSWER};
    for (size_t i = 0; i < batch_size (batch); i++) {
        struct submitter *submitter = batch_owner (batch, i);
        struct store_submitted answer = all;
        struct reason reason;
        if (each)
            read_answer (reply->element[i], &answer, &reason);
        if (answer.result == STORE_DONE)
            link_replicate (self->link, on_submission_safe, submitter);
        else
            answer_submitter (submitter, &answer);
    }
}

static void add_bounds (const struct store *self, struct batch *batch)
{
    batch_add_number (batch, self->bounds.plans);
    batch_add_number (batch, self->bounds.plans_station);
    batch_add_number (batch, self->bounds.plans_caller);
    batch_add_number (batch, (int64_t)batch_size (batch));
}

// The station made the ids just now, so hardly anything can stand there: MSETNX stores the messages
// without a script, and all of them or none; the mark among them tells place.lua which.
static size_t place_head (struct store *self, struct batch *batch)
{
    struct gathering *gathering = &self->gathering;
    char first[IDENT_SIZE], last[IDENT_SIZE];
    snprintf (self->new_mark, sizeof self->new_mark, "%" PRIu64, ++self->placed);
    batch_before (batch, &(struct batch_before){
                             .script = SCRIPT_PLACE,
                             .command = "MSETNX",
                             .columns = "01",
                             .last = {span_text (self->new_key), span_text (self->new_mark)},
                         });
    id_digits (gathering->first_id, first);
    id_digits (gathering->last_id, last);
    batch_add_text (batch, KEY_TIME_SET);
    batch_add_text (batch, KEY_INDEX);
    batch_add_text (batch, self->new_key);
    add_bounds (self, batch);
    batch_add_text (batch, self->new_mark);
    batch_add_text (batch, first);
    batch_add_text (batch, last);
    tallies_add (&gathering->tallies, 1, batch);
    batch_columns (batch, gathering->classed ? "20|34|06" : "20|34");
    return 3;
}

size_t store_submit_head (void *owner, struct batch *batch)
{
    struct store *self = owner;
    struct gathering *gathering = &self->gathering;
    char first[IDENT_SIZE] = "", last[IDENT_SIZE] = "";
    if (gathering->grow && gathering->made_here)
        return place_head (self, batch);
    if (gathering->grow) {
        id_digits (gathering->first_id, first);
        id_digits (gathering->last_id, last);
    }
    batch_add_text (batch, KEY_TIME_SET);
    batch_add_text (batch, KEY_INDEX);
    add_bounds (self, batch);
    batch_add_text (batch, gathering->made_here ? "made" : "any");
    batch_add_text (batch, first);
    batch_add_text (batch, last);
    tallies_add (&gathering->tallies, 1, batch);
    if (gathering->classed)
        batch_columns (batch, gathering->made_here ? "0|01|20|34|06" : "0|01|20|34|5|06");
    else
        batch_columns (batch, gathering->made_here ? "0|01|20|34" : "0|01|20|34|5");
    return 2;
}

size_t store_look_at_head (void *owner, struct batch *batch)
{
    batch_add_text (batch, KEY_TIME_SET);
    batch_add_text (batch, KEY_INDEX);
    const struct store *self = owner;
    add_bounds (self, batch);
    batch_add_text (batch, "each");
    batch_add_number (batch, self->bounds.history_count);
    batch_add_text (batch, "");
    batch_add_number (batch, 0);
    batch_columns (batch, "0|01|20|34|06|7");
    return 2;
}

static void note_id (struct gathering *self, bool first, uint64_t id, bool made_here)
{
    if (first)
        *self = (struct gathering){.tallies = self->tallies, .first_id = id};
    self->grow = first || (self->grow && id > self->last_id);
    self->made_here = (first || self->made_here) && made_here;
    self->last_id = id;
}

// A call of many, all of which are queued, and have nothing for the history.
static struct batch *queued_item (struct store *self, const struct store_submission *submission,
                                  const char *class, struct submitter *submitter)
{
    const struct plan *plan = submission->plan;
    struct gathering *gathering = &self->gathering;
    if (tallies_full (&gathering->tallies))
        batches_send (self->submissions);
    struct batch *batch = batches_item (self->submissions, plan->id, submitter);
    note_id (gathering, batch_size (batch) == 1, plan->id, submission->made_here);
    store_tally (self, &gathering->tallies, plan->station, plan);
    gathering->classed = gathering->classed || class[0];
    return batch;
}

void store_submit (struct store *self, const struct store_submission *submission,
                   store_submitted_fn *reply, void *owner)
{
    const struct plan *plan = submission->plan;
    struct submitter *submitter = memory_new (sizeof *submitter);
    *submitter = (struct submitter){reply, owner};
    char member[MEMBER_MAX], class[CLASS_MAX];
    member_make (member, plan->station, plan->id);
    class_make (class, plan);
    bool queued = plan_is_queued (plan);
    bool plain = queued && !submission->missed.size;
    struct batch *batch = plain ? queued_item (self, submission, class, submitter)
                                : batches_item (self->looked_at, 0, submitter);
    batch_add_text (batch, member);
    store_add_message (self, batch, plan);
    if (queued)
        batch_add_number (batch, submission->due ? submission->due : plan_due_time (plan));
    else
        batch_add_text (batch, "");
    batch_add_text (batch, "0");
    store_add_entry (batch, plan->station, plan->id);
    store_add_work (batch, plan->station, plan->id);
    batch_add_text (batch, class);
    batch_add (batch, submission->missed);
}
