// Stores a plan that an admin command changed, if it was not changed since it was read; removes
// plans.
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

// -- change

struct changing {
    struct store *store;
    struct core_change change;
    char target[STATION_NAME_MAX + 1], caller[CALLER_FIELD_MAX], caller_before[CALLER_FIELD_MAX];
    char group[POLICY_NAME_MAX + 1];
    char *message, *missed;
    enum stop_state before;
    bool (*first) (void *owner);
    store_done_fn *reply;
    void *owner;
};

static void changing_free (struct changing *self)
{
    free (self->message);
    free (self->missed);
    free (self);
}

static void answer_change (struct changing *self, enum store_result result, const char *error)
{
    self->reply (self->owner, result, error);
    changing_free (self);
}

static void change_in_core (struct changing *self)
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
    if (stop_state != self->before)
        store_write_stopped (store, self->change.target, self->change.id, stop_state);
    store_wait (store, WAITER_CLIENT, self->reply, self->owner);
    changing_free (self);
}

// Compare the plan with the stored one, which is read from Redis as it may have been edited or
// replaced. If the core has its message, that is newer.
static void on_message (void *owner, const redisReply *reply)
{
    struct changing *self = owner;
    struct store *store = self->store;
    if (!reply || !store_serves (store)) {
        answer_change (self, STORE_LOST, "");
        return;
    }
    struct span message = reply_text (reply);
    struct core_view view;
    bool known = core_view (store->core, self->change.id, &view) &&
                 span_is (view.target, self->target) && (view.message.data || view.gone);
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
        self->before = message_stop_state (message);
        store_caller_of (store, message, self->caller_before);
        self->change.caller_before = span_text (self->caller_before);
        change_in_core (self);
    }
}

static void set_place (struct store *self, const struct store_change *change,
                       struct core_change *ret)
{
    int64_t now_us = store_now_us (self);
    switch (change->queue) {
    case REQUEUE_KEEP:
        ret->place = CORE_KEEP;
        break;
    case REQUEUE_TIME:
        ret->place = CORE_AT;
        ret->due_us = plan_due_time (change->plan) * 1000000;
        break;
    case REQUEUE_NOW:
        ret->place = CORE_AT;
        ret->due_us = now_us;
        break;
    case REQUEUE_LEASE:
        ret->place = CORE_AT_LEASE;
        ret->due_us = now_us + change->lease_s * 1000000;
        break;
    case REQUEUE_OUT:
        ret->place = CORE_OUT;
        break;
    }
}

void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner)
{
    const struct plan *plan = change->plan;
    struct changing *changing = memory_new (sizeof *changing);
    struct span message = store_message (self, plan);
    char member[MEMBER_MAX + 2];
    changing->store = self;
    changing->first = change->first;
    changing->reply = reply;
    changing->owner = owner;
    changing->message = memory_copy (message.data, message.size);
    changing->missed = memory_copy (change->missed.data, change->missed.size);
    memcpy (changing->target, change->key_station.data, change->key_station.size);
    changing->change =
        (struct core_change){.target = span_of (changing->target, change->key_station.size),
                             .id = plan->id,
                             .message = span_of (changing->message, message.size),
                             .revision = plan->revision,
                             .was_revision = change->revision,
                             .exec_id = change->exec_id,
                             .resets_team = change->resets_team,
                             .priority = plan->policy ? (int)plan->policy->priority : 0,
                             .missed = span_of (changing->missed, change->missed.size)};
    if (plan->policy)
        memcpy (changing->group, plan->policy->group, sizeof changing->group);
    changing->change.group = span_text (changing->group);
    caller_field (self, plan->caller, changing->caller);
    changing->change.caller = span_text (changing->caller);
    set_place (self, change, &changing->change);
    member_make (member, KEY_MESSAGE, change->key_station, plan->id);
    store_ask (self, LINK_ONCE, WORDS (TEXT ("GET"), TEXT (member)), on_message, changing);
}

// -- removal

struct removing {
    struct store *store;
    uint64_t plan_id;
    char wanted[STATION_NAME_MAX + 1], station[STATION_NAME_MAX + 1];
    store_loaded_fn *decided;
    store_removed_fn *reply;
    void *owner;
};

static void on_removed (void *owner, enum store_result result, const char *error)
{
    struct removing *self = owner;
    self->reply (self->owner, &(struct store_removed){.result = result,
                                                      .station = span_text (self->station),
                                                      .error = error});
    free (self);
}

static void on_found (void *owner, const struct store_loaded *found)
{
    struct removing *self = owner;
    struct store *store = self->store;
    bool other = *self->wanted && !span_is (found->station, self->wanted);
    if (found->result != STORE_DONE || other) {
        self->station[0] = '\0';
        on_removed (self, found->result == STORE_DONE ? STORE_NONE : found->result, found->error);
        return;
    }
    char caller[CALLER_FIELD_MAX];
    store_caller_of (store, found->message, caller);
    memcpy (self->station, found->station.data, found->station.size);
    core_remove (store->core,
                 &(struct core_removal){
                     .target = found->station, .id = self->plan_id, .caller = span_text (caller)},
                 store_now_us (store));
    if (message_stop_state (found->message) != STOP_NONE)
        store_write_stopped (store, found->station, self->plan_id, STOP_NONE);
    if (self->decided)
        self->decided (self->owner, found);
    store_wait (store, WAITER_CLIENT, on_removed, self);
}

void store_remove (struct store *self, uint64_t plan_id, const char *station,
                   store_loaded_fn *decided, store_removed_fn *reply, void *owner)
{
    struct removing *removing = memory_new (sizeof *removing);
    removing->store = self;
    removing->plan_id = plan_id;
    snprintf (removing->wanted, sizeof removing->wanted, "%s", station);
    removing->decided = decided;
    removing->reply = reply;
    removing->owner = owner;
    store_look_up (self, plan_id, (struct span){0}, on_found, removing);
}
