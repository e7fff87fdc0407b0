// flow: what people do to runs. The run is carried over an event, and the command is replied to
// when that is written. proto/flows.md 18.9.
#include <stdlib.h>

#include "flow_live.h"
#include "json.h"
#include "manage_flow_command.h"
#include "management.h"
#include "permit.h"
#include "plan_json.h"

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (result == STORE_DONE && live) {
        run_command_reply (self, flow_run_json (live));
        return;
    }
    reply_refuse_store (self->station, self->peer, result == STORE_DONE ? STORE_LOST : result,
                        error);
    run_command_end (self);
}

// STEP or STEP.ITEM. False: there is none, with the reason.
static bool find_step (struct run_command *self, const struct flow_live *live,
                       struct reason *reason)
{
    char name[sizeof self->step];
    int64_t item = -1;
    snprintf (name, sizeof name, "%s", self->step);
    char *dot = strchr (name, '.');
    if (dot) {
        *dot = '\0';
        if (!argument_number (span_text (dot + 1), 0, FLOW_ITEMS_MAX, &item)) {
            reason_set (reason, "flow: want STEP or STEP.ITEM, got %s",
                        quoted (span_text (self->step)));
            return false;
        }
    }
    int64_t step = flow_find (live->flow, name);
    if (step < 0) {
        reason_set (reason, "flow: %s has no step %s", live->flow_name, quoted (span_text (name)));
        return false;
    }
    self->event.step = (uint32_t)step;
    self->event.item = item;
    return true;
}

// False: it was rejected, and `reason` says why.
static bool carry_run (struct run_command *self, struct flow_live *live)
{
    struct reason reason = {""};
    if (*self->step && !find_step (self, live, &self->reason))
        return false;
    self->event.value = self->value;
    self->event.steps = self->steps;
    self->event.params = json_object_get (live->inherit, "params");
    self->event.text = *self->text ? self->text : NULL;
    self->event.key = *self->key ? self->key : NULL;
    self->carried = flow_live_carry (live, &self->event, &reason);
    if (!self->carried)
        reason_set (&self->reason, "flow: %s", reason.text);
    return self->carried;
}

static void carry_alone (struct run_command *self)
{
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (!live) {
        run_command_refuse (self, ZPLAN_ENET, "Redis was lost meanwhile");
        return;
    }
    bool had_ended = live->run->phase == FLOW_ENDED || self->carried;
    if (!self->carried && !carry_run (self, live)) {
        run_command_refuse (self, ZPLAN_EARGUMENT, self->reason.text);
        return;
    }
    if (had_ended && live->run->phase != FLOW_ENDED)
        flow_live_reopen (live);
    store_when_written (self->station->store, on_written, self);
}

// -- a run that has ended goes on in its flow plan, if that is parked

static void go_on (struct run_command *self, struct flow_live *live);

static bool carry_with_plan (void *owner)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    return live && live->run->phase == FLOW_ENDED && carry_run (self, live);
}

static void on_plan_changed (void *owner, enum store_result result, const char *error)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (result == STORE_CHANGED && live && !self->carried)
        go_on (self, live);
    else if (result == STORE_NONE || result == STORE_CHANGED)
        carry_alone (self);
    else
        on_written (self, result, error);
}

static void on_flow_plan (void *owner, const struct store_loaded *answer)
{
    struct run_command *self = owner;
    struct reason reason;
    uint64_t id = 0;
    enum requeue queue;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (live)
        id = live->plan_id;
    bool stands = id && answer->result == STORE_DONE && !answer->running;
    struct plan *plan = stands ? plan_from_stored_json (id, answer->message, &reason) : NULL;
    const struct manage_request reset = {
        .word = MANAGE_RESET, .zone = self->station->zone, .now = station_now (self->station)};
    bool parked = plan && plan->state == PLAN_ERROR && plan->flow_run == self->run &&
                  engine_manage (plan, &reset, &queue, &reason) == 0;
    if (parked) {
        int64_t revision = plan->revision;
        plan->revision = station_revision ();
        plan->state = PLAN_RETRY; // of that run, which has begun again then
        store_change (self->station->store,
                      &(struct store_change){.plan = plan,
                                             .revision = revision,
                                             .key_station = answer->station,
                                             .queue = REQUEUE_NOW,
                                             .first = carry_with_plan},
                      on_plan_changed, self);
    } else {
        carry_alone (self);
    }
    plan_destroy (&plan);
}

static void go_on (struct run_command *self, struct flow_live *live)
{
    bool may_reopen = self->event.kind == FLOW_RETRY || self->event.kind == FLOW_SKIP;
    if (live->run->phase == FLOW_ENDED && may_reopen)
        store_load (self->station->store, live->plan_id, LINK_ONCE, on_flow_plan, self);
    else
        carry_alone (self);
}

// -- the subcommands

static void take_text (char *out, size_t room, const struct flow_words *words, size_t at)
{
    if (words->count > at && words->at[at].size)
        snprintf (out, room, "%.*s", (int)words->at[at].size, (const char *)words->at[at].data);
}

static struct run_command *change_new (struct station *self, struct request *request,
                                       const struct flow_words *words, enum flow_event_kind kind)
{
    struct run_command *command = run_command_new (self, request, words->at[0], go_on);
    if (command)
        command->event.kind = kind;
    return command;
}

static void signal_or_reject (struct station *self, struct request *request,
                              const struct flow_words *words, enum flow_event_kind kind)
{
    struct run_command *command = change_new (self, request, words, kind);
    if (!command)
        return;
    struct span key = permit_name (self, request->peer.user);
    if (key.size)
        snprintf (command->key, sizeof command->key, "%.*s", (int)key.size, (const char *)key.data);
    take_text (command->step, sizeof command->step, words, 1);
    if (kind == FLOW_REJECTED) {
        take_text (command->text, sizeof command->text, words, 2);
    } else if (!run_command_json (command, words, 2)) {
        return;
    }
    run_command_start (command);
}

void manage_flow_signal (struct station *self, struct request *request,
                         const struct flow_words *words)
{
    signal_or_reject (self, request, words, FLOW_SIGNALLED);
}

void manage_flow_reject (struct station *self, struct request *request,
                         const struct flow_words *words)
{
    signal_or_reject (self, request, words, FLOW_REJECTED);
}

static bool has_other (const json_t *options, const char *const *names, size_t count,
                       struct reason *reason)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)options, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || strcmp (name, names[i]) == 0;
        if (!known) {
            reason_set (reason, "flow: no such option: %s", quoted (span_text (name)));
            return true;
        }
    }
    return false;
}

void manage_flow_skip (struct station *self, struct request *request,
                       const struct flow_words *words)
{
    static const char *const names[] = {"value", "reason"};
    struct reason reason;
    struct run_command *command = change_new (self, request, words, FLOW_SKIP);
    if (!command)
        return;
    take_text (command->step, sizeof command->step, words, 1);
    if (!run_command_json (command, words, 2))
        return;
    if (has_other (command->value, names, 2, &reason)) {
        run_command_refuse (command, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    const char *why = json_string_value (json_object_get (command->value, "reason"));
    snprintf (command->text, sizeof command->text, "%s", why ? why : "");
    json_t *value = json_incref (json_object_get (command->value, "value"));
    json_decref (command->value);
    command->value = value;
    run_command_start (command);
}

void manage_flow_retry_run (struct station *self, struct request *request,
                            const struct flow_words *words)
{
    static const char *const names[] = {"steps", "fresh", "restart", "reason"};
    struct reason reason;
    struct run_command *command = change_new (self, request, words, FLOW_RETRY);
    if (!command)
        return;
    if (!run_command_json (command, words, 1))
        return;
    if (has_other (command->value, names, 4, &reason)) {
        run_command_refuse (command, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    command->event.fresh = json_is_true (json_object_get (command->value, "fresh"));
    command->event.restart = json_is_true (json_object_get (command->value, "restart"));
    command->steps = json_incref (json_object_get (command->value, "steps"));
    const char *why = json_string_value (json_object_get (command->value, "reason"));
    snprintf (command->text, sizeof command->text, "%s", why ? why : "");
    json_decref (command->value);
    command->value = NULL;
    run_command_start (command);
}

static void change (struct station *self, struct request *request, const struct flow_words *words,
                    enum flow_event_kind kind)
{
    struct run_command *command = change_new (self, request, words, kind);
    if (!command)
        return;
    command->event.force =
        kind == FLOW_CANCEL && words->count > 1 && span_is (words->at[words->count - 1], "force");
    take_text (command->text, sizeof command->text, words, 1);
    run_command_start (command);
}

void manage_flow_suspend (struct station *self, struct request *request,
                          const struct flow_words *words)
{
    change (self, request, words, FLOW_SUSPEND);
}

void manage_flow_resume (struct station *self, struct request *request,
                         const struct flow_words *words)
{
    change (self, request, words, FLOW_RESUME);
}

void manage_flow_cancel_run (struct station *self, struct request *request,
                             const struct flow_words *words)
{
    change (self, request, words, FLOW_CANCEL);
}
