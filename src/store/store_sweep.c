// Sweeps the stored plans in pages, and wakes plans that wait for a target.
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

// -- the sweep: removes index entries without a message, and returns plans outside the queue to the
// caller, who decides by their state

enum { SWEEP_MAX = 256 };

struct queue_sweep {
    struct store *store;
    uint64_t resets;
    size_t count;
    struct swept_plan {
        uint64_t id;
        char target[STATION_NAME_MAX + 1];
        bool indexed; // it is still in the index
        bool queued;  // it is in the queue
        bool stopped; // it is in the list of stopped plans, or may be
    } plans[SWEEP_MAX];
    size_t answered; // how many keys were read
    int64_t limit;
    bool is_last;    // this page is the last one
    bool has_scores; // the scores were read
    struct store_swept answer;
    store_swept_fn *reply;
    void *owner;
};

static void end_sweep (struct queue_sweep *self, enum store_result result)
{
    self->answer.result = result;
    self->reply (self->owner, &self->answer);
    free (self);
}

// End the sweep if an answer is missing or outdated. Returns whether it ended.
static bool end_sweep_on_error (struct queue_sweep *self, const redisReply *reply)
{
    bool lost = !self->has_scores || !reply_is_array (reply, self->count) ||
                core_resets (self->store->core) != self->resets;
    if (lost)
        end_sweep (self, reply ? STORE_ERROR : STORE_LOST);
    return lost;
}

// Repair what is stored about a plan, and add it to `outside` if it is not in the queue.
static void check_swept_plan (struct queue_sweep *self, size_t index, struct span message,
                              struct store_outside *outside)
{
    const struct swept_plan *plan = &self->plans[index];
    struct core_view view;
    struct core *core = self->store->core;
    bool known = core_view (core, plan->id, &view);
    struct span target = span_text (plan->target);
    if (known && (view.gone || !view.settled))
        return; // its write is pending
    if (!message.data && !plan->indexed)
        return; // it was removed since the page was read
    if (!message.data) {
        core_remove (core, &(struct core_removal){.target = target, .id = plan->id},
                     store_now_us (self->store));
        if (plan->stopped)
            store_write_stop_state (self->store, target, plan->id, STOP_NONE);
        self->answer.repaired++;
    } else if (!plan->queued) {
        // List a plan that was stopped by a version without these lists, or by hand.
        enum stop_state stop_state = message_stop_state (message);
        if (stop_state != STOP_NONE && !plan->stopped)
            store_write_stop_state (self->store, target, plan->id, stop_state);
        outside[self->answer.count++] =
            (struct store_outside){.station = target,
                                   .plan_id = plan->id,
                                   .message = message,
                                   .exec_id = known ? view.exec_id : 0,
                                   .no_status = known && view.no_status};
    }
}

// All answers have come: check each plan, and answer.
static void on_sweep_messages (void *owner, const redisReply *reply)
{
    struct queue_sweep *self = owner;
    struct store_outside outside[SWEEP_MAX];
    if (end_sweep_on_error (self, reply))
        return;
    self->answer.outside = outside;
    for (size_t i = 0; i < self->count; i++)
        check_swept_plan (self, i, reply_text (reply->element[i]), outside);
    self->answer.last = self->is_last || !self->count ? 0 : self->plans[self->count - 1].id;
    end_sweep (self, STORE_DONE);
}

// Note which plans are in the key of this answer: the index, the queue, the list of stopped plans.
static void on_sweep_members (void *owner, const redisReply *reply)
{
    struct queue_sweep *self = owner;
    bool known = reply_is_array (reply, self->count);
    size_t key = self->answered++;
    self->has_scores = self->has_scores || (key == 1 && known);
    for (size_t i = 0; i < self->count; i++) {
        bool is_in = known && reply_text (reply->element[i]).size > 0;
        if (key == 0)
            self->plans[i].indexed = is_in;
        else if (key == 1)
            self->plans[i].queued = is_in;
        else
            self->plans[i].stopped = is_in || !known;
    }
}

// Send all commands at once, so that the answers are consistent.
static void read_swept_plans (struct queue_sweep *self)
{
    char (*members)[PLAN_KEY_SIZE] = memory_resize (NULL, (self->count + 1) * sizeof *members);
    struct span words[SWEEP_MAX + 2] = {TEXT ("ZMSCORE"), TEXT (KEY_INDEX)};
    for (size_t i = 0; i < self->count; i++) {
        index_entry_make (members[i], span_text (self->plans[i].target), self->plans[i].id);
        words[2 + i] = span_text (members[i]);
    }
    store_get (self->store, words, 2 + self->count, on_sweep_members, self);
    words[1] = TEXT (KEY_TIME_SET);
    for (size_t i = 0; i < self->count; i++) {
        plan_key_make (members[i], KEY_MESSAGE, span_text (self->plans[i].target),
                       self->plans[i].id);
        words[2 + i] = span_text (members[i]);
    }
    store_get (self->store, words, 2 + self->count, on_sweep_members, self);
    words[1] = TEXT (KEY_STOPPED);
    store_get (self->store, words, 2 + self->count, on_sweep_members, self);
    words[1] = TEXT ("MGET");
    store_get (self->store, words + 1, 1 + self->count, on_sweep_messages, self);
    free (members);
}

// Process a page of the index: remove invalid entries, and read what is stored about the others.
static void on_sweep_page (void *owner, const redisReply *reply)
{
    struct queue_sweep *self = owner;
    if (!reply_is_array (reply, 0)) {
        end_sweep (self, reply ? STORE_ERROR : STORE_LOST);
        return;
    }
    self->is_last = reply->elements < (size_t)self->limit;
    for (size_t i = 0; i < reply->elements && self->count < SWEEP_MAX; i++) {
        struct span target, entry = reply_text (reply->element[i]);
        struct swept_plan *plan = &self->plans[self->count];
        if (!index_entry_parse (entry, &plan->id, &target) || !station_name_valid (target)) {
            store_put (self->store, WORDS (TEXT ("ZREM"), TEXT (KEY_INDEX), entry));
            self->answer.repaired++;
            continue;
        }
        copy_text (plan->target, sizeof plan->target, target);
        self->count++;
    }
    if (self->count)
        read_swept_plans (self);
    else
        end_sweep (self, STORE_DONE);
}

void store_sweep (struct store *self, uint64_t after, int64_t limit, store_swept_fn *reply,
                  void *owner)
{
    char id[IDENT_SIZE] = "", from[IDENT_SIZE + 2] = "-";
    struct queue_sweep *sweeping = memory_new (sizeof *sweeping);
    sweeping->store = self;
    sweeping->resets = core_resets (self->core);
    sweeping->limit = limit < SWEEP_MAX ? limit : SWEEP_MAX;
    sweeping->reply = reply;
    sweeping->owner = owner;
    id_write_digits (after, id);
    if (after)
        snprintf (from, sizeof from, "(%s;", id);
    if (!after) {
        store_outputs_trim (self);
        store_history_trim (self);
    }
    store_get (self,
               WORDS (TEXT ("ZRANGEBYLEX"), TEXT (KEY_INDEX), TEXT (from), TEXT ("+"),
                      TEXT ("LIMIT"), TEXT ("0"), NUMBER (sweeping->limit)),
               on_sweep_page, sweeping);
}

// -- plans that wait for a target

struct wake_batch {
    struct store *store;
    char target[STATION_NAME_MAX + 1], key[STATION_NAME_MAX + 16];
    uint64_t number; // from core_has_waiting: whether another plan began to wait since
    size_t limit, count;
    uint64_t ids[SWEEP_MAX];
    int64_t scores_us[SWEEP_MAX]; // -1 = not in the queue
    bool has_scores;
    store_done_fn *reply;
    void *owner;
};

static void answer_wake (struct wake_batch *self, enum store_result result)
{
    self->reply (self->owner, result, "");
    free (self);
}

// Answer that the plans are woken; after a full batch there may be more.
static void on_woken (void *owner, enum store_result result, const char *error)
{
    struct wake_batch *self = owner;
    bool more = self->count == self->limit;
    (void)error;
    answer_wake (self, result == STORE_DONE && more ? STORE_HELD : result);
}

static void on_wake_scores (void *owner, const redisReply *reply)
{
    struct wake_batch *self = owner;
    self->has_scores = reply_is_array (reply, self->count);
    for (size_t i = 0; self->has_scores && i < self->count; i++)
        self->scores_us[i] = reply_score_us (reply->element[i]);
}

// Wake the plans. If plan:class has a wrong type, no plan has a class.
static void on_wake_classes (void *owner, const redisReply *reply)
{
    struct wake_batch *self = owner;
    struct store *store = self->store;
    bool has_classes = reply_is_array (reply, self->count);
    if (!reply || !self->has_scores || !store_is_serving (store)) {
        answer_wake (self, STORE_LOST);
        return;
    }
    for (size_t i = 0; i < self->count; i++) {
        const struct core_member member = {.target = span_text (self->target),
                                           .id = self->ids[i],
                                           .score_us = self->scores_us[i],
                                           .class = has_classes ? reply_text (reply->element[i])
                                                                : (struct span){0}};
        core_wake (store->core, &member, store_now_us (store));
    }
    store_reply_when_written (store, WAITER_SURE, on_woken, self);
}

// The first plans that wait for the target are read: read their scores and classes, to wake them.
static void on_waiting_plans (void *owner, const redisReply *reply)
{
    struct wake_batch *self = owner;
    if (!reply_is_array (reply, 0)) {
        store_replace_wrong_key (self->store, self->key, reply);
        answer_wake (self, reply ? STORE_ERROR : STORE_LOST);
        return;
    }
    if (!reply->elements) {
        core_clear_waiting (self->store->core, span_text (self->target), self->number);
        answer_wake (self, STORE_DONE);
        return;
    }
    struct span words[SWEEP_MAX + 2] = {TEXT ("ZMSCORE"), TEXT (KEY_TIME_SET)};
    for (size_t i = 0; i < reply->elements && self->count < self->limit; i++) {
        struct span target, member = reply_text (reply->element[i]);
        if (message_key_parse (member, &target, &self->ids[self->count]) &&
            span_is (target, self->target))
            words[2 + self->count++] = member;
        else
            store_put (self->store, WORDS (TEXT ("ZREM"), TEXT (self->key), member));
    }
    if (!self->count) {
        answer_wake (self, STORE_DONE);
        return;
    }
    store_get (self->store, words, 2 + self->count, on_wake_scores, self);
    words[0] = TEXT ("HMGET");
    words[1] = TEXT (KEY_CLASS);
    store_get (self->store, words, 2 + self->count, on_wake_classes, self);
}

void store_wake_waiting (struct store *self, const char *station, int64_t limit,
                         store_done_fn *reply, void *owner)
{
    uint64_t number;
    if (!store_is_serving (self) || !core_has_waiting (self->core, span_text (station), &number)) {
        store_reply_at_turn_end (self, store_is_serving (self) ? STORE_DONE : STORE_LOST, "", reply,
                                 owner);
        return;
    }
    struct wake_batch *waking = memory_new (sizeof *waking);
    *waking = (struct wake_batch){.store = self,
                                  .number = number,
                                  .limit = limit < SWEEP_MAX ? (size_t)limit : SWEEP_MAX,
                                  .reply = reply,
                                  .owner = owner};
    snprintf (waking->target, sizeof waking->target, "%s", station);
    snprintf (waking->key, sizeof waking->key, KEY_WAIT "%s", station);
    store_get (self,
               WORDS (TEXT ("ZRANGE"), TEXT (waking->key), TEXT ("0"),
                      NUMBER ((int64_t)waking->limit - 1)),
               on_waiting_plans, waking);
}
