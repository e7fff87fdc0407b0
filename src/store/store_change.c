// Stores a plan that an admin command changed, if it was not changed since it was read; removes
// plans.
#include <stdlib.h>

#include "frames.h"
#include "memory.h"
#include "store_private.h"

// -- change

struct change_call {
    struct store *store;
    struct core_change change;
    struct frames *texts; // texts of the change
    char caller[CALLER_FIELD_MAX], caller_before[CALLER_FIELD_MAX];
    enum stop_state stop_state_before;
    bool (*first) (void *owner);
    store_done_fn *reply;
    void *owner;
};

static void change_call_free (struct change_call *self)
{
    free (self->texts);
    free (self);
}

static void answer_change (struct change_call *self, enum store_result result, const char *error)
{
    self->reply (self->owner, result, error);
    change_call_free (self);
}

// Make the change, and answer when it is written.
static void change_in_core (struct change_call *self)
{
    static const enum store_result results[] = {
        [CORE_DONE] = STORE_DONE, [CORE_NONE] = STORE_NONE, [CORE_CHANGED] = STORE_CHANGED};
    struct store *store = self->store;
    if (self->first && !self->first (self->owner)) {
        answer_change (self, STORE_NONE, "");
        return;
    }
    enum core_result result = core_change (store->core, &self->change, store_now_us (store));
    if (result != CORE_DONE) {
        answer_change (self, results[result], "");
        return;
    }
    enum stop_state stop_state = message_stop_state (self->change.message);
    if (stop_state != self->stop_state_before)
        store_write_stop_state (store, self->change.target, self->change.id, stop_state);
    store_reply_when_written (store, WAITER_CLIENT, self->reply, self->owner);
    change_call_free (self);
}

// Compare the plan with the stored one, which is read from Redis as it may have been edited or
// replaced. If the core has its message, that is newer.
static void on_stored_message (void *owner, const redisReply *reply)
{
    struct change_call *self = owner;
    struct store *store = self->store;
    if (!reply || !store_is_serving (store)) {
        answer_change (self, STORE_LOST, "");
        return;
    }
    struct span message = reply_text (reply);
    struct core_view view;
    bool known = core_view (store->core, self->change.id, &view) &&
                 span_equal (view.target, self->change.target) && (view.message.data || view.gone);
    if (known && view.gone) {
        answer_change (self, STORE_NONE, "");
        return;
    }
    message = known ? view.message : message;
    if (!message.data)
        answer_change (self, STORE_NONE, "");
    else if (message_number (message, "revision") != self->change.was_revision)
        answer_change (self, STORE_CHANGED, "");
    else {
        self->stop_state_before = message_stop_state (message);
        message_caller_field (store, message, self->caller_before);
        self->change.caller_before = span_text (self->caller_before);
        change_in_core (self);
    }
}

void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner)
{
    static const int places[] = {[REQUEUE_KEEP] = CORE_KEEP,
                                 [REQUEUE_TIME] = CORE_AT,
                                 [REQUEUE_NOW] = CORE_AT,
                                 [REQUEUE_LEASE] = CORE_AT_LEASE,
                                 [REQUEUE_OUT] = CORE_OUT};
    const struct plan *plan = change->plan;
    int64_t lease_us = change->queue == REQUEUE_LEASE ? change->lease_s * 1000000 : 0;
    struct change_call *change_call = memory_new (sizeof *change_call);
    change_call->store = self;
    change_call->first = change->first;
    change_call->reply = reply;
    change_call->owner = owner;
    change_call->texts =
        frames_copy (WORDS (change->key_station, write_plan_message (self, plan), change->missed,
                            plan->policy ? span_text (plan->policy->group) : (struct span){0}));
    const struct span *texts = change_call->texts->at;
    change_call->change = (struct core_change){
        .target = texts[0],
        .id = plan->id,
        .message = texts[1],
        .revision = plan->revision,
        .was_revision = change->revision,
        .exec_id = change->exec_id,
        .place = places[change->queue],
        .due_us = change->queue == REQUEUE_TIME ? plan_due_time (plan) * 1000000
                                                : store_now_us (self) + lease_us,
        .resets_team = change->resets_team,
        .priority = plan->policy ? (int)plan->policy->priority : 0,
        .group = texts[3],
        .missed = texts[2]};
    caller_field_make (self, plan->caller, change_call->caller);
    change_call->change.caller = span_text (change_call->caller);
    store_get (self, WORDS (TEXT ("GET"), PLAN_KEY (KEY_MESSAGE, change->key_station, plan->id)),
               on_stored_message, change_call);
}

// -- removal

struct removal_call {
    struct store *store;
    uint64_t plan_id;
    char required_target[STATION_NAME_MAX + 1], station[STATION_NAME_MAX + 1];
    store_loaded_fn *decided;
    store_removed_fn *reply;
    void *owner;
};

static void on_removed (void *owner, enum store_result result, const char *error)
{
    struct removal_call *self = owner;
    self->reply (self->owner, &(struct store_removed){.result = result,
                                                      .station = span_text (self->station),
                                                      .error = error});
    free (self);
}

// Remove the plan that was found, if it has the required target.
static void on_plan_to_remove (void *owner, const struct store_loaded *found)
{
    struct removal_call *self = owner;
    struct store *store = self->store;
    bool other_target = *self->required_target && !span_is (found->station, self->required_target);
    if (found->result != STORE_DONE || other_target) {
        self->station[0] = '\0';
        on_removed (self, found->result == STORE_DONE ? STORE_NONE : found->result, found->error);
        return;
    }
    char caller[CALLER_FIELD_MAX];
    message_caller_field (store, found->message, caller);
    memcpy (self->station, found->station.data, found->station.size);
    core_remove (store->core,
                 &(struct core_removal){
                     .target = found->station, .id = self->plan_id, .caller = span_text (caller)},
                 store_now_us (store));
    if (message_stop_state (found->message) != STOP_NONE)
        store_write_stop_state (store, found->station, self->plan_id, STOP_NONE);
    if (self->decided)
        self->decided (self->owner, found);
    store_reply_when_written (store, WAITER_CLIENT, on_removed, self);
}

void store_remove (struct store *self, uint64_t plan_id, const char *station,
                   store_loaded_fn *decided, store_removed_fn *reply, void *owner)
{
    struct removal_call *removal_call = memory_new (sizeof *removal_call);
    removal_call->store = self;
    removal_call->plan_id = plan_id;
    snprintf (removal_call->required_target, sizeof removal_call->required_target, "%s", station);
    removal_call->decided = decided;
    removal_call->reply = reply;
    removal_call->owner = owner;
    store_find (self, plan_id, (struct span){0}, on_plan_to_remove, removal_call);
}
