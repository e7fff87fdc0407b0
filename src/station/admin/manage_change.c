// pause, reset, close, skip, run, update, done, callback redeliver. Each reads the plan, lets the
// engine change it, stores it unless it was modified meanwhile (else it starts over), and replies
// with the new plan.
#include <assert.h>
#include <stdlib.h>

#include "apply.h"
#include "codes.h"
#include "flow_book.h"
#include "manage_flow_plan.h"
#include "manage_private.h"
#include "manage_flow_step.h"
#include "missed.h"
#include "failure_plan.h"
#include "callback_book.h"
#include "memory.h"
#include "permit.h"
#include "plan_json.h"
#include "plan_update.h"
#include "publish.h"
#include "reads.h"
#include "submit.h"
#include "zones.h"

struct plan_change {
    struct inquiry inquiry;
    enum manage_command command;
    int64_t count;       // occurrences to skip
    struct frames *text; // one span, the argument of update, done or run; NULL = none
    bool flow_asked;     // the definition of its flow was requested
    int tries;

    struct plan *plan;    // the changed plan, while it is stored
    struct misses misses; // occurrences that the change has dropped
    char key_station[STATION_NAME_MAX + 1];
    enum requeue queue;
};

static const enum zplan_event_code events[MANAGE_COMMANDS] = {
    [MANAGE_PAUSE] = ZPLAN_EVENT_PAUSE,   [MANAGE_RESET] = ZPLAN_EVENT_QUEUE,
    [MANAGE_AT_ONCE] = ZPLAN_EVENT_QUEUE, [MANAGE_CLOSE] = ZPLAN_EVENT_END,
    [MANAGE_SKIP] = ZPLAN_EVENT_UPDATE,   [MANAGE_RUN] = ZPLAN_EVENT_QUEUE,
    [MANAGE_UPDATE] = ZPLAN_EVENT_UPDATE, [MANAGE_DONE] = ZPLAN_EVENT_UPDATE,
};

static void plan_change_end (struct plan_change *self)
{
    plan_destroy (&self->plan);
    free (self->text);
    free (self);
}

static void refuse_change (struct plan_change *self, enum wire_error error, const char *reason)
{
    reply_refuse (self->inquiry.station, self->inquiry.peer, error, reason);
    plan_change_end (self);
}

// -- update

// A copy of the plan, owned by the caller, that sends these frames.
static struct plan *copy_with_messages (const struct plan *plan, json_t *messages,
                                        struct reason *reason)
{
    size_t size;
    char *text = plan_stored_text (plan, &size);
    json_t *object = json_read_object (span_of (text, size), reason);
    json_object_set (object, "messages", messages);
    free (text);
    text = json_write (object);
    json_decref (object);
    struct plan *changed = plan_from_stored_json (plan->id, span_text (text), reason);
    free (text);
    return changed;
}

int manage_check_messages (struct station *self, const char *user, const struct plan *plan,
                           struct reason *reason)
{
    struct message message = {0};
    struct target *target = station_target (self, plan->station);
    if (!target && !flow_book_has (self, plan->station))
        return target_not_found (self, user, "station", plan->station, reason);
    size_t least = PLAN_MESSAGES_MIN - !target; // a flow needs no COMMAND
    if (plan->message_count < least)
        return reason_error (reason, ZPLAN_EARGUMENT, "messages: want at least %zu frames", least);
    struct reason why;
    if (desc_parse (plan->messages[1], plan->message_count - 2, &message.desc, &why))
        return reason_error (reason, ZPLAN_EARGUMENT, "messages: %s", why.text);
    uint64_t mailbox;
    if (!mailbox_parse (plan->messages[0], &mailbox) || mailbox != plan->id ||
        message.desc.code != ZERO_BYTE_COMMAND_PLAN)
        return reason_error (
            reason, ZPLAN_EARGUMENT,
            "messages: want the plan's mailbox, then a description of a PLAN request");
    for (size_t i = 0; i < message.desc.count; i++)
        message.frames[i] = plan->messages[2 + i];
    uint64_t id;
    bool given;
    struct span name = message_frame (&message, ZERO_FRAME_GLOBAL_ID, &given);
    if (!span_equal (message_frame (&message, ZERO_FRAME_STATION_ID, NULL), plan->station) ||
        (given && (!ident_parse (name, &id) || id != plan->id)))
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "messages: STATION_ID and GLOBAL_ID cannot be changed");
    return submit_check_frames (&message, target, reason) ? ZPLAN_EARGUMENT : 0;
}

static bool is_same_field (const struct policy *a, const struct policy *b, const char *name)
{
    json_t *first = a ? json_object_get (a->fields, name) : NULL;
    json_t *second = b ? json_object_get (b->fields, name) : NULL;
    return first == second || json_equal (first, second);
}

static int read_update (struct plan_change *self, struct plan **plan, struct plan_update *ret,
                        struct reason *reason)
{
    assert (self->text); // an update always has it
    int rc = plan_update_parse (*plan, self->text->at[0],
                                &self->inquiry.station->settings->limits.plan, ret, reason);
    if (!rc && ret->fields.vote.need != VOTE_NONE && (*plan)->vote.need == VOTE_NONE)
        rc = reason_error (reason, ZPLAN_EARGUMENT, "vote: is for plans of vote targets");
    const struct policy *before = (*plan)->policy, *after = ret->fields.policy;
    const struct target *target = station_target (self->inquiry.station, (*plan)->station);
    if (!rc && (target ? submit_check_policy (target, after, reason)
                       : submit_check_flow (VOTE_NONE, after, reason)))
        rc = ZPLAN_EARGUMENT;
    if (!rc && !is_same_field (before, after, "on_failure"))
        rc = check_on_failure (self->inquiry.station, self->inquiry.peer->user, after, reason);
    if (!rc && !is_same_field (before, after, "callback"))
        rc = callback_check_target (self->inquiry.station, after, reason);
    if (rc || !ret->messages)
        return rc;
    struct plan *changed = copy_with_messages (*plan, ret->messages, reason);
    if (!changed)
        return ZPLAN_EARGUMENT;
    plan_destroy (plan);
    *plan = changed;
    return manage_check_messages (self->inquiry.station, self->inquiry.peer->user, changed, reason);
}

// -- flow plans

static int read_batch_and_params (struct plan_change *self, const struct plan *plan, json_t **ret,
                                  struct reason *reason)
{
    bool target = station_target (self->inquiry.station, plan->station);
    if (target)
        reason_set (reason, "run: batch and params are for plans of flows");
    else
        *ret = submit_read_run_with (self->text->at[0], reason);
    return *ret ? 0 : ZPLAN_EARGUMENT;
}

// Whether the change has params to check, so that the definition of the plan's flow must be read
// first.
static bool needs_definition (const struct plan_change *self, const struct plan *plan)
{
    struct station *station = self->inquiry.station;
    bool checked = self->command == MANAGE_UPDATE || (self->command == MANAGE_RUN && self->text);
    return checked && !station_target (station, plan->station) &&
           flow_book_has (station, plan->station) && !flow_book_find (station, plan->station, 0) &&
           !self->flow_asked;
}

static int check_params (const struct plan_change *self, const struct plan *plan,
                         const json_t *with, struct reason *reason)
{
    struct station *station = self->inquiry.station;
    const struct flow *flow =
        station_target (station, plan->station) ? NULL : flow_book_find (station, plan->station, 0);
    bool checked = flow && (with || self->command == MANAGE_UPDATE);
    return checked && submit_check_params (flow, plan, with, reason) ? ZPLAN_EARGUMENT : 0;
}

// -- the change

static int apply_change (struct plan_change *self, struct plan **plan,
                         const struct store_loaded *answer, struct reason *reason)
{
    struct station *station = self->inquiry.station;
    struct plan_update update = {0};
    char who[SPEAKER_SIZE];
    struct manage_request request = {
        .command = self->command,
        .running = runs_in_progress (station, *plan, answer),
        .count = self->count,
        .fields = &update.fields,
        .zone = zones_of (station, *plan),
        .who = permit_user_in_effect (station, self->inquiry.peer, who),
        .remark = self->text ? self->text->at[0] : (struct span){0},
        .with = self->text ? self->text->at[0] : (struct span){0},
        .now = station_now (station),
        .ret_misses = &self->misses,
    };
    int rc = 0;
    self->misses = (struct misses){0};
    if (self->command == MANAGE_UPDATE) {
        rc = read_update (self, plan, &update, reason);
        request.zone = rc ? NULL : zones_find (station, update.fields.policy, reason);
        rc = !rc && !request.zone ? ZPLAN_EARGUMENT : rc;
    }
    json_t *with = NULL;
    if (self->command == MANAGE_RUN && self->text)
        rc = read_batch_and_params (self, *plan, &with, reason);
    if (!rc)
        rc = engine_handle_command (*plan, &request, &self->queue, reason);
    if (!rc && request.running && update.messages)
        rc = reason_error (reason, ZPLAN_EARGUMENT, "messages: the plan is running");
    if (!rc)
        rc = check_params (self, *plan, with, reason);
    json_decref (with);
    // The plan borrows its new description from the update: copy it.
    struct plan *copy = rc ? NULL : submit_copy_plan (*plan, reason);
    if (copy) {
        plan_destroy (plan);
        *plan = copy;
    }
    plan_update_clear (&update);
    return copy || rc ? rc : ZPLAN_EARGUMENT;
}

static void on_stored (void *owner, enum store_result result, const char *error);
static void on_flow (void *owner, const struct flow *flow, int version, const char *reason);

static bool record_resolved (void *owner)
{
    const struct plan_change *self = owner;
    callback_record_resolved (self->inquiry.station, self->plan->id);
    return true;
}

// Whether the command resets the plan: `reset`, or `callback redeliver`.
static bool resets_plan (const struct plan_change *self)
{
    return self->command == MANAGE_RESET || self->command == MANAGE_AT_ONCE;
}

// Store the changed plan if Redis still has `revision`.
static void store_changed (struct plan_change *self, const struct store_loaded *answer,
                           int64_t revision)
{
    struct station *station = self->inquiry.station;
    memcpy (self->key_station, answer->station.data, answer->station.size);
    self->plan->revision = station_revision ();
    bool resolves = self->command == MANAGE_DONE && station_is_callbacks (station, answer->station);
    const struct target *target = station_target (station, answer->station);
    bool pull = target && target_type (target) == TARGET_PULL;
    bool restarts = resets_plan (self) || self->command == MANAGE_RUN;
    size_t missed_size;
    char *missed = missed_record (self->plan, &self->misses,
                                  (uint64_t)store_now_us (station->store), &missed_size);
    store_change (station->store,
                  &(struct store_change){.plan = self->plan,
                                         .revision = revision,
                                         .key_station = span_text (self->key_station),
                                         .exec_id = answer->exec_id,
                                         .queue = self->queue,
                                         .lease_s = apply_lease_s (station, self->plan),
                                         .resets_team = restarts && pull,
                                         .missed = span_of (missed, missed_size),
                                         .first = resolves ? record_resolved : NULL},
                  on_stored, self);
    free (missed);
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct plan_change *self = owner;
    struct station *station = self->inquiry.station;
    struct reason reason;
    enum store_result result = inquiry_check (&self->inquiry, answer);
    if (result != STORE_DONE) {
        inquiry_refuse (&self->inquiry, result, answer->error);
        plan_change_end (self);
        return;
    }
    bool allows_callbacks =
        self->command == MANAGE_PAUSE || resets_plan (self) || self->command == MANAGE_DONE;
    if (!allows_callbacks && station_is_callbacks (station, answer->station)) {
        refuse_change (self, (enum wire_error)permit_callback_denied (&reason), reason.text);
        return;
    }
    if (self->command == MANAGE_CLOSE || self->command == MANAGE_DONE) {
        struct inquiry *inquiry = memory_new (sizeof *inquiry);
        *inquiry = self->inquiry;
        enum flow_plan_command command =
            self->command == MANAGE_DONE ? FLOW_PLAN_DONE : FLOW_PLAN_CLOSE;
        if (manage_flow_plan (inquiry, answer, command, "closed", NULL)) {
            link_flush (store_link (station->store));
            plan_change_end (self);
            return;
        }
        free (inquiry);
    }
    struct plan *plan = plan_from_stored_json (self->inquiry.plan.id, answer->message, &reason);
    if (!plan) {
        refuse_change (self, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    if (needs_definition (self, plan)) {
        char name[STATION_NAME_MAX + 1] = "";
        memcpy (name, plan->station.data, plan->station.size);
        plan_destroy (&plan);
        flow_book_get (station, name, 0, on_flow, self);
        return;
    }
    self->plan = plan;
    if (plan->step.size && self->command == MANAGE_UPDATE) {
        refuse_change (self, ZPLAN_EARGUMENT,
                       "update: the plan is a call of a flow, which says what it is");
        return;
    }
    int64_t revision = plan->revision;
    int rc = apply_change (self, &self->plan, answer, &reason);
    if (rc)
        refuse_change (self, (enum wire_error)rc, reason.text);
    else
        store_changed (self, answer, revision);
}

static void load_plan (struct plan_change *self)
{
    plan_destroy (&self->plan);
    reads_load (self->inquiry.station, self->inquiry.peer, self->inquiry.plan.id, on_loaded, self);
}

static void on_flow (void *owner, const struct flow *flow, int version, const char *reason)
{
    struct plan_change *self = owner;
    struct station *station = self->inquiry.station;
    (void)version;
    self->flow_asked = true;
    if (flow) {
        load_plan (self); // this may reply at once, and free self
        link_flush (store_link (station->store));
    } else {
        refuse_change (self, ZPLAN_EARGUMENT, reason);
    }
}

static void report_change (struct plan_change *self)
{
    struct station *station = self->inquiry.station;
    char *json = plan_public_text (self->plan);
    manage_reply (station, self->inquiry.peer, self->plan->id, json);
    publish_event (station, &(struct notice){.event = events[self->command],
                                             .plan_id = self->plan->id,
                                             .station = span_text (self->key_station),
                                             .title = self->plan->description,
                                             .json = json});
    free (json);
}

static void on_stored (void *owner, enum store_result result, const char *error)
{
    struct plan_change *self = owner;
    // An update is made for one revision: do not retry it on another.
    struct station *station = self->inquiry.station;
    if (result == STORE_CHANGED && ++self->tries < CHANGE_TRIES_MAX &&
        self->command != MANAGE_UPDATE) {
        load_plan (self); // this may reply at once, and free self
        link_flush (store_link (station->store));
        return;
    }
    if (result == STORE_CHANGED)
        reply_refuse (station, self->inquiry.peer, ZPLAN_EARGUMENT,
                      "revision: the plan was changed meanwhile, read it again");
    else if (result == STORE_DONE)
        report_change (self);
    else
        inquiry_refuse (&self->inquiry, result, error);
    plan_change_end (self);
}

static int change_plan (struct station *self, struct request *request, const struct plan_name *plan,
                        const struct plan_change *what)
{
    struct plan_change *change = memory_new (sizeof *change);
    *change = *what;
    change->inquiry = (struct inquiry){self, peer_keep (self, request), *plan};
    load_plan (change);
    return 0;
}

int manage_change (struct station *self, struct request *request)
{
    struct plan_name plan;
    struct plan_change what = {.command = (enum manage_command)request->number};
    bool resets = what.command == MANAGE_RESET, skips = what.command == MANAGE_SKIP;
    if ((resets || what.command == MANAGE_DONE) &&
        manage_flow_undo (self, request, request->args[0], resets))
        return 0;
    if (skips && !argument_number (request->args[1], 1, INT32_MAX, &what.count))
        return reason_error (&request->reason, ZPLAN_EARGUMENT,
                             "skip: want a number of occurrences 1..%d, got %s", INT32_MAX,
                             quoted (request->args[1]));
    int rc = manage_plan_name (self, request, request->args[0], &plan);
    if (rc)
        return rc;
    if (!skips && request->arg_count > 1)
        what.text = frames_copy (&request->args[1], 1);
    return change_plan (self, request, &plan, &what);
}

int manage_redeliver (struct station *self, struct request *request)
{
    struct plan_name plan = {0}; // inquiry_check checks the rights, by its source
    snprintf (plan.station, sizeof plan.station, "%.*s", STATION_NAME_MAX,
              self->settings->callback_target);
    if (!ident_parse (request->args[1], &plan.id))
        return reason_error (&request->reason, ZPLAN_EARGUMENT, "id: want 1..16 hex digits, got %s",
                             quoted (request->args[1]));
    return change_plan (self, request, &plan, &(struct plan_change){.command = MANAGE_AT_ONCE});
}
